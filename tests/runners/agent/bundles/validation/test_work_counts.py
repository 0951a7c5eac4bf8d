"""Counted work in a bundle: read as it was written, and refused where it makes no sense."""

import json
from dataclasses import replace

import pytest

from perfledger.bundle import Bundle, Plan
from perfledger.records import Device, Machine, Revision, Side, WorkloadSpec
from perfledger.step_work import (
    FLOPS,
    Count,
    CountedWork,
    StepWork,
)
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.value_checks import BundleError

COUNT = Count(name=FLOPS, unit="FLOP", value=1.2e9, source="a counter")
COUNTED = CountedWork(
    workload="m:f",
    side=Side.BASE,
    work=StepWork(counts=(COUNT,), limits=("a loop",), program="a" * 64),
)
BUNDLE = Bundle(
    id="0123456789abcdef" * 2,
    created_at="2026-11-20T12:00:00+00:00",
    base=Revision(sha="a" * 40),
    head=Revision(sha="b" * 40),
    machine=Machine(device=Device.CPU, model="a CPU"),
    plan=Plan(seed=7, order=(), looks=(4, 8)),
    workloads=(WorkloadSpec(id="m:f", module="m", function="f"),),
    metrics=(),
    runs=(),
    work=(COUNTED,),
)


def written(bundle):
    return bundle.to_json().encode()


def with_work(**changes):
    return replace(BUNDLE, work=(replace(COUNTED, work=replace(COUNTED.work, **changes)),))


def test_counted_work_is_read_as_it_was_written():
    assert read_bundle(written(BUNDLE)) == BUNDLE


def test_a_bundle_from_before_work_was_counted_is_read():
    document = json.loads(written(BUNDLE))
    del document["work"]

    assert read_bundle(json.dumps(document).encode()).work == ()


@pytest.mark.parametrize(
    ("bundle", "complaint"),
    [
        (replace(BUNDLE, work=(COUNTED, COUNTED)), r"^work: a duplicate side"),
        (
            replace(BUNDLE, work=(replace(COUNTED, workload="other"),)),
            r"^work\[0\]\.workload",
        ),
        (with_work(counts=(COUNT, COUNT)), r"^work\[0\]\.work\.counts: a duplicate name"),
        (with_work(counts=(replace(COUNT, value=-1.0),)), "'flops_per_step' is not a count"),
        (with_work(counts=(replace(COUNT, value=1e39),)), "'flops_per_step' is not a count"),
        (
            with_work(counts=tuple(replace(COUNT, name=str(n)) for n in range(101))),
            r"^work\[0\]\.work: more than 100 counts",
        ),
        (with_work(limits=("x",) * 21), r"^work\[0\]\.work: more than 100 counts or 20"),
        (with_work(limits=("x" * 4001,)), r"^work\[0\]\.work\.limits\[0\]: a text of more"),
        (with_work(program="x" * 301), r"^work\[0\]\.work\.program: a text of more than 300"),
    ],
)
def test_counts_that_make_no_sense_are_refused(bundle, complaint):
    with pytest.raises(BundleError, match=complaint):
        read_bundle(written(bundle))
