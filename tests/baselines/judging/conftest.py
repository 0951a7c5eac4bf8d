"""A check of one workload whose work is counted."""

from dataclasses import replace

import pytest

from perfledger.records import Side
from tests.baselines.judging.work_evidence.example_work import FINITE, work


@pytest.fixture
def checked(build):
    """A check of one workload whose step time changes by a ratio."""

    def make(*, ratio=1.0, base=FINITE, head=FINITE, counts=None, **values):
        bundle = build.bundle({"m:f": {"step_time_p50": build.changed(ratio)}}, **values)
        evidence = {Side.BASE: base, Side.HEAD: head}
        runs = tuple(replace(run, evidence=evidence[run.side]) for run in bundle.runs)
        works = tuple(
            work(side, *each) for side, each in zip(Side, counts or ((), ()), strict=True)
        )
        return replace(bundle, runs=runs, work=works)

    return make
