import pytest

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS
from perfledger_profiles.timeline.idle_reasons import IDLE_WAITS
from perfledger_profiles.xla.host_events import XLA_RUNTIME
from perfledger_profiles.xla.planes_to_profile import profile_of_planes
from perfledger_profiles.xla.step_windows import NO_STEPS


def read(*many, **more):
    return profile_of_planes(many, workload="m:f", side=Side.HEAD, **more)


def nanos(profile):
    return {o.name: pytest.approx(o.seconds * 1e9) for o in profile.operations}


def test_on_a_cpu_operations_run_on_threads_and_the_later_one_wins(planes):
    profile = read(
        planes.host(
            planes.line("python", planes.event("step", 0, 100, step_num=0)),
            planes.line(
                "tf_XLAEigen/1",
                planes.event("dot.1", 10, 50, hlo_op="dot.1", hlo_module="jit_f"),
            ),
            planes.line(
                "tf_XLAEigen/2",
                planes.event("tanh", 40, 10, hlo_op="tanh", hlo_module="jit_f"),
            ),
        )
    )

    assert nanos(profile) == {"dot.1": 40, "tanh": 10, OUTSIDE_OPERATIONS: 50}
    assert {o.path for o in profile.operations} == {"jit_f", ""}
    assert profile.tool == "jax.profiler"


def test_an_operation_goes_on_until_its_linked_end(planes):
    profile = read(
        planes.host(
            planes.line("python", planes.event("step", 0, 100, step_num=0)),
            planes.line("pool/1", planes.event("dot", 10, 5, hlo_op="dot", _p=7)),
            planes.line("pool/2", planes.event("end: dot", 70, 1, _c=7)),
            planes.line("pool/3", planes.event("end: add", 90, 1, _c=8)),
        )
    )

    assert nanos(profile) == {"dot": 60, OUTSIDE_OPERATIONS: 40}


def test_compiling_in_the_step_is_named_after_the_function(planes):
    profile = read(
        planes.host(
            planes.line(
                "python",
                planes.event("step", 0, 100, step_num=0),
                planes.event("PjitFunction(<lambda>)", 5, 80),
                planes.event("PjitFunction(<lambda>)", 6, 78),
                planes.event("PjitFunction(matmul)", 10, 5),
                planes.event("lower_sharding_computation", 20, 10),
                planes.event("backend_compile_and_load", 30, 40),
                planes.event("PjRtCpuClient::Compile", 40, 20),
                planes.event("dce", 41, 2),
            ),
            planes.line("tf_xla-cpu-codegen/1", planes.event("FusionCompiler::Compile", 35, 30)),
        )
    )

    assert nanos(profile) == {
        "(compiling) <lambda>": 40,
        "(tracing) <lambda>": 40,
        OUTSIDE_OPERATIONS: 20,
    }
    assert {o.name: (o.bucket, o.count) for o in profile.operations} == {
        "(compiling) <lambda>": (Bucket.RUNTIME, 1.0),
        "(tracing) <lambda>": (Bucket.RUNTIME, 1.0),
        OUTSIDE_OPERATIONS: (Bucket.OTHER, 0.0),
    }


def test_a_call_that_does_not_compile_stands_for_all_inside_it(planes):
    profile = read(
        planes.host(
            planes.line(
                "python",
                planes.event("step", 0, 100, step_num=0),
                planes.event("PjitFunction(f)", 0, 30),
                planes.event("PjitFunction(f)", 1, 28),
                planes.event("ParseArguments", 2, 5),
                planes.event("$train.py:7 step", 0, 100),
                planes.event("np.asarray(jax.Array)", 40, 10),
                planes.event("CommonPjRtBuffer::Await", 50, 50),
            ),
            planes.line("pool", planes.event("ThunkExecutor::Execute", 60, 20)),
        )
    )

    assert nanos(profile) == {
        "PjitFunction(f)": 30,
        "np.asarray(jax.Array)": 10,
        XLA_RUNTIME: 50,
        OUTSIDE_OPERATIONS: 10,
    }
    counts = {o.name: o.count for o in profile.operations}
    assert counts["PjitFunction(f)"] == 1.0
    assert counts[XLA_RUNTIME] == 0.0


def test_a_copy_that_xlas_thread_prepares_is_an_operation_of_the_host(planes):
    profile = read(
        planes.host(
            planes.line("python3", planes.event("step", 0, 100, step_num=0)),
            planes.line(
                "pjrt_async_work_runner/1",
                planes.event("H2D Dispatch", 10, 60),
                planes.event("Transpose::Execute", 11, 58),
            ),
        ),
        planes.plane(
            "/device:GPU:0",
            planes.line("Stream #15(MemcpyH2D)", planes.event("MemcpyH2D", 70, 20)),
        ),
    )

    assert nanos(profile) == {"H2D Dispatch": 60, "MemcpyH2D": 20, OUTSIDE_OPERATIONS: 20}
    prepared = next(one for one in profile.operations if one.name == "H2D Dispatch")
    assert (prepared.bucket, prepared.count) == (Bucket.RUNTIME, 1.0)


def test_compiling_outside_of_any_function_is_still_compiling(planes):
    profile = read(
        planes.host(
            planes.line(
                "python",
                planes.event("step", 0, 10, step_num=0),
                planes.event("backend_compile", 0, 10),
            )
        )
    )

    assert nanos(profile) == {"(compiling)": 10}


def test_a_tpus_operations_take_their_module_and_the_devices_are_averaged(planes):
    dot = "%dot.1 = f32[8,8]{1,0} dot(f32[8,8]{1,0} %a, f32[8,8]{1,0} %b)"
    host = planes.host(planes.line("main", planes.event("step", 0, 100, step_num=3)))
    devices = [
        planes.plane(
            f"/device:TPU:{number}",
            planes.line("XLA Modules", planes.event("jit_f(1219)", 10, 60)),
            planes.line("XLA Ops", planes.event(dot, 10, 40 + 20 * number)),
            planes.line("Async XLA Ops", planes.event("%copy-start = u32[] copy-start()", 0, 100)),
        )
        for number in range(2)
    ]

    profile = read(host, *devices, planes.plane("/device:TPU:0 SparseCore 1"))

    assert nanos(profile) == {"dot.1": 50, OUTSIDE_OPERATIONS: 50}
    (operation,) = [o for o in profile.operations if o.name == "dot.1"]
    assert (operation.path, operation.shapes, operation.count) == ("jit_f", "f32[8,8]", 1.0)
    assert profile.steps == 1


def test_a_device_is_chosen_by_its_number_and_the_process_is_rank_0(planes):
    host = planes.host(planes.line("main", planes.event("step", 0, 100, step_num=3)))
    devices = [
        planes.plane(
            f"/device:TPU:{number}",
            planes.line("XLA Ops", planes.event("dot.1", 10, 40 + 20 * number)),
        )
        for number in range(2)
    ]

    def dot_of(choice):
        return nanos(read(host, *devices, choice=choice))["dot.1"]

    chosen = [DeviceChoice(device=number, rank=rank) for number, rank in ((0, None), (1, 0))]
    assert [dot_of(choice) for choice in chosen] == [40, 60]
    for choice in (DeviceChoice(device=2), DeviceChoice(rank=1)):
        with pytest.raises(ProfileError, match="choose from TPU:0, TPU:1, all of rank 0"):
            read(host, *devices, choice=choice)


def test_a_gpus_kernels_are_at_the_place_of_their_operation(planes):
    profile = read(
        planes.host(planes.line("python", planes.event("step", 0, 100, step_num=0))),
        planes.plane(
            "/device:GPU:0",
            planes.line(
                "Stream #13(Compute)",
                planes.event("sm90_gemm", 0, 40, hlo_module="jit_f", hlo_op="dot.2"),
                planes.event("nccl_kernel", 50, 10, hlo_module="jit_f", hlo_op="all-reduce.1"),
                planes.event("fused", 60, 10, hlo_module="jit_f", hlo_op="all-gather.1"),
            ),
            planes.line("Stream #14(MemcpyD2H)", planes.event("MemcpyD2H", 30, 30)),
            planes.line("XLA Ops", planes.event("dot.2", 0, 100)),
        ),
    )

    operations = {o.name: (o.seconds, o.bucket, o.path) for o in profile.operations}
    assert operations == {
        "sm90_gemm": (pytest.approx(40e-9), Bucket.COMPUTE, "jit_f/dot.2"),
        "nccl_kernel": (pytest.approx(10e-9), Bucket.COMMUNICATION, "jit_f/all-reduce.1"),
        "fused": (pytest.approx(10e-9), Bucket.COMMUNICATION, "jit_f/all-gather.1"),
        "MemcpyD2H": (pytest.approx(10e-9), Bucket.COPY, ""),
        OUTSIDE_OPERATIONS: (pytest.approx(30e-9), Bucket.OTHER, ""),
    }


def test_without_annotations_a_devices_own_steps_are_taken(planes):
    profile = read(
        planes.plane(
            "/device:TPU:0",
            planes.line(
                "Steps",
                planes.event("0", 0, 30),
                planes.event("1", 100, 10),
                planes.event("2", 200, 20),
            ),
            planes.line("XLA Ops", planes.event("dot", 0, 220)),
        )
    )

    assert nanos(profile) == {"dot": 15}
    assert (profile.steps, profile.notes) == (2, ())


def test_without_any_steps_the_whole_trace_is_one_and_says_so(planes):
    profile = read(planes.host(planes.line("pool", planes.event("dot", 10, 30, hlo_op="dot"))))

    assert nanos(profile) == {"dot": 30}
    assert profile.notes == (NO_STEPS,)


def test_a_profile_in_which_nothing_ran_is_an_error(planes):
    for empty in ((), (planes.host(),), (planes.plane("/device:TPU:0"),)):
        with pytest.raises(ProfileError, match="no step with a length"):
            read(*empty)


@pytest.mark.parametrize(("wait", "is_known"), [(9_000_000, False), (90_000, True)])
def test_a_wait_for_a_device_that_does_nothing_is_not_the_hosts(planes, wait, is_known):
    """As of eight MI300X that work 4 of 104 ms while the host is in block_until_ready."""
    profile = read(
        planes.host(
            planes.line(
                "python",
                planes.event("PjitFunction(f)", 0, 10_000),
                planes.event("$api.py:3154 block_until_ready", 20_000, wait),
            )
        ),
        planes.plane(
            "/device:GPU:0",
            planes.line(
                "Stream #1(Compute)",
                planes.event("gemm", 5_000, 2_000),
                planes.event("gemm", 9_500_000, 2_000),
            ),
        ),
    )

    assert profile.is_host_known is is_known
    assert (IDLE_WAITS.format(9) in profile.notes) is not is_known
