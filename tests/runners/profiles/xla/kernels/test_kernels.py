import pytest

from perfledger.profile import OperationFamily
from perfledger.records import Side
from perfledger_profiles.timeline import kernel_table
from perfledger_profiles.xla.planes_to_profile import profile_of_planes

ADD = "%add_fusion = f32[8]{0} fusion(f32[8]{0} %p), kind=kLoop"
FACTS = {"flops": 100, "bytes_accessed": 800, "hlo_category": "loop fusion"}


def read(*many):
    return profile_of_planes(many, workload="m:f", side=Side.HEAD)


def host(planes, *steps):
    events = [planes.event("step", at, 100, step_num=n) for n, at in enumerate(steps)]
    return planes.host(planes.line("main", *events))


def rows(profile):
    return {kernel.name: kernel for kernel in profile.kernels}


def tpu(planes, *operations, number=0, facts=None, modules=()):
    return planes.plane(
        f"/device:TPU:{number}",
        planes.line("XLA Modules", *modules),
        planes.line("XLA Ops", *operations),
        facts=facts or {},
    )


def test_an_operation_is_a_row_per_step_and_device(planes):
    devices = [
        tpu(
            planes,
            planes.event(ADD, 10, 20),
            planes.event(ADD, 110, 20 + 20 * number),
            number=number,
            facts={ADD: FACTS},
        )
        for number in range(2)
    ]

    (kernel,) = read(host(planes, 0, 100), *devices).kernels

    assert (kernel.name, kernel.family) == ("add_fusion", OperationFamily.ELEMENTWISE)
    assert kernel.seconds == pytest.approx(25e-9)
    assert (kernel.count, kernel.flops, kernel.bytes) == (1.0, 100.0, 800.0)
    assert kernel.is_tensor is False


def test_the_devices_own_picoseconds_count(planes):
    event = planes.event(ADD, 10, 20, device_duration_ps=20_400)

    (kernel,) = read(host(planes, 0), tpu(planes, event)).kernels

    assert kernel.seconds == pytest.approx(20.4e-9)


def test_a_loop_has_the_time_that_its_parts_leave_and_computes_nothing(planes):
    loop = "%while.1 = f32[8]{0} while(f32[8]{0} %p), body=%b"
    operations = [planes.event(loop, 0, 60), *(planes.event(ADD, 10 + 20 * n, 15) for n in (0, 1))]
    facts = {ADD: FACTS, loop: {"flops": 200, "bytes_accessed": 1}}

    kernels = rows(read(host(planes, 0), tpu(planes, *operations, facts=facts)))

    assert kernels["while.1"].seconds == pytest.approx(30e-9)
    assert kernels["while.1"].flops == 0.0
    assert (kernels["add_fusion"].count, kernels["add_fusion"].flops) == (2.0, 200.0)


@pytest.mark.parametrize("value", [None, -1, float("nan"), float("inf"), "many"])
def test_a_count_that_is_none_is_unknown(planes, value):
    facts = {ADD: {} if value is None else {"flops": value}}

    (kernel,) = read(host(planes, 0), tpu(planes, planes.event(ADD, 0, 20), facts=facts)).kernels

    assert (kernel.flops, kernel.bytes) == (None, None)


def test_two_programs_operations_by_one_name_bear_their_programs(planes):
    modules = [planes.event("jit_f(1)", 0, 30), planes.event("jit_g(2)", 40, 30)]
    operations = [planes.event(ADD, 0, 20), planes.event(ADD, 40, 10)]

    kernels = rows(read(host(planes, 0), tpu(planes, *operations, modules=modules)))

    assert set(kernels) == {"jit_f:add_fusion", "jit_g:add_fusion"}


DETAILS = "regs:168 static_shared:1024 dynamic_shared:2048 grid:20,4,1 block:128,1,1 occ_pct:18.75"


def gpu(planes, *kernels, **more):
    return planes.plane("/device:GPU:0", planes.line("Stream #13(Compute)", *kernels), **more)


def test_a_gpus_kernel_has_its_launch(planes):
    kernels = [
        planes.event("gemm", 0, 20, kernel_details=DETAILS, hlo_op="dot.1", hlo_module="jit_f"),
        planes.event("gemm", 30, 20, kernel_details=DETAILS, hlo_op="dot.2", hlo_module="jit_f"),
        planes.event("gemm", 60, 20, kernel_details=DETAILS.replace("20,4,1", "9,1,1")),
    ]

    found_kernels = {
        kernel.grid: kernel for kernel in read(host(planes, 0), gpu(planes, *kernels)).kernels
    }

    assert set(found_kernels) == {"20,4,1", "9,1,1"}
    kernel = found_kernels["20,4,1"]
    assert (kernel.count, kernel.block, kernel.registers) == (2.0, "128,1,1", 168)
    assert (kernel.shared_memory_bytes, kernel.flops, kernel.is_tensor) == (3072, None, None)
    assert kernel.family is OperationFamily.GEMM


@pytest.mark.parametrize(
    "details", ["", "regs grid:", "grid:1e9,1,1 regs:-1", "block:" + "9" * 400, "\x00"]
)
def test_a_launch_that_makes_no_sense_is_unknown(planes, details):
    event = planes.event("gemm", 0, 20, kernel_details=details)

    (kernel,) = read(host(planes, 0), gpu(planes, event)).kernels

    assert (kernel.grid, kernel.block) == ("", "")
    assert kernel.registers is kernel.shared_memory_bytes is None


def test_only_the_longest_are_kept_and_all_calls_of_their_names(planes, monkeypatch):
    monkeypatch.setattr(kernel_table, "MAX_KERNELS", 2)
    calls = [("kernelc", "grid:1,1,1", 40), ("kernelb", "grid:1,1,1", 35)]
    calls += [("kernelc", "grid:2,1,1", 20), ("kernelc", "grid:3,1,1", 10), ("kernela", "", 5)]
    events = [
        planes.event(name, 50 * place, length, kernel_details=details)
        for place, (name, details, length) in enumerate(calls)
    ]

    kernels = read(host(planes, 0), gpu(planes, *events)).kernels

    assert [(kernel.name, kernel.grid, round(kernel.seconds * 1e9)) for kernel in kernels] == [
        ("kernelc", "1,1,1", 40),
        ("kernelb", "1,1,1", 35),
        ("kernelc", "", 30),
    ]
