"""What the store and bundles say of a quarter, and that both say the same."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perfledger.bundle import FleetUse, PricingConfig
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Revision, Side
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.review.demand_and_spend import changes_of
from perfledger_cost_models.review.quarter import quarter_of
from perfledger_service.usecases.review.quarter_records import records_of_bundles, records_of_store

QUARTER = quarter_of("2026Q4")
FLEET = FleetUse(workload="gpt:*", where="p5.48xlarge/on_demand", device_hours_per_year=9000.0)


@pytest.fixture
def on_branch(make_bundle):
    """A check of the default branch itself, which found a regression."""
    return make_bundle(pull_request=None, pricing=PricingConfig(fleet=(FLEET,)))


def records(engine):
    return records_of_store(engine, QUARTER, origin="the store")


def test_a_quarter_without_uploads_is_empty(engine):
    quarter_records = records(engine)

    assert (
        quarter_records.checks,
        quarter_records.observations,
        quarter_records.speeds,
        quarter_records.landed_changes,
    ) == (0, 0, (), ())


def test_changes_of_the_default_branch_landed_and_those_of_pull_requests_may_not_have(
    any_engine, judged_on_branch, make_bundle, on_branch
):
    judged_on_branch(any_engine, on_branch, upload_id="1" * 32)
    judged_on_branch(any_engine, make_bundle(seed=1), upload_id="2" * 32)

    quarter_records = records(any_engine)
    assert (
        quarter_records.branch_checks,
        quarter_records.pull_request_checks,
        quarter_records.checks,
    ) == (1, 1, 2)
    (landed,) = quarter_records.landed_changes
    assert landed.change[0] < 0.2 < landed.change[2]
    assert landed.origin == f"upload {'1' * 32}"
    assert quarter_records.observations == 8  # two checks, two sides, two metrics


def test_the_newest_configuration_of_a_repository_says_its_hours(
    engine, judged_on_branch, on_branch
):
    judged_on_branch(engine, on_branch)

    assert records(engine).fleet == (FLEET,)


def test_equal_entries_stay_so_that_landed_changes_have_no_price(
    engine, judged_on_branch, on_branch, tmp_path
):
    bundle = replace(on_branch, pricing=PricingConfig(fleet=(FLEET, FLEET)))
    judged_on_branch(engine, bundle)
    (tmp_path / "one.json").write_text(bundle.to_json())

    for quarter_records in (records(engine), records_of_bundles(tmp_path, QUARTER)):
        assert quarter_records.fleet == (FLEET, FLEET)
        changes = changes_of(quarter_records, packaged_sheet())
        assert isinstance(changes, tuple)
        (landed,) = changes
        assert all("count twice is unknown" in price.note for price in landed.prices)


def test_a_landed_change_is_priced_on_the_fleet_of_its_own_repository_alone(
    on_branch, make_bundle, tmp_path
):
    """Another repository has a workload of the same id, with hours of its own."""
    hours = replace(FLEET, device_hours_per_year=1_000.0)
    other = make_bundle(pull_request=None, pricing=PricingConfig(fleet=(hours,)), ratio=1.0, seed=3)
    (tmp_path / "one.json").write_text(on_branch.to_json())
    (tmp_path / "two.json").write_text(replace(other, repository="octo/other").to_json())

    quarter_records = records_of_bundles(tmp_path, QUARTER)

    changes = changes_of(quarter_records, packaged_sheet())
    assert isinstance(changes, tuple)
    (landed,) = changes
    (price,) = landed.prices
    assert price.device_hours_per_year == (9000.0, 9000.0, 9000.0)
    assert len(quarter_records.speeds) == 2


def test_the_speed_is_that_of_the_newest_base_commit(engine, judged_on_branch, make_bundle):
    judged_on_branch(engine, make_bundle(), upload_id="1" * 32)
    newer = make_bundle(seed=1, base=Revision(sha="c" * 40), head=Revision(sha="d" * 40))
    judged_on_branch(engine, newer, upload_id="2" * 32)

    (speed,) = records(engine).speeds
    assert speed.commit == "c" * 12
    low, typical, high = speed.units_per_second
    assert low <= typical <= high
    assert typical == pytest.approx(100, rel=0.01)


def test_uncommitted_changes_landed_nowhere(engine, judged_on_branch, make_bundle):
    judged_on_branch(
        engine, make_bundle(pull_request=None, head=Revision(sha="b" * 40, is_dirty=True))
    )

    assert records(engine).landed_changes == ()


def test_what_was_measured_after_the_quarter_is_not_in_it(engine, judged_on_branch, on_branch):
    new_year = datetime(2027, 1, 1, tzinfo=UTC)
    judged_on_branch(engine, replace(on_branch, created_at=new_year.isoformat()), now=new_year)

    assert records(engine).checks == 0


def test_bundles_say_what_the_store_says(engine, judged_on_branch, on_branch, tmp_path):
    judged_on_branch(engine, on_branch)
    (tmp_path / "one.json").write_text(on_branch.to_json())

    stored, read = records(engine), records_of_bundles(tmp_path, QUARTER)
    assert stored.speeds[0].units_per_second == pytest.approx(read.speeds[0].units_per_second)
    assert stored.landed_changes[0].change == pytest.approx(read.landed_changes[0].change)
    assert (stored.fleet, stored.observations) == (read.fleet, read.observations)


def test_bundles_are_named_by_their_folder_or_file(on_branch, tmp_path, monkeypatch):
    (tmp_path / "one.json").write_text(on_branch.to_json())
    monkeypatch.chdir(tmp_path)

    origins = [records_of_bundles(Path(each), QUARTER).origin for each in (".", "one.json")]

    assert origins == [f"the folder {tmp_path.name}", "one.json"]


def test_a_quarter_has_no_import_of_another_tools_results(tmp_path, on_branch):
    imported = replace(
        on_branch,
        head=on_branch.base,
        machine=Machine(device=Device.IMPORTED, model="asv, box"),
        metrics=(replace(STEP_TIME, name="time (s)"),),
        runs=tuple(
            replace(run, samples={"time (s)": (1.0,)})
            for run in on_branch.runs
            if run.side is Side.BASE
        ),
        pricing=PricingConfig(),
    )
    (tmp_path / "import.json").write_text(imported.to_json())
    (tmp_path / "one.json").write_text(on_branch.to_json())

    quarter_records = records_of_bundles(tmp_path, QUARTER)

    assert (quarter_records.checks, quarter_records.branch_checks) == (1, 1)
