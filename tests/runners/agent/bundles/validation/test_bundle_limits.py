"""Each number and list of a bundle is read up to its limit, and refused beyond it."""

import json

import pytest

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import STEP_TIME
from perfledger.profile import Profile
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger.step_work import FLOPS, Count, CountedWork, StepWork
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.value_checks import BundleError

COUNT = Count(name=FLOPS, unit="FLOP", value=6e8, source="a counter")
BUNDLE = Bundle(
    id="0" * 32,
    created_at="2026-11-20T12:00:00+00:00",
    base=Revision(sha="a" * 40),
    head=Revision(sha="b" * 40),
    machine=Machine(device=Device.CPU, model="A Xeon"),
    plan=Plan(seed=1, order=("base",), looks=(4,)),
    workloads=(WorkloadSpec(id="m:f", module="m", function="f"),),
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
        ),
    ),
    work=(CountedWork(workload="m:f", side=Side.HEAD, work=StepWork(counts=(COUNT,))),),
    profiles=(
        Profile(
            workload="m:f", side=Side.HEAD, tool="torch", steps=1, step_seconds=0.5, operations=()
        ),
    ),
)
BUNDLE_PLACE, PLAN, RUN = (), ("plan",), ("runs", 0)
EVIDENCE, WORK, PROFILE = ("runs", 0, "evidence"), ("work", 0, "work"), ("profiles", 0)
MACHINE, PRICING = ("machine",), ("pricing",)
SPREAD = {
    "machine_class": "cpu",
    "workload": "m:f",
    "metric": "step_time_p50",
    "variance": 0.0,
    "degrees": 5.0,
    "pairs": 1,
}


def many(number):
    return [str(each) for each in range(number)]


def spread(**changes):
    return [SPREAD | changes]


def counts(number=1, **changes):
    known_fields = {"unit": "FLOP", "value": 1.0, "source": "a counter"}
    return [known_fields | {"name": str(each)} | changes for each in range(number)]


def end_cost(**changes):
    return {"steps": 1, "cpu_s": 0.5} | changes


def packages(number=1, compiled=1, *, size_bytes=1, **changes):
    files = [{"path": name, "size_bytes": size_bytes, "digest": ""} for name in many(compiled)]
    known_fields = {"folder": "/p", "is_own": True, "modules": 1, "digest": "", "compiled": files}
    return [known_fields | {"name": name} | changes for name in many(number)]


def fleet(number=1, **changes):
    return [{"workload": "m:*", "where": "p5", "device_hours_per_year": 10} | changes] * number


def commitments(number=1, **changes):
    known_fields = {"devices": 8, "busy_hours_per_year": 1.0, "devices_per_job": 1}
    return [known_fields | {"where": name} | changes for name in many(number)]


def policies(number=1, **changes):
    known_fields = {"team": "t", "workloads": ["m:*"], "fail_above_usd_per_year": 1.0}
    return [known_fields | changes] * number


def tensors(number=1, size=4.0, count=1):
    held_fields = {"operator": "aten::mm", "tensor": "float32[1]", "bytes": size, "count": count}
    return [held_fields] * number


def operations(number=1, seconds=1.0, count=1.0):
    return [{"name": "o", "bucket": "compute", "seconds": seconds, "count": count}] * number


def workloads(number):
    return [{"id": name, "module": "m", "function": "f"} for name in ("m:f", *many(number - 1))]


@pytest.mark.parametrize(
    ("place", "name", "accepted", "refused"),
    [
        (BUNDLE_PLACE, "id", ["f" * 32], ["f" * 31, "f" * 33, "F" * 32]),
        (BUNDLE_PLACE, "pull_request", [1, None], [0]),
        (BUNDLE_PLACE, "workloads", [workloads(2000)], [workloads(2001)]),
        (("base",), "sha", ["c" * 40], ["c" * 39, "c" * 41]),
        (PLAN, "order", [["base"] * 10_000], [["base"] * 10_001]),
        (PLAN, "looks", [[], [1], [1, 2]], [[0], [2, 2], [3, 2]]),
        (PLAN, "alpha", [0.001, 0.999], [0.0, 1.0]),
        (PLAN, "margin", [0.001, 0.999], [0.0, 1.0]),
        (PLAN, "floor", [0.0, 0.999], [-0.001, 1.0]),
        (PLAN, "margins", [{"m:f": 0.001}, {"m:f": 0.999}], [{"m:f": 0.0}, {"m:f": 1.0}]),
        (PLAN, "history", [0, None], [-1]),
        (PLAN, "spreads", [spread(variance=0.0)], [spread(variance=-0.5)]),
        (PLAN, "spreads", [spread(degrees=0.5)], [spread(degrees=0.0)]),
        (PLAN, "spreads", [spread(degrees=1000.0)], [spread(degrees=1000.5)]),
        (PLAN, "spreads", [spread(pairs=0)], [spread(pairs=-1)]),
        (PLAN, "spreads", [[SPREAD] * 10_000], [[SPREAD] * 10_001]),
        (PLAN, "machine_classes", [["x"] * 32], [["x"] * 33]),
        (PLAN, "class_deadline_s", [0.5, 604_800.0], [0.0, 604_800.5]),
        (MACHINE, "count", [1], [0]),
        (MACHINE, "cores", [1], [0]),
        (MACHINE, "memory_bytes", [1, None], [0]),
        (MACHINE, "clock_mhz", [0.5], [0.0]),
        (MACHINE, "power_cap_w", [0.5], [0.0]),
        (("workloads", 0), "units_per_step", [0.5], [0.0]),
        (("workloads", 0), "margin", [0.001, 0.999], [0.0, 1.0]),
        (("workloads", 0), "id", [], ["i" * 301]),
        (("workloads", 0), "module", ["m" * 300], ["m" * 301]),
        (RUN, "pair", [0, 9999], [-1, 10_000]),
        (RUN, "position", [0, 1], [-1, 2]),
        (RUN, "process", [0], [-1]),
        (RUN, "devices", [1], [0]),
        (RUN, "clock_mhz", [0.5], [0.0]),
        (RUN, "slowed", [{"heat": 0.0}, {"heat": 1.0}], [{"heat": -0.5}, {"heat": 1.5}]),
        (RUN, "warmups_s", [[], [0.0]], [[-0.5]]),
        (RUN, "left_out", [{"odd": 0}], [{"odd": -1}]),
        (RUN, "turns", [[], [1]], [[0, 1], [2]]),
        (RUN, "packages", [packages(200)], [packages(201)]),
        (RUN, "packages", [packages(modules=1)], [packages(modules=0)]),
        (RUN, "packages", [packages(compiled=200)], [packages(compiled=201)]),
        (RUN, "packages", [packages(size_bytes=0)], [packages(size_bytes=-1)]),
        (EVIDENCE, "answer", [dict.fromkeys(many(100), 1)], [dict.fromkeys(many(101), 1)]),
        (EVIDENCE, "tolerance", [0.0, 0.999], [-0.5, 1.0]),
        (EVIDENCE, "steps_per_reading", [1, 10**9], [0, 10**9 + 1]),
        (EVIDENCE, "empty_step_s", [0.0, None], [-0.5]),
        (EVIDENCE, "paused_cores", [0.0, None], [-0.5]),
        (EVIDENCE, "leftover_s", [0.0, None], [-0.5]),
        (EVIDENCE, "end_cost", [end_cost(), None], [end_cost(steps=0), end_cost(cpu_s=-0.5)]),
        (EVIDENCE, "short_end_cost", [end_cost(cpu_s=0.0)], [end_cost(steps=0)]),
        (EVIDENCE, "end_cost", [end_cost(tasks=0)], [end_cost(tasks=-1)]),
        (WORK, "counts", [counts(100)], [counts(101)]),
        (WORK, "counts", [counts(value=0.0), counts(value=3.4e38)], [counts(value=-0.5)]),
        (WORK, "counts", [], [counts(value=3.41e38)]),
        (WORK, "limits", [many(20), ["l" * 4000]], [many(21), ["l" * 4001]]),
        (PROFILE, "steps", [1], [0]),
        (PROFILE, "step_seconds", [0.5], [0.0]),
        (PROFILE, "dropped_events", [0], [-1]),
        (PROFILE, "operations", [operations(20_000)], [operations(20_001)]),
        (PROFILE, "peak_tensors", [tensors(20_000)], [tensors(20_001)]),
        (PROFILE, "peak_tensors", [tensors(size=1.0)], [tensors(size=0.0)]),
        (PROFILE, "peak_tensors", [tensors(count=1)], [tensors(count=0)]),
        (PROFILE, "operations", [operations(seconds=0.0)], [operations(seconds=-0.5)]),
        (PROFILE, "operations", [operations(count=0.0)], [operations(count=-0.5)]),
        (PRICING, "fleet", [fleet(1000)], [fleet(1001)]),
        (PRICING, "fleet", [fleet(low=0, high=10)], [fleet(low=-0.5), fleet(high=9.5)]),
        (PRICING, "fleet", [fleet(low=10, high=10)], [fleet(low=10.5, high=11)]),
        (PRICING, "fleet", [fleet(weights={"m:f": 0.5})], [fleet(weights={"m:f": 0})]),
        (PRICING, "fleet", [fleet(weights={"m:f": 0, "m:g": 0.5})], []),
        (PRICING, "commitments", [commitments(100)], [commitments(101)]),
        (
            PRICING,
            "commitments",
            [commitments(devices_per_job=8)],
            [commitments(devices_per_job=9)],
        ),
        (PRICING, "commitments", [commitments(devices=100_000)], [commitments(devices=100_001)]),
        (PRICING, "commitments", [], [commitments(devices_per_job=0)]),
        (PRICING, "commitments", [commitments(busy_hours_per_year=8 * 8760.0)], []),
        (PRICING, "commitments", [], [commitments(busy_hours_per_year=8 * 8760.0 + 1)]),
        (PRICING, "commitments", [commitments(busy_hours_per_year=0.0)], []),
        (PRICING, "commitments", [], [commitments(busy_hours_per_year=-0.5)]),
        (PRICING, "commitments", [commitments(job_hours=0.5)], [commitments(job_hours=0.0)]),
        (PRICING, "policies", [policies(100)], [policies(101)]),
        (PRICING, "policies", [policies(approvers=many(50))], [policies(approvers=many(51))]),
        (PRICING, "policies", [policies(fail_above_usd_per_year=0.0)], []),
        (PRICING, "policies", [], [policies(fail_above_usd_per_year=-0.5)]),
        (PRICING, "policies", [policies(ask_above_usd_per_year=1.0)], []),
        (PRICING, "policies", [], [policies(ask_above_usd_per_year=1.5)]),
    ],
)
def test_a_field_is_read_up_to_its_limits(place, name, accepted, refused):
    for value in accepted:
        read_bundle(changed(place, name, value))
    for value in refused:
        with pytest.raises(BundleError):
            read_bundle(changed(place, name, value))


def changed(place, name, value):
    """Return the bundle as bytes, with another value of a field."""
    document = json.loads(BUNDLE.to_json())
    fields = document
    for step in place:
        fields = fields[step]
    fields[name] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(("number", "is_read"), [(2**63 - 1, True), (2**63, False)])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_are_read_that_a_database_can_store(number, sign, is_read):
    data = changed(PLAN, "seed", sign * number)

    if is_read:
        assert read_bundle(data).plan.seed == sign * number
    else:
        with pytest.raises(BundleError, match="a number that cannot be stored"):
            read_bundle(data)
