from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.procurement.owned_supply import supplied_devices, supply_years
from perfledger_cost_models.procurement.plan import read_plan


def test_supply_counts_for_the_days_that_it_is_there(plan_text):
    text = """
[[supply]]
name = "half a year"
accelerator = "H100-80GB"
devices = 16
is_owned = false
since = 2024-01-01
until = 2027-04-01
source = "invoice"
[[supply]]
name = "others"
accelerator = "A100-80GB"
devices = 8
is_owned = true
since = 2024-01-01
until = 2030-01-01
source = "register"
"""
    found_supply_years = supply_years(
        read_plan(plan_text + text, "plan.toml").supply,
        accelerator="H100-80GB",
        hours_per_hour={},
        start=date(2026, 10, 1),
        years=3,
        omission_reasons={},
    )

    years = supplied_devices(found_supply_years, years=3)
    assert years == (Decimal(183) / 365 * 16, Decimal(0), Decimal(0))
    assert found_supply_years[1].equivalents is None
    assert "A100-80GB" in found_supply_years[1].omission_reason


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        ("2026-10-01", "2026-10-01", 1),  # its first day is its last
        ("2024-01-01", "2026-09-30", 0),  # the day before
        ("2024-06-01", "2027-05-31", 243),  # 31 May included
        ("2027-09-30", "9999-12-31", 1),
    ],
)
def test_supply_is_there_on_its_last_day(plan_text, since, until, days):
    table = '[[supply]]\nname = "a"\naccelerator = "H100-80GB"\ndevices = 1\nis_owned = false\n'
    (supply_year,) = supply_years(
        read_plan(
            f"{plan_text}{table}since = {since}\nuntil = {until}\nsource = 'made up'", "plan.toml"
        ).supply,
        accelerator="H100-80GB",
        hours_per_hour={},
        start=date(2026, 10, 1),
        years=1,
        omission_reasons={},
    )

    if days:
        assert supply_year.equivalents == (Decimal(days) / 365,)
    else:
        assert supply_year.equivalents is None
        assert "2024-01-01 to 2026-09-30" in supply_year.omission_reason
