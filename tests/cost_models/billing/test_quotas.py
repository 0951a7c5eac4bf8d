from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.billing.cost_allocation import CostOwner
from perfledger_cost_models.billing.quotas import (
    MAX_CHARACTERS,
    QuotaError,
    read_quotas,
)


def test_teams_and_projects_have_hours():
    assert read_quotas("\ufeffteam,hours\nvision, 1e3\n\nspeech,2\n", "e.csv") == {
        CostOwner("vision"): Decimal(1000),
        CostOwner("speech"): Decimal(2),
    }
    assert read_quotas('team,project,hours\n"a,b",x,1\n', "e.csv") == {
        CostOwner("a,b", "x"): Decimal(1)
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "e.csv is empty"),
        ("team,share\na,1\n", "columns"),
        ("team,hours\na\n", "line 2: 1 cells"),
        ("team,hours\na,1\na,2\n", "twice"),
        ("team,hours\na,-1\n", "not a number of hours"),
        ("team,hours\na,NaN\n", "not a number of hours"),
        ("team,hours\na,1e13\n", "not a number of hours"),
        ("team,hours\na,many\n", "not a number of hours"),
        ("team;hours\na;1,5\n", "line 2: '1,5' has a comma: write decimals with a point"),
        ('team,hours\n"a,1\n', "not CSV"),
        ("x" * (MAX_CHARACTERS + 1), "characters"),
    ],
)
def test_what_is_no_table_of_entitlements_says_why(text, says):
    with pytest.raises(QuotaError, match=says):
        read_quotas(text, "e.csv")


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        quotas = read_quotas(f"team,hours\n{text}", "e.csv")
    except QuotaError:
        return
    assert all(hours >= 0 for hours in quotas.values())


@pytest.mark.parametrize("hours", ["0", "0.5", "1e12"])
def test_hours_from_none_to_the_limit_are_read(hours):
    assert read_quotas(f"team,hours\na,{hours}\n", "e.csv") == {CostOwner("a"): Decimal(hours)}
