import pytest

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.xla.planes_to_profile import profile_of_planes

DOT = "%dot.1 = f32[8]{0} dot(f32[8]{0} %a)"
INFEED = "%infeed.1 = f32[8]{0} infeed(token[] %t)"
REDUCE = "%all-reduce.1 = f32[8]{0} all-reduce(f32[8]{0} %a)"
START = "%all-gather-start.3 = f32[8]{0} all-gather-start(f32[8]{0} %a)"
DONE = "%all-gather-done.3 = f32[8]{0} all-gather-done(f32[8]{0} %all-gather-start.3)"
HOST = "f32[8]{0:T(128)S(5)}"
TO_DEVICE = f"%copy-start.4 = (f32[8]{{0}}, {HOST}, u32[]) copy-start({HOST} %p)"
TO_HOST = f"%copy-start.5 = ({HOST}, f32[8]{{0}}, u32[]) copy-start(f32[8]{{0}} %p)"


def read(*many):
    return profile_of_planes(many, workload="m:f", side=Side.HEAD)


def step(planes, length=100):
    return planes.host(planes.line("main", planes.event("step", 0, length, step_num=0)))


def tpu(planes, *operations, asynchronous=(), modules=(), facts=None, number=0):
    return planes.plane(
        f"/device:TPU:{number}",
        planes.line("XLA Modules", *modules),
        planes.line("XLA Ops", *operations),
        planes.line("Async XLA Ops", *asynchronous),
        facts=facts or {},
    )


def test_a_device_is_busy_while_anything_runs_on_it(planes):
    profile = read(step(planes), tpu(planes, planes.event(DOT, 0, 40), planes.event(DOT, 30, 30)))

    assert profile.reading("gpu_busy") == pytest.approx(0.6)


def test_waiting_for_input_is_not_duty(planes):
    operations = [planes.event(DOT, 0, 40), planes.event(INFEED, 50, 30)]
    modules = [planes.event("jit_f(1)", 0, 90)]

    profile = read(step(planes), tpu(planes, *operations, modules=modules))

    assert profile.reading("duty_cycle") == pytest.approx(0.4)
    assert profile.reading("gpu_busy") == pytest.approx(0.7)
    assert profile.reading("input_wait_frac") == pytest.approx(0.3)
    assert profile.bucket_seconds()[Bucket.INPUT] == pytest.approx(30e-9)


def test_without_steps_duty_is_of_the_time_in_which_programs_ran(planes):
    modules = [planes.event("jit_f(1)", 0, 10), planes.event("jit_f(1)", 70, 30)]
    operations = [planes.event(DOT, 5, 5), planes.event(DOT, 75, 20)]

    profile = read(tpu(planes, *operations, modules=modules))

    assert profile.reading("duty_cycle") == pytest.approx(25 / 100)
    assert profile.reading("gpu_busy") == pytest.approx(25 / 90)
    assert profile.reading("module_runs", subject="TPU:0") == 2.0
    assert not profile.has_steps


def test_each_core_says_how_many_programs_it_ran(planes):
    modules = [planes.event("jit_f(1)", at, 10) for at in (0, 20, 40)]

    profile = read(step(planes), tpu(planes, planes.event(DOT, 0, 60), modules=modules))

    assert profile.reading("module_runs", subject="TPU:0") == 3.0


def test_a_collective_that_runs_alone_is_not_overlapped(planes):
    profile = read(step(planes), tpu(planes, planes.event(REDUCE, 0, 30), planes.event(DOT, 30, 9)))

    assert profile.reading("comm_time") == pytest.approx(30e-9)
    assert profile.reading("comm_overlap") == 0.0


@pytest.mark.parametrize("has_own_line", [True, False])
def test_an_asynchronous_collective_overlaps_what_is_computed_beside_it(planes, has_own_line):
    operations = [
        planes.event(START, 0, 2),
        planes.event(DOT, 2, 40),
        planes.event(DONE, 42, 8),
    ]
    beside = [planes.event(START, 0, 50)] if has_own_line else []

    profile = read(step(planes), tpu(planes, *operations, asynchronous=beside))

    assert profile.reading("comm_time") == pytest.approx(50e-9)
    assert profile.reading("comm_overlap") == pytest.approx(0.8)


def test_without_collectives_nothing_is_said_of_them(planes):
    profile = read(step(planes), tpu(planes, planes.event(DOT, 0, 30)))

    assert profile.reading("comm_time") is None
    assert profile.reading("input_wait_frac") is None


def test_copies_from_and_to_the_host_have_their_time_and_rate(planes):
    beside = [planes.event(TO_DEVICE, 0, 40), planes.event(TO_HOST, 50, 20)]
    facts = {TO_DEVICE: {"bytes_accessed": 4000}}

    profile = read(
        step(planes), tpu(planes, planes.event(DOT, 0, 9), asynchronous=beside, facts=facts)
    )

    assert profile.reading("h2d_time") == pytest.approx(40e-9)
    assert profile.reading("h2d_bw") == pytest.approx(100e9)
    assert profile.reading("d2h_time") == pytest.approx(20e-9)
    assert profile.reading("d2h_bw") is None


def test_a_gpus_copies_say_how_much_they_move(planes):
    details = "kind_src:pinned kind_dst:device size:5000 dest:0 async:1"
    stream = planes.line(
        "Stream #14(MemcpyH2D)", planes.event("MemcpyH2D", 10, 50, memcpy_details=details)
    )

    profile = read(step(planes), planes.plane("/device:GPU:0", stream))

    assert profile.reading("h2d_time") == pytest.approx(50e-9)
    assert profile.reading("h2d_bw") == pytest.approx(100e9)
    assert profile.reading("duty_cycle") is None


def test_the_work_of_all_devices_is_summed_when_all_of_it_is_known(planes):
    facts = {DOT: {"model_flops": 128, "flops": 256}}
    devices = [
        tpu(planes, planes.event(DOT, 0, 9), planes.event(DOT, 20, 9), facts=facts, number=n)
        for n in range(2)
    ]

    assert read(step(planes), *devices).reading("model_flops_per_step") == 512.0


def test_work_that_is_known_in_part_is_not_summed(planes):
    facts = {DOT: {"flops": 256}}
    device = tpu(planes, planes.event(DOT, 0, 9), planes.event("custom", 20, 9), facts=facts)

    assert read(step(planes), device).reading("model_flops_per_step") is None


def test_the_host_alone_has_no_readings(planes):
    profile = read(planes.host(planes.line("pool", planes.event("dot", 10, 30, hlo_op="dot"))))

    assert profile.readings == ()
    assert profile.device is None


def test_an_instruction_that_names_no_start_is_told_at_once(planes):
    endless = "%all-gather-done.3 = f32[8] all-gather-done(" + "-done(" * 200_000

    profile = read(step(planes), tpu(planes, planes.event(endless, 0, 10)))

    assert profile.reading("comm_time") is not None


def test_copies_of_which_some_do_not_say_what_they_move_have_no_rate(planes):
    copies = [
        planes.event("MemcpyH2D", 10, 50, memcpy_details="size:5000 dest:0"),
        planes.event("MemcpyH2D", 70, 20),
    ]
    stream = planes.line("Stream #14(MemcpyH2D)", *copies)

    profile = read(step(planes), planes.plane("/device:GPU:0", stream))

    assert profile.reading("h2d_time") == pytest.approx(70e-9)
    assert profile.reading("h2d_bw") is None
