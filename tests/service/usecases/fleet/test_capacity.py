"""What the store knows of the fleet: how busy checks saw workloads, and what was imported."""

import csv
import json
from dataclasses import replace
from functools import partial

import pytest

from perfledger.bundle import FleetUse, PricingConfig
from perfledger.metrics import SM_ACTIVE, MetricKind
from perfledger.profile import Profile, ProfileReading
from perfledger.records import Device, Machine, Side
from perfledger_service.errors import UsageError
from perfledger_service.store.database import read_session
from perfledger_service.usecases.fleet.capacity import (
    capacity_view,
    fleet_version,
    measured_utilization,
)
from perfledger_service.usecases.inputs.files import NamedBytes
from perfledger_service.usecases.inputs.imports import import_file
from perfledger_service.usecases.uploads.reorder import reorder
from perfledger_service.values.fleet_views import ImportKind

SACCT = (
    b"JobID|JobName|Account|Start|End|AllocTRES\n"
    b"1|t|nlp|2026-10-01T00:00:00|2026-10-02T00:00:00|gres/gpu=2\n"
)


@pytest.fixture
def busy_bundle(make_bundle):
    """A check on a GPU that looks busy: readings of SM-active, and a profile of the base."""

    def make(active=(0.2, 0.3, 0.4), gpu_busy=0.95, **values):
        bundle = make_bundle(ratio=1.0)
        machine = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3")
        runs = tuple(
            replace(run, device=Device.CUDA, samples={**run.samples, SM_ACTIVE.name: active})
            for run in bundle.runs
        )
        profile = Profile(
            workload="gpt:step",
            side=Side.BASE,
            tool="torch.profiler",
            steps=5,
            step_seconds=0.01,
            operations=(),
            readings=(ProfileReading(name="gpu_busy", value=gpu_busy),),
        )
        fleet = (FleetUse(workload="gpt:*", where="p5/on_demand", device_hours_per_year=20_000.0),)
        fields = {
            "machine": machine,
            "runs": runs,
            "metrics": (*bundle.metrics, SM_ACTIVE),
            "profiles": (profile,),
            "pricing": PricingConfig(fleet=fleet),
        }
        return replace(bundle, **(fields | values))

    return make


@pytest.fixture
def run(run, database_url):
    return partial(run, PERFLEDGER_DATABASE_URL=database_url)


def uses_of(engine):
    with read_session(engine) as session:
        return measured_utilization(session)


def test_a_workload_is_as_busy_as_its_newest_check_saw_its_base(
    any_engine, judged_on_branch, busy_bundle
):
    judged_on_branch(any_engine, busy_bundle())

    (use,) = uses_of(any_engine)

    assert use.active == pytest.approx(0.3)
    assert (use.low, use.high) == pytest.approx((0.2, 0.4), abs=1e-6)
    assert (use.gpu_busy, use.device_hours_per_year) == (0.95, 20_000)
    assert use.idle_hours == pytest.approx(14_000)


def test_readings_are_read_as_the_bundle_had_them_kept(
    engine, judged_on_branch, busy_bundle, make_bundle
):
    odd = replace(SM_ACTIVE, kind=MetricKind.MEMORY)  # of which series keep 8 bytes each
    judged_on_branch(engine, busy_bundle(metrics=(*make_bundle(ratio=1.0).metrics, odd)))

    (use,) = uses_of(engine)

    assert (use.active, use.readings % 3) == (pytest.approx(0.3), 0)


def test_what_nobody_declared_or_profiled_is_not_known(engine, judged_on_branch, busy_bundle):
    judged_on_branch(engine, busy_bundle(pricing=PricingConfig(), profiles=()))

    (use,) = uses_of(engine)

    assert (use.gpu_busy, use.device_hours_per_year, use.idle_hours) == (None, None, None)


def test_hours_of_another_accelerator_are_not_the_measured_ones(
    engine, judged_on_branch, busy_bundle
):
    fleet = tuple(
        FleetUse(workload="gpt:*", where=where, device_hours_per_year=hours)
        for where, hours in (("p5.48xlarge/on_demand", 500.0), ("tpu-v4/on_demand", 7000.0))
    )
    judged_on_branch(engine, busy_bundle(pricing=PricingConfig(fleet=fleet)))

    (use,) = uses_of(engine)

    assert use.device_hours_per_year == 500


def test_hours_of_several_workloads_are_unknown_until_weights_divide_them(
    engine, judged_on_branch, busy_bundle
):
    entry = FleetUse(workload="gpt:*", where="p5/on_demand", device_hours_per_year=20_000.0)
    judged_on_branch(
        engine, busy_bundle(pricing=PricingConfig(fleet=(entry,)), unchosen=("gpt:eval",))
    )

    (use,) = uses_of(engine)

    assert use.device_hours_per_year is None


@pytest.mark.parametrize("other", ["gpt:*", "gpt:step"])
def test_hours_that_may_stand_in_two_entries_are_unknown(
    engine, judged_on_branch, busy_bundle, other
):
    entry = FleetUse(workload="gpt:*", where="p5/on_demand", device_hours_per_year=20_000.0)
    fleet = (entry, replace(entry, workload=other))
    judged_on_branch(engine, busy_bundle(pricing=PricingConfig(fleet=fleet)))

    (use,) = uses_of(engine)

    assert use.device_hours_per_year is None


def test_weights_give_a_workload_its_hours(engine, judged_on_branch, busy_bundle):
    entry = FleetUse(
        workload="gpt:*",
        where="p5/on_demand",
        device_hours_per_year=20_000.0,
        weights={"gpt:step": 1.0, "gpt:eval": 3.0},
    )
    judged_on_branch(
        engine, busy_bundle(pricing=PricingConfig(fleet=(entry,)), unchosen=("gpt:eval",))
    )

    (use,) = uses_of(engine)

    assert use.device_hours_per_year == 5_000


def test_a_check_that_did_not_read_the_device_tells_nothing(engine, judged_on_branch, make_bundle):
    judged_on_branch(engine, make_bundle())

    assert uses_of(engine) == ()


def test_the_table_says_what_looks_busy_and_is_not(run, engine, judged_on_branch, busy_bundle):
    judged_on_branch(engine, busy_bundle())

    text = " ".join(run("fleet", "utilization", "--checks").split())

    assert "gpt:step 30.0 % 95.0 % 20,000 14,000" in text
    assert "gpt:step: looks busy but is not: GPU-util 95.0 %, SM-active 30.0 %" in text


def test_figures_are_written_as_json_and_csv(run, engine, judged_on_branch, busy_bundle):
    judged_on_branch(engine, busy_bundle())

    document = json.loads(run("fleet", "utilization", "--checks", "--format", "json"))
    (row,) = csv.DictReader(run("fleet", "utilization", "--checks", "--format", "csv").splitlines())

    assert document["workloads"][0]["idle_hours"] == pytest.approx(14_000)
    assert float(row["active"]) == pytest.approx(0.3)
    assert row["workload"] == "gpt:step"


def test_without_a_check_that_is_said(run):
    assert "no check has measured utilization on an attested commit" in run(
        "fleet", "utilization", "--checks"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("x.json",),
        ("--source", "main"),
        ("--start", "2026-01-01"),
        ("--end", "2026-02-01"),
        ("--group-by", "job"),
        ("--signal", "gpu_util"),
        ("--target-percent", "80"),
        ("--purchase-option", "p5.48xlarge/on_demand"),
        ("--prices", "prices.csv"),
        ("--overrides", "own.toml"),
        ("--contract", "contract.toml"),
        ("--exchange-rates", "rates.csv"),
        ("--format", "svg"),
    ],
)
def test_checks_are_asked_for_alone(run, words):
    with pytest.raises(UsageError, match="--checks"):
        run("fleet", "utilization", "--checks", *words)


def test_the_page_shows_both_and_is_linked(site, judged_on_branch, busy_bundle, now):
    reorder(site.engine, "octo/models", commits=None, trust_runners=True)
    judged_on_branch(site.engine, busy_bundle())
    file = NamedBytes("<script>", SACCT)
    import_file(site.engine, file, kind=ImportKind.USAGE, source="<b>", now=now)

    page = site.get("/capacity")

    assert page.status_code == 200
    assert "gpt:step" in page.text
    assert "looks busy but is not" in page.text
    assert "48 device-hours" in page.text
    assert "<script>" not in page.text
    assert 'href="/capacity"' in site.get("/").text
    assert 'href="/capacity"' in site.get("/octo/models").text


def test_the_view_has_what_was_imported(any_engine, now):
    kept_stored_import, _ = import_file(
        any_engine, NamedBytes("a", SACCT), kind=ImportKind.USAGE, source="main", now=now
    )

    with read_session(any_engine) as session:
        assert capacity_view(session).imports == (kept_stored_import,)


def test_what_is_known_of_the_fleet_changes_with_every_check_and_import(
    any_engine, judged_on_branch, busy_bundle, now
):
    def known_fleet_version():
        with read_session(any_engine) as session:
            return fleet_version(session)

    judged_on_branch(any_engine, busy_bundle())
    first = known_fleet_version()
    judged_on_branch(any_engine, busy_bundle(active=(0.5, 0.6, 0.7)), upload_id="2" * 32)
    second = known_fleet_version()
    import_file(any_engine, NamedBytes("a", SACCT), kind=ImportKind.USAGE, source="main", now=now)

    assert len({first, second, known_fleet_version()}) == 3
    assert known_fleet_version() == known_fleet_version()
