"""Steps of jitted functions whose caller does not wait for them in each step."""

import pytest

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.timeline.breakdown import BETWEEN_KERNELS
from perfledger_profiles.timeline.device_windows import AHEAD, UNKNOWN_DEVICES, UNKNOWN_STEPS
from perfledger_profiles.xla.planes_to_profile import profile_of_planes
from perfledger_profiles.xla.step_windows import OWN_STEPS

US = 1000


def read(*many):
    return profile_of_planes(many, workload="m:f", side=Side.HEAD)


@pytest.fixture
def ahead(planes):
    """Return a function that makes four steps, of 10 us on the host and 400 us on a GPU each."""

    def make(
        *, is_linked=True, lane="Stream #14(Compute)", device="/device:GPU:0", own=(), copies_at=()
    ):
        host, kernels, copies = [], [], []
        for number in range(4):
            begin = 10 * US * number
            host.append(planes.event("step", begin, 10 * US, step_num=number))
            host.append(planes.event("PjitFunction(f)", begin + US, 8 * US))
            for place in range(2):
                link = {"correlation_id": 2 * number + place + 1} if is_linked else {}
                name = f"loop_fusion_{place}"
                host.append(planes.event(name, begin + 2 * US + place, 1, **link))
                at = (5 + 400 * number + 200 * place) * US
                kernels.append(planes.event(name, at, 199 * US, **link))
        for number, at in enumerate(copies_at):
            link = {"correlation_id": 100 + number}
            host.append(planes.event("cuMemcpyAsync", 10 * US * number + 2 * US + 5, 1, **link))
            details = {"memcpy_details": "kind_src:pinned size:1000"}
            copies.append(planes.event("MemcpyH2D", at, 10 * US, **link, **details))
        host.append(planes.event("BlockHostUntilReady", 41 * US, 1600 * US))
        lines = [planes.line(lane, *kernels)]
        lines += [planes.line("Stream #15(MemcpyH2D)", *copies)] if copies else []
        lines += [planes.line("Steps", *own)] if own else []
        return planes.host(planes.line("python3", *host)), planes.plane(device, *lines)

    return make


def test_a_gpus_steps_last_until_the_work_that_they_launched_has_ended(ahead):
    profile = read(*ahead())

    assert [step.seconds for step in profile.each_step] == pytest.approx([400e-6] * 3)
    assert {kernel.name: kernel.count for kernel in profile.kernels} == {
        "loop_fusion_0": 1,
        "loop_fusion_1": 1,
    }
    assert profile.notes == (AHEAD.format(2, "s"),)
    assert profile.has_steps


def test_work_is_of_the_step_that_launched_it_though_another_one_runs_meanwhile(ahead):
    """Each batch is copied while the device works on the step before."""
    profile = read(*ahead(copies_at=[4 * US, *(at * US for at in (50, 450, 850))]))

    (copy,) = (kernel for kernel in profile.kernels if kernel.name == "MemcpyH2D")
    assert (copy.count, copy.seconds) == (1.0, pytest.approx(10e-6))
    (counted,) = (one for one in profile.operations if one.name == "MemcpyH2D")
    assert counted.count == copy.count
    assert profile.reading("h2d_bw") == pytest.approx(1000 / 10e-6)


def test_copies_ahead_of_their_steps_do_not_raise_the_bandwidth(ahead):
    profile = read(*ahead(copies_at=[at * US for at in (4, 15, 25, 450)]))

    assert profile.reading("h2d_bw") == pytest.approx(1000 / 10e-6)


def test_the_gaps_between_launched_kernels_are_the_devices(ahead):
    profile = read(*ahead())

    times = {operation.name: operation.seconds for operation in profile.operations}
    assert times[BETWEEN_KERNELS.name] == pytest.approx(2e-6)
    assert profile.bucket_seconds()[Bucket.SYNC] == 0
    assert classify(profile).primary is not Bottleneck.HOST
    counts = {operation.name: operation.count for operation in profile.operations}
    assert counts["PjitFunction(f)"] == 1


def test_without_links_a_device_that_works_on_has_its_own_steps(ahead, planes):
    own = [planes.event(str(number), (5 + 400 * number) * US, 400 * US) for number in range(4)]

    profile = read(*ahead(is_linked=False, lane="XLA Ops", device="/device:TPU:0", own=own))

    assert [step.seconds for step in profile.each_step] == pytest.approx([400e-6] * 3)
    assert profile.notes == (OWN_STEPS,)


def test_without_links_and_own_steps_the_step_is_unknown(ahead):
    profile = read(*ahead(is_linked=False))

    assert (profile.has_steps, profile.steps) == (False, 1)
    assert profile.step_seconds == pytest.approx(1.599e-3)
    assert profile.notes == (UNKNOWN_STEPS,)


@pytest.mark.parametrize(("late_us", "has_steps"), [(100, True), (101, False)])
def test_clocks_that_differ_by_less_than_a_step_keep_the_markers(planes, late_us, has_steps):
    host = [planes.event("step", 100 * US * n, 100 * US, step_num=n) for n in range(3)]
    operation = planes.event("dot", 250 * US, (50 + late_us) * US)

    profile = read(
        planes.host(planes.line("main", *host)),
        planes.plane("/device:TPU:0", planes.line("XLA Ops", operation)),
    )

    assert profile.has_steps is has_steps


@pytest.mark.parametrize(("inside_us", "has_steps"), [(1, False), (4, True)])
def test_work_after_a_pause_is_of_the_steps_if_these_hold_none(planes, inside_us, has_steps):
    host = [planes.event("step", 100 * US * n, 100 * US, step_num=n) for n in range(3)]
    operations = [
        planes.event("dot", 10 * US, inside_us * US, hlo_op="dot"),
        planes.event("dot", 400 * US, 200 * US, hlo_op="dot"),
    ]

    profile = read(
        planes.host(planes.line("python", *host), planes.line("tf_XLAEigen/1", *operations))
    )

    assert profile.has_steps is has_steps


def test_operations_of_a_cpu_that_end_long_after_the_markers_are_of_no_known_step(planes):
    host = [planes.event("step", 10 * US * n, 10 * US, step_num=n) for n in range(3)]
    operations = [planes.event("dot", 100 * US * n + 5, 100 * US, hlo_op="dot") for n in range(3)]

    profile = read(
        planes.host(planes.line("python", *host), planes.line("tf_XLAEigen/1", *operations))
    )

    assert (profile.has_steps, profile.notes) == (False, (UNKNOWN_STEPS,))


def test_a_device_of_unknown_steps_is_left_out_of_the_mean(ahead):
    host, linked = ahead()
    _, unlinked = ahead(is_linked=False, device="/device:GPU:1")

    profile = read(host, linked, unlinked)

    assert (profile.has_steps, profile.steps) == (True, 3)
    assert profile.step_seconds == pytest.approx(400e-6)
    assert profile.notes == (AHEAD.format(2, "s"), UNKNOWN_DEVICES.format(1, 2))
