import pytest

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.xla.host_events import is_of_use, thread_rank
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

    found = {o.name: o for o in profile.operations}
    multiply, waiting = found["MatMul"], found["IteratorGetNextOp::DoCompute"]
    assert (multiply.bucket, multiply.path) == (Bucket.COMPUTE, "model/dense/MatMul")
    assert multiply.seconds == pytest.approx(40e-9)
    assert waiting.bucket is Bucket.INPUT
    assert waiting.seconds == pytest.approx(20e-9)
