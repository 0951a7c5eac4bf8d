from dataclasses import replace

import pytest

from perfledger.kernel_times import WorkloadKernels
from perfledger.metrics import PEAK_MEMORY, STEP_TIME, STEP_TIME_P95
from perfledger.records import Revision, Side
from perfledger_runners.bundles.validation import check_bundle
from perfledger_service.usecases.history.bundle_observations import observations_in, series_names
from tests.baselines.judging.example_kernels import kernel, on_head, scaled, with_kernels, workload
from tests.service.conftest import METRICS


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


def test_a_time_of_zero_is_left_out_and_leaves_a_tail_without_a_value(make_bundle):
    bundle = make_bundle(samples=20, metrics=(*METRICS, STEP_TIME_P95))
    run = bundle.runs[3]
    times = (0.0, *run.samples[STEP_TIME.name][1:])
    runs = list(bundle.runs)
    runs[3] = replace(run, samples={**run.samples, STEP_TIME.name: times})

    check_bundle(replace(bundle, runs=tuple(runs)))
    whole_observations, zero = by_name(bundle), by_name(replace(bundle, runs=tuple(runs)))

    assert whole_observations.keys() - zero.keys() == {(STEP_TIME_P95.name, run.side)}
    assert (
        zero[STEP_TIME.name, run.side].processes
        == whole_observations[STEP_TIME.name, run.side].processes
    )
    assert zero[STEP_TIME.name, run.side].center == pytest.approx(
        whole_observations[STEP_TIME.name, run.side].center, rel=0.01
    )


def test_a_commit_against_itself_has_base_observations_only(make_bundle):
    same = Revision(sha="a" * 40)
    bundle = make_bundle(base=same, head=same, kernels=(workload(1, name="gpt:step"),))

    assert {one.side for one in observations_in(bundle)} == {Side.BASE}


def test_a_workload_without_windows_or_runs_has_no_kernel_families(make_bundle):
    lost = WorkloadKernels(workload="gpt:step", failure="the profiler ended")
    bundle = make_bundle(kernels=(lost, workload(1, name="gpt:other")))

    assert not any(name.startswith("kernel:") for name, _ in by_name(bundle))


def test_the_center_of_many_processes_is_theirs_and_not_their_samples(make_bundle):
    """One process with many samples weighs as much as one with few."""
    bundle = make_bundle(pairs=4, samples=3, ratio=1.0)
    first = replace(
        bundle.runs[0], samples={**bundle.runs[0].samples, "step_time_p50": (0.02,) * 300}
    )
    observations = observations_in(replace(bundle, runs=(first, *bundle.runs[1:])))

    [base] = [one for one in observations if one.side == "base" and one.metric.unit == "s"]
    assert base.processes == 4
    assert base.center == pytest.approx(0.01 * 2**0.25, rel=0.01)
    assert len(base.samples) == 309


def test_a_base_has_its_place_before_its_head_whichever_was_measured_first(make_bundle):
    bundle = make_bundle(pairs=4)
    head_first = tuple(sorted(bundle.runs, key=lambda run: run.side, reverse=True))

    observations = observations_in(replace(bundle, runs=head_first))

    assert observations[0].sha == bundle.base.sha


def test_counts_of_zero_have_a_center(make_bundle):
    bundle = make_bundle()
    metric = bundle.metrics[0]
    exact = replace(metric, name="flops_per_step", unit="FLOP", scale="exact", kind="work")
    runs = tuple(replace(run, samples={exact.name: (0.0,)}) for run in bundle.runs)
    observations = observations_in(replace(bundle, metrics=(exact,), runs=runs))

    assert {(one.low, one.center, one.high) for one in observations} == {(0.0, 0.0, 0.0)}


def test_the_series_of_a_bundle_are_those_of_its_observations(make_bundle):
    bundle = make_bundle(workloads=("gpt:step", "vit:step"))
    of_observations = {
        (one.workload, one.metric.name, one.machine_class) for one in observations_in(bundle)
    }

    assert series_names(bundle) == of_observations
