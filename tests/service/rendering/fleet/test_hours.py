import tomllib
from datetime import UTC, datetime

from hypothesis import given, strategies as st

from perfledger_cost_models.change_price.fleet_hours import FleetProfile, YearlyFleetHours
from perfledger_service.rendering.fleet.hours import fleet_document, fleet_toml
from perfledger_service.rendering.layout.writers import to_csv

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


def profile(name):
    use = YearlyFleetHours(
        workload=name, where=name, counted_hours=1.0, low=1.0, mode=2.0, high=3.0, jobs=1
    )
    return FleetProfile(
        uses=(use,),
        unused_matchers=(),
        unmatched_hours=0.0,
        unmatched=(),
        source=name,
        gaps=(),
        start=datetime(2026, 9, 1, tzinfo=UTC),
        end=datetime(2026, 10, 1, tzinfo=UTC),
    )


@given(names)
def test_any_name_comes_back_from_the_toml_that_is_written(name):
    (entry,) = tomllib.loads(fleet_toml(profile(name)))["fleet"]

    assert entry == {
        "workload": name,
        "where": name,
        "device_hours_per_year": 2.0,
        "low": 1.0,
        "high": 3.0,
        "source": name,
    }


def test_a_name_that_a_spreadsheet_would_run_is_text():
    assert to_csv(fleet_document(profile("=1+1"))).splitlines()[1].startswith("'=1+1,")
