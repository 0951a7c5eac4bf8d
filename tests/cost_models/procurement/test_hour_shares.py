from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.procurement.hour_shares import (
    MAX_DIFFERENCE,
    HourShare,
    ShareContradictionError,
    ShareStatement,
    planned_shares,
    reconcile,
)
from perfledger_cost_models.procurement.plan import InputRange, ProcurementPlanError, read_plan

USED = HourShare.COMMITMENT_UTILIZATION


def statement_of(mode, *, share=USED, source="the plan"):
    value = Decimal(mode)
    figure = InputRange(low=value, mode=value, high=value, source=source)
    return ShareStatement(share=share, range=figure, counts="")


def test_each_share_has_its_own_source_and_the_first_counts():
    statements = (
        statement_of("0.70"),
        statement_of("0.74", source="bill.csv"),
        statement_of("0.30", share=HourShare.BUSY, source="activity.csv"),
    )

    shares = reconcile(statements)

    assert shares.statements == statements
    assert shares.required(USED).source == "the plan"
    assert shares.required(HourShare.BUSY).mode == Decimal("0.30")


def test_a_contradiction_names_both_sources_and_their_figures():
    with pytest.raises(ShareContradictionError) as raised:
        reconcile((statement_of("0.65"), statement_of("0.93", source="bill.csv")))

    text = str(raised.value)
    assert "commitment utilization is 65.0 % by 'the plan' and 93.0 % by 'bill.csv'" in text
    assert "more than 5 points" in text


@given(st.decimals("0.1", "0.9", places=3), st.decimals("-0.1", "0.1", places=3))
def test_sources_may_differ_by_five_points_and_no_more(mode, difference):
    statements = (statement_of(mode), statement_of(mode + difference, source="bill.csv"))

    if abs(difference) > MAX_DIFFERENCE:
        with pytest.raises(ShareContradictionError):
            reconcile(statements)
    else:
        assert reconcile(statements).required(USED).mode == mode


@pytest.mark.parametrize(
    ("share", "remedy"),
    [
        (USED, "--bill FILE with used and unused commitments"),
        (HourShare.ALLOCATED, "files in \\[usage\\]"),
        (HourShare.BUSY, "busy_share = { low = ..."),
    ],
)
def test_a_share_that_nobody_told_says_where_it_could_come_from(share, remedy):
    with pytest.raises(ProcurementPlanError, match=f"{share} is unknown.*{remedy}"):
        reconcile(()).required(share)


def test_nothing_is_divided_by_a_share_of_zero():
    with pytest.raises(ProcurementPlanError, match="commitment utilization is zero"):
        reconcile((statement_of("0"),)).required(USED)


def test_a_plan_declares_the_shares_that_it_names(plan_text):
    (statement,) = planned_shares(read_plan(plan_text, "plan.toml").demand)

    assert (statement.share, statement.range.mode) == (USED, Decimal("0.7"))
