"""Tests achieved FLOP/s, their share of a device's peak, and throughput, on made-up bundles."""

from dataclasses import replace

import pytest

from perfledger.metrics import FLOPS_PER_STEP, STEP_TIME
from perfledger.records import Device, Machine, Side, WorkloadSpec
from perfledger.step_work import FLOPS, Count, CountedWork, StepWork
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_service.usecases.cost.work_rates import throughput, work_rates

H100 = Machine(
    device=Device.CUDA,
    model="NVIDIA H100 80GB HBM3",
    memory_bytes=85_520_809_984,
    cpu_model="A Xeon",
)
H100_PEAK = 989.4e12
TOKENS = WorkloadSpec(
    id="gpt:step", module="gpt", function="step", unit="tokens", units_per_step=8.0
)


def counted(bundle, *, base=4e12, head=4e12):
    """Return the bundle with the FLOPs of a step, read in every process."""
    flops = {Side.BASE: base, Side.HEAD: head}
    runs = tuple(
        replace(run, samples=dict(run.samples) | {FLOPS_PER_STEP.name: (flops[run.side],)})
        for run in bundle.runs
    )
    return replace(bundle, runs=runs, metrics=(*bundle.metrics, FLOPS_PER_STEP))


def on_device(bundle, device, devices=1):
    runs = tuple(replace(run, device=device, devices=devices) for run in bundle.runs)
    return replace(bundle, runs=runs)


def rates(bundle):
    return work_rates(bundle, judge_bundle(bundle))


def test_the_rate_is_the_work_of_a_step_over_its_time(make_bundle):
    (rate,) = rates(counted(make_bundle(ratio=1.25), base=4e12, head=6e12))

    assert (rate.base_flops, rate.head_flops) == (4e12, 6e12)
    assert rate.base_flops_per_second == pytest.approx(4e12 / 0.01, rel=1e-3)
    assert rate.head_flops_per_second == pytest.approx(6e12 / 0.0125, rel=1e-3)


@pytest.mark.parametrize(
    ("machine", "peak"),
    [
        pytest.param(H100, H100_PEAK, id="a device whose peak is known"),
        pytest.param(replace(H100, count=2), 2 * H100_PEAK, id="two of them"),
        pytest.param(replace(H100, mig="1g.10gb"), None, id="a part of it"),
        pytest.param(replace(H100, model="NVIDIA H999"), None, id="an unknown device"),
        pytest.param(Machine(device=Device.CPU, model="Test CPU"), None, id="a CPU"),
    ],
)
def test_the_peak_is_that_of_whole_known_devices(make_bundle, machine, peak):
    (rate,) = rates(counted(make_bundle(machine=machine)))

    assert rate.peak_flops_per_second == (peak and pytest.approx(peak, rel=1e-3))


def test_the_peak_is_of_the_devices_that_the_step_ran_on(make_bundle):
    bundle = counted(make_bundle(machine=replace(H100, count=8)))

    (one,) = rates(on_device(bundle, Device.CUDA))
    (two,) = rates(on_device(bundle, Device.CUDA, devices=2))
    (host,) = rates(on_device(bundle, Device.CPU))

    assert one.peak_flops_per_second == pytest.approx(H100_PEAK)
    assert two.peak_flops_per_second == pytest.approx(2 * H100_PEAK)
    assert host.peak_flops_per_second is None


def test_a_capped_boards_peak_is_at_the_clock_that_it_was_timed_at(make_bundle):
    bundle = counted(make_bundle(machine=replace(H100, power_cap_w=350.0)))

    peaks = []
    for clock_mhz in (None, 600.0, 1200.0):
        runs = tuple(replace(run, clock_mhz=clock_mhz) for run in bundle.runs)
        (rate,) = rates(replace(bundle, runs=runs))
        peaks.append(rate.peak_flops_per_second)

    unknown, half, full = peaks
    assert unknown is None
    assert full < H100_PEAK
    assert half == pytest.approx(full / 2)


def test_work_counted_before_it_ran_counts_as_well(make_bundle):
    work = tuple(
        CountedWork(
            workload="gpt:step",
            side=side,
            work=StepWork(counts=(Count(name=FLOPS, unit="FLOP", value=flops, source="a"),)),
        )
        for side, flops in ((Side.BASE, 4e12), (Side.HEAD, 8e12))
    )

    (rate,) = rates(make_bundle(work=work))

    assert (rate.base_flops, rate.head_flops) == (4e12, 8e12)


def test_work_that_nobody_counted_or_timed_has_no_rate(make_bundle):
    bundle = counted(make_bundle())
    untimed = [verdict for verdict in judge_bundle(bundle) if verdict.metric != STEP_TIME]

    assert rates(make_bundle()) == ()
    assert untimed != []
    assert work_rates(bundle, untimed) == ()


def test_throughput_is_units_per_second_of_one_device(make_bundle):
    bundle = make_bundle(ratio=2.0)

    one = throughput(bundle, TOKENS, devices=1)
    eight = throughput(bundle, TOKENS, devices=8)

    assert one is not None
    low, typical, high = one
    assert low < typical < high
    assert typical == pytest.approx(8.0 / 0.02, rel=1e-3)
    assert eight == pytest.approx(tuple(speed / 8 for speed in one))


def test_one_process_has_no_throughput(make_bundle):
    assert throughput(make_bundle(pairs=1), TOKENS, devices=1) is None
    assert throughput(make_bundle(workloads=("other:step",)), TOKENS, devices=1) is None


def test_a_step_of_no_time_has_no_throughput(make_bundle):
    bundle = make_bundle()
    runs = tuple(replace(run, samples={STEP_TIME.name: (0.0,)}) for run in bundle.runs)

    assert throughput(replace(bundle, runs=runs), TOKENS, devices=1) is None
