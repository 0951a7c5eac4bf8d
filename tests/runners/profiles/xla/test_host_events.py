import pytest

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import BottleneckDetail
from perfledger_profiles.bottleneck.host_bound import host_detail
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


def recorded_scan(planes):
    """Return the first step of a recorded lax.scan of 2,000 iterations, without its body."""
    return [
        planes.line(
            "python",
            planes.event("step", 28_923, 11_992_633, step_num=0),
            planes.event("PjitFunction(scan)", 36_554, 131_916),
            planes.event("CommonPjRtBuffer::Await", 187_308, 611, _p=4_294_967_306),
            planes.event("CommonPjRtBuffer::Await", 11_962_368, 1_963, _c=4_294_967_306),
            planes.event("Wait for donation holds", 12_002_958, 310),
        )
    ]


def test_a_wait_for_a_loop_on_the_cpu_is_xlas_own_time_and_no_python(planes):
    profile = read(
        planes.host(
            *recorded_scan(planes),
            planes.line(
                "tf_XLAPjRtCpuClient/7",
                planes.event("copy.6", 226_466, 3_956, hlo_op="copy.6", _p=8_589_988_628),
                planes.event("end: copy.6", 230_132, 250, _c=8_589_988_628),
                planes.event("while.5", 231_914, 3_172_523, hlo_op="while.5", _p=8_589_988_630),
                planes.event("end: while.5", 3_404_326, 71, _c=8_589_988_630),
            ),
        )
    )

    spent = {one.name: (one.bucket, round(one.seconds * 1e9)) for one in profile.operations}
    assert spent == {
        "(XLA runtime)": (Bucket.RUNTIME, 8_600_854),
        "while.5": (Bucket.COMPUTE, 3_172_523),
        "PjitFunction(scan)": (Bucket.RUNTIME, 131_916),
        "(outside operations)": (Bucket.OTHER, 83_384),
        "copy.6": (Bucket.DEVICE_COPY, 3_956),
    }
    assert host_detail(profile) is BottleneckDetail.NONE


def test_a_wait_for_a_device_is_one_call_from_its_begin_to_its_end(planes):
    kernel = planes.event("k", 200_000, 5_000_000, hlo_op="k")
    profile = read(
        planes.host(*recorded_scan(planes)),
        planes.plane("/device:GPU:0", planes.line("Stream #1(Kernel)", kernel)),
    )

    (wait,) = (one for one in profile.operations if one.name == "CommonPjRtBuffer::Await")
    assert (wait.bucket, wait.count) == (Bucket.SYNC, 1)
    assert wait.seconds == pytest.approx((11_964_331 - 187_308 - 5_000_000) * 1e-9)
