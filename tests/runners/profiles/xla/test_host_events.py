import pytest

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.xla.host_events import is_of_use, is_python_at_work, thread_rank
from perfledger_profiles.xla.planes_to_profile import profile_of_planes


def read(*many):
    return profile_of_planes(many, workload="m:f", side=Side.HEAD)


@pytest.mark.parametrize(
    ("name", "stats", "expected"),
    [
        ("dot.1", {"hlo_op": "dot.1"}, True),
        ("cuLaunchKernel", {"correlation_id": 7}, True),
        ("end: dot.1", {"_c": 7}, True),
        ("ThunkExecutor::Execute", {}, True),
        ("model/dense/MatMul:MatMul", {}, True),
        ("MatMul:MatMul", {}, True),
        ("PjRtCpuClient::Compile", {"_c": 7}, False),
        ("IteratorGetNextOp::DoCompute", {}, False),
        ("MapDmaBuffer", {"_p": 3}, False),
        ("loss: 0.3", {}, False),
    ],
)
def test_of_another_thread_only_what_says_something_of_a_step_is_needed(name, stats, expected):
    assert is_of_use(name, stats) is expected


def test_the_thread_with_the_steps_goes_before_the_one_with_the_functions():
    steps = thread_rank([("train", {"step_num": 1})])
    functions = thread_rank([("PjitFunction(f)", {}), ("PjitFunction(g)", {})])

    assert steps > functions > thread_rank([("other", {})])


def test_tensorflows_operations_on_the_cpu_are_what_computes(planes):
    profile = read(
        planes.host(
            planes.line(
                "4135",
                planes.event("train", 0, 100, step_num=0),
                planes.event("IteratorGetNextOp::DoCompute", 0, 20),
            ),
            planes.line("tf_Compute/7", planes.event("model/dense/MatMul:MatMul", 30, 40)),
        )
    )

    operations = {o.name: o for o in profile.operations}
    multiply, waiting = operations["MatMul"], operations["IteratorGetNextOp::DoCompute"]
    assert (multiply.bucket, multiply.path) == (Bucket.COMPUTE, "model/dense/MatMul")
    assert multiply.seconds == pytest.approx(40e-9)
    assert waiting.bucket is Bucket.INPUT
    assert waiting.seconds == pytest.approx(20e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("$api.py:3154 block_until_ready", False),
        ("$api.py:3165 try_to_block", True),  # inside that
        ("$train.py:7 step", True),
        ("block_until_ready", False),
    ],
)
def test_of_pythons_frames_only_those_that_wait_for_the_device_are_read(name, expected):
    assert is_python_at_work(name) is expected


def test_a_frame_that_waits_for_the_device_is_a_wait_and_no_python(planes):
    """The program waits for 90 of 100; for 40 of them XLA allocates on a thread of its own."""
    profile = read(
        planes.host(
            planes.line(
                "python",
                planes.event("PjitFunction(f)", 0, 10),
                planes.event("$api.py:3154 block_until_ready", 10, 90),
            ),
            planes.line("py_xla_execute", planes.event("Build buffer allocations", 12, 40)),
        ),
        planes.plane(
            "/device:GPU:0",
            planes.line(
                "Stream #1(Kernel)",
                planes.event("k", 0, 1, hlo_op="k"),
                planes.event("k", 99, 1, hlo_op="k"),
            ),
        ),
    )

    seconds = {one.name: (one.bucket, round(one.seconds * 1e9)) for one in profile.operations}
    assert seconds["block_until_ready"] == (Bucket.SYNC, 49)
    assert seconds["Build buffer allocations"] == (Bucket.RUNTIME, 40)
    assert "(outside operations)" not in seconds
