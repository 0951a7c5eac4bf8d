"""Tests what a bundle may say of counted work and of base, as hostile bundles would say it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from perfledger.bundle import (
    Bundle,
    FleetUse,
    LaidOverFiles,
    Plan,
    PricingConfig,
    StartOptions,
)
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger.step_evidence import ResultState, StepEvidence
from perfledger.step_work import FLOPS, Count, CountedWork, StepWork
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.value_checks import BundleError

COUNT = Count(name=FLOPS, unit="FLOP", value=6e8, source="a counter", is_complete=False)
BUNDLE = Bundle(
    id="0" * 32,
    created_at="2026-11-20T12:00:00+00:00",
    base=Revision(sha="a" * 40),
    head=Revision(sha="b" * 40),
    machine=Machine(device=Device.CPU, model="A Xeon"),
    plan=Plan(
        seed=1,
        order=("base",),
        looks=(4,),
        margins={"m:f": 0.05},
        metrics={"m:f": ("step_time_p50",)},
    ),
    workloads=(
        WorkloadSpec(id="m:f", module="m", function="f", margin=0.05, metrics=("step_time_p50",)),
    ),
    metrics=(STEP_TIME,),
    runs=(
        Run(
            workload="m:f",
            side=Side.HEAD,
            pair=0,
            position=0,
            process=0,
            started_at="2026-11-20T12:00:01+00:00",
            samples={STEP_TIME.name: (1e-6,)},
            evidence=StepEvidence(
                result=ResultState.FINITE,
                answer={"loss": 1.5, "steps": 3, "is_done": True, "name": "a"},
                tolerance=0.01,
                steps_per_reading=20,
                empty_step_s=2e-8,
            ),
        ),
    ),
    new_workloads=("m:f",),
    base_configuration="",
    other_base_workloads=("old/bench.py",),
    laid_over=LaidOverFiles(source="main", files={"bench/w.py": "c" * 40}),
    options=StartOptions(workloads=("m:*",), expression="not slow", settings={"margin": "0.05"}),
    accepted_work=("m:*",),
    work=(CountedWork(workload="m:f", side=Side.HEAD, work=StepWork(counts=(COUNT,))),),
)


def written(*path, **changes):
    """Return the bundle as bytes, with other fields at a place of its document."""
    document = json.loads(BUNDLE.to_json())
    place = document
    for step in path:
        place = place[step]
    place.update(changes)
    return json.dumps(document).encode()


ENTRY = {"workload": "m:*", "where": "p5", "device_hours_per_year": 1}


EVIDENCE_PATH = ("runs", 0, "evidence")
COUNT_PATH = ("work", 0, "work", "counts", 0)


def test_a_bundle_keeps_what_it_says():
    assert read_bundle(written()) == BUNDLE


def test_an_older_bundle_says_nothing_of_base_and_counts_completely():
    document = json.loads(BUNDLE.to_json())
    del document["base_configuration"], document["other_base_workloads"]
    del document["laid_over"], document["options"]
    del document["accepted_work"], document["runs"][0]["evidence"]
    del document["plan"]["margins"], document["plan"]["metrics"]
    del document["workloads"][0]["margin"], document["workloads"][0]["metrics"]
    del document["work"][0]["work"]["counts"][0]["is_complete"]

    bundle = read_bundle(json.dumps(document).encode())

    assert (bundle.base_configuration, bundle.other_base_workloads) == (None, ())
    assert bundle.work[0].work.counts[0].is_complete
    assert (bundle.accepted_work, bundle.runs[0].evidence) == ((), StepEvidence())
    assert (bundle.laid_over, bundle.options) == (None, None)
    assert (bundle.plan.margins, bundle.plan.metrics) == ({}, {})
    assert (bundle.workloads[0].margin, bundle.workloads[0].metrics) == (None, ())


@pytest.mark.parametrize(
    ("path", "changes", "complaint"),
    [
        (COUNT_PATH, {"is_complete": 0}, "is_complete"),
        (COUNT_PATH, {"is_complete": "no"}, "is_complete"),
        (COUNT_PATH, {"is_complete": None}, "is_complete"),
        (COUNT_PATH, {"value": -1.0}, "is not a count"),
        (EVIDENCE_PATH, {"result": "fine"}, "result"),
        (EVIDENCE_PATH, {"answer": {"loss": None}}, "answer"),
        (EVIDENCE_PATH, {"answer": {str(place): 1 for place in range(101)}}, "more than 100"),
        (EVIDENCE_PATH, {"answer": {"loss": "x" * 301}}, "more than 300"),
        (EVIDENCE_PATH, {"tolerance": 1.0}, "not a share below 1"),
        (EVIDENCE_PATH, {"steps_per_reading": 0}, "not 1 to"),
        (EVIDENCE_PATH, {"empty_step_s": -1.0}, "negative"),
        (("runs", 0), {"devices": 1, "device_places": [0, 3]}, "device_places: negative, or not"),
        (("runs", 0), {"device_places": [-1]}, "device_places: negative"),
        (("laid_over", "files"), {"bench/w.py": "c"}, "laid_over.files: a hash"),
        (("plan",), {"margins": {"m:f": 1.0}}, "plan.margins: not between 0 and 1"),
        (("plan",), {"machine_classes": ["x"] * 33}, "plan.machine_classes: more than the limit"),
        (("plan",), {"class_deadline_s": 0}, "plan.class_deadline_s: not between 0 and 7 days"),
        (("plan",), {"class_deadline_s": 1e6}, "plan.class_deadline_s: not between 0 and 7 days"),
        (("plan",), {"metrics": {"m:f": []}}, "plan.metrics: none"),
        (("plan",), {"metrics": {"m:f": ["cpu_time"]}}, "not one of the bundle's metrics"),
        (("workloads", 0), {"margin": 0.0}, "margin: not between 0 and 1"),
        (("laid_over", "files"), {"x" * 301: "c" * 40}, "more than 300"),
        (("options",), {"settings": {"a": "x" * 301}}, "more than 300"),
        (("options",), {"expression": "x" * 4001}, "more than 4000"),
        (("options",), {"settings": {"A=1": ""}}, "options.settings: no setting's name"),
        (("options",), {"workloads": "m:f"}, "workloads"),
        (("laid_over", "files"), {str(n): "c" * 40 for n in range(2001)}, "more than 2000"),
        ((), {"accepted_work": "m:*"}, "accepted_work"),
        ((), {"base_configuration": 0}, "base_configuration"),
        ((), {"base_configuration": "x" * 301}, "more than 300"),
        ((), {"other_base_workloads": "old"}, "other_base_workloads"),
        ((), {"unchosen": [0]}, "unchosen"),
        ((), {"same_code": ["m:f"]}, "same_code: not a skipped workload"),
        ((), {"same_code": ["m:f"], "skipped": {"m:f": "same code"}}, "same_code: not a skipped"),
        ((), {"same_code": ["m:g"], "skipped": {"m:g": "same code"}}, "same_code: not a skipped"),
        ((), {"same_code": "m:f"}, "same_code"),
        ((), {"fail_on": ["flops < 5 %"]}, "fail_on: 'flops < 5 %' is not a limit"),
        ((), {"fail_on": ["flops > 5 %"] * 21}, "fail_on: more than 20"),
        ((), {"fail_on": "flops > 5 %"}, "fail_on"),
        ((), {"fail_on": [5]}, "fail_on"),
        ((), {"code_differences": {"m:f": 1}}, "code_differences"),
        ((), {"code_differences": {"m:f": "x" * 4001}}, "more than 4000"),
        (("pricing",), {"fleet": [ENTRY | {"weights": {"n:f": 1}}]}, "'n:f' does not match"),
        (("pricing",), {"fleet": [ENTRY | {"weights": {"m:f": -1}}]}, "weights: not 0 or above"),
        (("pricing",), {"fleet": [ENTRY | {"transfer_factor": 0.5}]}, "not between 1 and 100"),
        ((), {"other_base_workloads": ["x" * 301]}, "more than 300"),
        ((), {"other_base_workloads": [None]}, "other_base_workloads"),
    ],
)
def test_what_cannot_be_is_refused(path, changes, complaint):
    with pytest.raises(BundleError, match=complaint):
        read_bundle(written(*path, **changes))


SPREAD = {"workload": "m:f", "metric": "step_time_p50", "machine_class": "h"}
POOL = {"where": "own", "devices": 1, "busy_hours_per_year": 0.0}
SPEED = {"workload": "m:*", "device": "H100-80GB", "source": "a page"}
TINY = 1e-9


# Of each place: what else it needs, a field, the nearest values that are possible and that are not.
@pytest.mark.parametrize(
    ("path", "field", "possible", "impossible"),
    [
        (("base",), "depth", (None, 0, 1), (-1,)),
        (("machine",), "count", (1, 2), (0,)),
        (("machine",), "cores", (1, 2), (0,)),
        (("machine",), "clock_mhz", (None, TINY, 1), (0, -TINY)),
        (("machine",), "power_cap_w", (None, TINY, 1), (0, -TINY)),
        (("plan",), "looks", ([1], [1, 2]), ([0], [2, 2], [2, 1])),
        (("plan",), "alpha", (TINY, 1 - TINY), (0, 1)),
        (("plan",), "margin", (TINY, 1 - TINY), (0, 1)),
        (("plan",), "floor", (0, 1 - TINY), (-TINY, 1)),
        (("plan",), "history", (None, 0, 1), (-1,)),
        (("plan",), "class_deadline_s", (TINY, 7 * 86400), (0, 7 * 86400.001)),
        (("workloads", 0), "units_per_step", (TINY, 1), (0, -TINY)),
        (("workloads", 0), "devices", (1, 2), (0,)),
        (
            ("workloads", 0),
            "variant",
            ("", "compile"),
            ("eager|jit", "jit:<b>", "compile ", "x" * 300),
        ),
        (("workloads", 0), "margin", (TINY, 1 - TINY), (0, 1)),
        (("runs", 0), "pair", (0, 1), (-1,)),
        (("runs", 0), "position", (0, 1), (-1, 2)),
        (("runs", 0), "process", (0, 1), (-1,)),
        (("runs", 0), "devices", (1, 2), (0,)),
        (("runs", 0), "clock_mhz", (None, TINY, 1), (0, -TINY)),
        (("runs", 0), "slowed", ({"heat": 0}, {"heat": 1}), ({"heat": -TINY}, {"heat": 1.001})),
        (("runs", 0), "warmups_s", ([], [0], [TINY]), ([-TINY],)),
        (("runs", 0), "left_out", ({}, {"step_time_p50": 0}), ({"step_time_p50": -1},)),
        (("runs", 0), "turns", ([], [1]), ([0, 1], [2])),
        (EVIDENCE_PATH, "tolerance", (0, 1 - TINY), (-TINY, 1)),
        (EVIDENCE_PATH, "steps_per_reading", (1, 2), (0,)),
        (EVIDENCE_PATH, "empty_step_s", (None, 0, TINY), (-TINY,)),
        (EVIDENCE_PATH, "paused_cores", (None, 0, TINY), (-TINY,)),
        (EVIDENCE_PATH, "leftover_s", (None, 0, TINY), (-TINY,)),
        (COUNT_PATH, "value", (0, TINY), (-TINY,)),
    ],
)
def test_each_number_is_accepted_up_to_its_edge_and_refused_beyond(
    path, field, possible, impossible
):
    for value in possible:
        read_bundle(written(*path, **{field: value}))
    for value in impossible:
        with pytest.raises(BundleError):
            read_bundle(written(*path, **{field: value}))


@pytest.mark.parametrize(
    ("path", "name", "entry", "possible", "impossible"),
    [
        (
            ("plan",),
            "spreads",
            SPREAD,
            ((0, TINY, 0), (TINY, 1, 1)),
            ((-TINY, 1, 1), (0, 0, 1), (0, 1, -1)),
        ),
        (("pricing",), "declared", SPEED, ((TINY,), (1,)), ((0,), (-TINY,))),
        (
            ("pricing",),
            "fleet",
            ENTRY,
            ((0, 0, 0, 1), (1, 0, 2, 100), (TINY, None, None, None)),
            ((1, -TINY, 2, 1), (1, 0, 1 - TINY, 1), (1, 1.001, 2, 1), (1, 1, 1, 1 - 1e-6)),
        ),
        (
            ("pricing",),
            "commitments",
            POOL,
            ((1, 0, None), (1, 8760, TINY)),
            ((0, 0, None), (1, -TINY, None), (1, 8760.001, None), (1, 0, 0), (2, 0, 1)),
        ),
        (
            ("pricing",),
            "policies",
            {"team": "a"},
            ((0, 0), (TINY, 1), (None, 0), (1, None)),
            ((-TINY, 1), (1, 1 - TINY), (None, None)),
        ),
    ],
)
def test_each_number_of_an_entry_is_accepted_up_to_its_edge_and_refused_beyond(
    path, name, entry, possible, impossible
):
    fields = {
        "spreads": ("variance", "degrees", "pairs"),
        "declared": ("units_per_second",),
        "fleet": ("device_hours_per_year", "low", "high", "transfer_factor"),
        "commitments": ("devices_per_job", "busy_hours_per_year", "job_hours"),
        "policies": ("ask_above_usd_per_year", "fail_above_usd_per_year"),
    }[name]

    def read(values):
        changed = entry | dict(zip(fields, values, strict=True))
        return read_bundle(written(*path, **{name: [changed]}))

    for values in possible:
        read(values)
    for values in impossible:
        with pytest.raises(BundleError):
            read(values)


PRICED = FleetUse(workload="m:*", where="p5", device_hours_per_year=1.0)


FOREIGN = replace(STEP_TIME, name="time (s)")
FOREIGN_RUN = replace(BUNDLE.runs[0], side=Side.BASE, samples={FOREIGN.name: (1e-6,)})
NO_PLAN = Plan(seed=0, order=(), looks=())


def imported(**changes):
    """Return a bundle of another tool's results as bytes, with other fields."""
    fields: dict[str, Any] = {
        "id": BUNDLE.id,
        "created_at": BUNDLE.created_at,
        "base": BUNDLE.base,
        "head": BUNDLE.base,
        "machine": Machine(device=Device.IMPORTED, model="asv, box"),
        "plan": NO_PLAN,
        "workloads": (WorkloadSpec(id="m:f", module="", function=""),),
        "metrics": (FOREIGN,),
        "runs": (FOREIGN_RUN,),
    }
    return Bundle(**fields | changes).to_json().encode()


def test_another_tools_metric_may_be_named_as_a_kernel_family():
    metric = replace(FOREIGN, name="kernel:mm")
    run = replace(FOREIGN_RUN, samples={metric.name: FOREIGN_RUN.samples[FOREIGN.name]})

    assert read_bundle(imported(metrics=(metric,), runs=(run,))).metrics == (metric,)


def test_what_another_tool_measured_is_of_one_commit_and_says_so():
    assert read_bundle(imported()).is_imported
    assert not BUNDLE.is_imported


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"head": Revision(sha="c" * 40)}, "head.sha: an import has one commit"),
        ({"pull_request": 7}, "pull_request: an import is of the default branch"),
        ({"pricing": PricingConfig(fleet=(PRICED,))}, "an import has no prices"),
        ({"plan": replace(NO_PLAN, machine_classes=("*",))}, "an import expects none"),
        (
            {"runs": (replace(FOREIGN_RUN, side=Side.HEAD),)},
            "runs: those of an import have no head and no device",
        ),
        (
            {"runs": (replace(FOREIGN_RUN, device=Device.CPU),)},
            "runs: those of an import have no head and no device",
        ),
        ({"work": BUNDLE.work, "fail_on": ("flops > 1",)}, "an import has runs of a named machine"),
        ({"new_workloads": ("m:f",)}, "an import has runs of a named machine, and nothing else"),
        (
            {"metrics": (STEP_TIME,), "runs": (replace(BUNDLE.runs[0], side=Side.BASE),)},
            "metrics: an import has none that perfledger measures",
        ),
        ({"held_s": 1e9}, "an import has runs of a named machine, and nothing else"),
        (
            {"head": replace(BUNDLE.base, is_dirty=True)},
            "an import has runs of a named machine, and nothing else",
        ),
    ],
)
def test_an_import_claims_nothing_that_only_a_check_can(changes, complaint):
    with pytest.raises(BundleError, match=complaint):
        read_bundle(imported(**changes))


def test_no_step_of_a_check_ran_on_the_device_of_an_import():
    run = replace(BUNDLE.runs[0], device=Device.IMPORTED)

    with pytest.raises(BundleError, match="device: not one that a step runs on"):
        read_bundle(replace(BUNDLE, runs=(run,)).to_json().encode())


@pytest.mark.parametrize("times", [{"m:unknown": 1.0}, {BUNDLE.workloads[0].id: 0.0}])
def test_the_times_of_pairs_are_of_its_workloads_and_positive(times):
    with pytest.raises(BundleError, match="pair_seconds: not positive"):
        read_bundle(replace(BUNDLE, pair_seconds=times).to_json().encode())
