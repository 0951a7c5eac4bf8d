import pytest
from hypothesis import given, settings, strategies as st

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.xla import step_picture
from perfledger_profiles.xla.planes import XEvent, XLine, XPlane
from perfledger_profiles.xla.planes_to_profile import profile_of_planes


def read(*many):
    return profile_of_planes(many, workload="m:f", side=Side.HEAD)


def buckets(step):
    return {b: pytest.approx(s) for b, s in zip(Bucket, step.buckets, strict=True) if s}


def test_each_step_has_its_own_buckets(planes):
    profile = read(
        planes.host(
            planes.line(
                "main",
                planes.event("step", 0, 100, step_num=7),
                planes.event("step", 100, 200, step_num=8),
            )
        ),
        planes.plane(
            "/device:TPU:0",
            planes.line(
                "XLA Ops",
                planes.event("dot.1", 0, 40),
                planes.event("all-reduce.1", 40, 20),
                planes.event("dot.1", 150, 80),
            ),
        ),
    )

    first, second = profile.each_step
    assert (first.number, first.seconds) == (0, pytest.approx(100e-9))
    assert buckets(first) == {
        Bucket.COMPUTE: 40e-9,
        Bucket.COMMUNICATION: 20e-9,
        Bucket.OTHER: 40e-9,
    }
    assert buckets(second) == {Bucket.COMPUTE: 80e-9, Bucket.OTHER: 120e-9}
    assert profile.has_steps


def test_several_devices_make_the_mean_step(planes):
    devices = [
        planes.plane(
            f"/device:TPU:{number}",
            planes.line("XLA Ops", planes.event("dot.1", 0, 40 + 20 * number)),
        )
        for number in range(2)
    ]
    host = planes.host(planes.line("main", planes.event("step", 0, 100, step_num=0)))

    (step,) = read(host, *devices).each_step

    assert buckets(step) == {Bucket.COMPUTE: 50e-9, Bucket.OTHER: 50e-9}


def test_a_loops_parts_have_their_own_buckets(planes):
    host = planes.host(planes.line("main", planes.event("step", 0, 100, step_num=0)))
    device = planes.plane(
        "/device:TPU:0",
        planes.line(
            "XLA Ops",
            planes.event("%while.1 = f32[] while(f32[] %p)", 0, 100),
            planes.event("%all-reduce.1 = f32[] all-reduce(f32[] %p)", 20, 30),
        ),
    )

    (step,) = read(host, device).each_step

    assert buckets(step) == {Bucket.COMPUTE: 70e-9, Bucket.COMMUNICATION: 30e-9}


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["dot", "all-reduce", "copy-done", "infeed", "while", "Memset"]),
        st.integers(0, 300),
        st.integers(0, 120),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow(ci_only=True)
@settings(max_examples=50)
@given(EVENTS, st.lists(st.integers(1, 90), min_size=1, max_size=5))
def test_buckets_sum_to_the_step_and_steps_to_the_profile(events, lengths):
    steps, at = [], 0
    for number, length in enumerate(lengths):
        stats = {"step_num": number}
        steps.append(XEvent(name="step", start_ns=at, end_ns=at + length, stats=stats))
        at += length + 3
    operations = [XEvent(name=name, start_ns=t, end_ns=t + d) for name, t, d in events]
    profile = read(
        XPlane(name="/host:CPU", lines=(XLine(name="main", events=tuple(steps)),)),
        XPlane(name="/device:TPU:0", lines=(XLine(name="XLA Ops", events=tuple(operations)),)),
    )

    for step in profile.each_step:
        assert sum(step.buckets) == pytest.approx(step.seconds, abs=1e-15)
    total = sum(step.seconds for step in profile.each_step)
    assert total == pytest.approx(profile.step_seconds * profile.steps, abs=1e-15)
    shares = [sum(column) for column in zip(*(s.buckets for s in profile.each_step), strict=True)]
    expected = [profile.bucket_seconds()[bucket] * profile.steps for bucket in Bucket]
    assert shares == pytest.approx(expected, abs=1e-15)


def test_the_median_step_is_drawn_lane_by_lane(planes):
    steps = [planes.event("step", at, 100, step_num=n) for n, at in enumerate((0, 100, 200))]
    profile = read(
        planes.host(planes.line("main", *steps, planes.event("PjitFunction(f)", 100, 30))),
        planes.plane(
            "/device:TPU:0",
            planes.line(
                "XLA Ops",
                planes.event("%while.1 = f32[] while(f32[] %p)", 90, 60),
                planes.event("dot.1", 110, 20),
                planes.event("dot.1", 210, 20),
            ),
        ),
    )

    slices = [(s.lane, s.name, s.start_seconds, s.seconds, s.depth) for s in profile.slices]
    assert slices == [
        ("host", "PjitFunction(f)", 0.0, pytest.approx(30e-9), 0),
        ("XLA Ops", "while.1", 0.0, pytest.approx(50e-9), 0),
        ("XLA Ops", "dot.1", pytest.approx(10e-9), pytest.approx(20e-9), 1),
    ]


def test_lanes_of_several_gpus_bear_their_names(planes):
    host = planes.host(planes.line("main", planes.event("step", 0, 100, step_num=0)))
    devices = [
        planes.plane(
            f"/device:GPU:{n}", planes.line("Stream #7(Compute)", planes.event("gemm", 0, 9))
        )
        for n in range(2)
    ]

    profile = read(host, *devices)

    assert {s.lane for s in profile.slices} == {"GPU:0 stream 7", "GPU:1 stream 7"}


def test_a_device_that_did_nothing_is_left_out(planes):
    busy = planes.plane("/device:TPU:0", planes.line("XLA Ops", planes.event("dot.1", 0, 40)))

    profile = read(busy, planes.plane("/device:TPU:1"))

    assert [step.seconds for step in profile.each_step] == [pytest.approx(40e-9)]
    assert {s.lane for s in profile.slices} == {"TPU:0 XLA Ops"}


def test_on_a_cpu_each_thread_is_a_lane(planes):
    profile = read(
        planes.host(
            planes.line("python", planes.event("step", 0, 100, step_num=0)),
            planes.line("tf_XLAEigen/-1163169780", planes.event("dot", 10, 30, hlo_op="dot")),
        )
    )

    assert [(s.lane, s.name) for s in profile.slices] == [("tf_XLAEigen 1", "dot")]


def test_only_the_longest_slices_are_kept(planes, monkeypatch):
    monkeypatch.setattr(step_picture, "MAX_SLICES", 2)
    events = [planes.event(f"op{n}", 20 * n, n + 1) for n in range(4)]
    device = planes.plane("/device:TPU:0", planes.line("XLA Ops", *events))

    assert [s.name for s in read(device).slices] == ["op2", "op3"]
