from dataclasses import replace

import pytest

from perfledger.kernel_times import WorkloadKernels
from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Revision, Side
from perfledger_service.usecases.history.bundle_observations import observations_in
from tests.baselines.judging.example_kernels import kernel, on_head, scaled, with_kernels, workload


def by_name(bundle):
    return {(one.metric.name, one.side): one for one in observations_in(bundle)}


def test_each_metric_has_one_observation_of_each_side(make_bundle):
    observations = by_name(make_bundle(ratio=2.0))

    assert set(observations) == {
        (metric.name, side) for metric in (STEP_TIME, PEAK_MEMORY) for side in Side
    }
    base, head = (observations[STEP_TIME.name, side] for side in Side)
    assert base.processes == 6
    assert base.low < base.center < base.high
    assert head.center == pytest.approx(2 * base.center, rel=0.01)


def test_the_kernel_families_of_each_side_are_observations_too(make_bundle):
    windows = workload(1, name="gpt:step")
    bmm = on_head(kernel(windows, "attention"), scaled(kernel(windows, "attention").head, 2.0))
    windows = with_kernels(windows, attention=replace(bmm, family="attention → bmm"))
    observations = by_name(make_bundle(kernels=(windows,)))

    names = {name for name, _ in observations if name.startswith("kernel:")}
    assert names == {
        f"kernel:{one}" for one in ("mm", "attention", "bmm", "gelu", "layer_norm", "add")
    }
    base, head = (observations["kernel:mm", side] for side in Side)
    assert (base.processes, len(base.samples)) == (12, 12)
    assert base.low < base.center < base.high
    assert base.center == pytest.approx(0.005, rel=0.02)
    assert head.center == pytest.approx(base.center, rel=0.02)
    assert observations["kernel:bmm", Side.HEAD].center == pytest.approx(0.004, rel=0.05)
    gone = observations["kernel:bmm", Side.BASE]
    assert (gone.low, gone.center, gone.high) == (0.0, 0.0, 0.0)


def test_a_commit_against_itself_has_base_observations_only(make_bundle):
    same = Revision(sha="a" * 40)
    bundle = make_bundle(base=same, head=same, kernels=(workload(1, name="gpt:step"),))

    assert {one.side for one in observations_in(bundle)} == {Side.BASE}


def test_a_workload_without_windows_or_runs_has_no_kernel_families(make_bundle):
    lost = WorkloadKernels(workload="gpt:step", failure="the profiler ended")
    bundle = make_bundle(kernels=(lost, workload(1, name="gpt:other")))

    assert not any(name.startswith("kernel:") for name, _ in by_name(bundle))
