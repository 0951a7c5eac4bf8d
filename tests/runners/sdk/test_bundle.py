import json
import math
from dataclasses import replace

import pytest

from perfledger.bundle import BUNDLE_FORMAT, BUNDLE_VERSION, Bundle, Plan
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Revision, Run, Side


def run(samples, device=None):
    return Run(
        workload="m:f",
        side=Side.BASE,
        pair=0,
        position=0,
        process=1,
        started_at="2026-11-20T12:00:00+00:00",
        samples=samples,
        device=device,
    )


def bundle(*runs):
    return Bundle(
        id="0" * 32,
        created_at="2026-11-20T12:00:00+00:00",
        base=Revision(sha="a" * 40),
        head=Revision(sha="b" * 40),
        machine=Machine(device=Device.CPU, model="A CPU"),
        plan=Plan(seed=1, order=("base",), looks=(4,)),
        workloads=(),
        metrics=(STEP_TIME,),
        runs=runs,
    )


def test_a_bundle_knows_what_each_workload_and_side_ran_on():
    on_cpu = run({"step_time_p50": (1.0,)}, device=Device.CPU)

    assert bundle(on_cpu).machines() == {("m:f", Side.BASE): bundle().machine.part_used_by(on_cpu)}


def test_a_bundle_names_its_format_and_its_version_and_holds_every_sample():
    written = json.loads(bundle(run({"step_time_p50": (0.25, 0.5)})).to_json())

    assert (written["format"], written["version"]) == (BUNDLE_FORMAT, BUNDLE_VERSION)
    assert written["runs"][0]["samples"] == {"step_time_p50": [0.25, 0.5]}


def test_a_bundle_with_a_number_that_json_has_not_is_an_error():
    with pytest.raises(ValueError, match="not JSON compliant"):
        bundle(run({"step_time_p50": (math.nan,)})).to_json()


def test_runs_by_pair_have_both_sides_and_of_a_repeated_run_the_last_one():
    base = run({STEP_TIME.name: (1.0,)})
    again, head = replace(base, process=2), replace(base, side=Side.HEAD, process=1)
    later = replace(base, pair=1, process=3)

    pairs = bundle(base, head, again, later).runs_by_pair()

    assert pairs == {base.workload: {0: {Side.BASE: again, Side.HEAD: head}, 1: {Side.BASE: later}}}
