import pytest

from perfledger_profiles.timeline.trace import CallKind


@pytest.fixture
def columns(trace):
    """Return an operator that launches a kernel, and an annotation that the device repeats."""
    trace.add("aten::mm", 0, 20)
    trace.launch("cudaLaunchKernel", 5, 5, kernel="gemm", at=30, lasts=10, correlation=1)
    trace.add("forward", 30, 10, cat="gpu_user_annotation", thread=(0, 7))
    return trace.columns()


def names_of(columns, chosen):
    return [columns.names[name] for name in columns.name[chosen].tolist()]


def test_calls_are_on_the_host_or_work_of_the_device_or_neither(columns):
    assert names_of(columns, columns.is_on_host) == ["aten::mm", "cudaLaunchKernel"]
    assert names_of(columns, columns.is_device_work) == ["gemm"]
    assert CallKind.DEVICE_ANNOTATION in columns.kind.tolist()


def test_all_columns_are_cut_to_the_chosen_calls(columns):
    cut = columns.where(columns.is_device_work)

    assert names_of(cut, slice(None)) == ["gemm"]
    assert (cut.start_ns.tolist(), cut.end_ns.tolist()) == ([30_000], [40_000])
    assert {cut.kind.size, cut.lane.size, cut.correlation.size, cut.stream.size} == {1}
    assert {cut.launch.size, cut.input.size, cut.bytes.size} == {1}


def test_calls_are_found_by_name(columns):
    chosen = columns.find_by_name(["::" in name for name in columns.names])

    assert names_of(columns, chosen) == ["aten::mm"]


def test_a_profile_without_memory_events_has_no_instants(columns):
    assert columns.memory.time_ns.size == 0
    assert columns.memory.devices == ()


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("aten::record_stream", True),
        ("aten::_pin_memory", True),
        ("aten::cudnn_convolution", True),
        ("aten::miopen_batch_norm", True),
        ("aten::_flash_attention_forward", True),
        ("nccl:all_to_all", True),
        ("aten::is_pinned", False),
        ("gloo:all_reduce", False),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", False),
    ],
)
def test_operators_that_run_on_no_cpu_show_that_a_devices_work_is_missing(trace, name, lacks):
    assert trace.add("aten::mm", 0, 20).add(name, 20, 5).columns().lacks_device_work is lacks


def test_a_file_with_the_devices_work_lacks_none(columns, trace):
    assert not columns.lacks_device_work
    assert not trace.add("nccl:all_reduce", 40, 5).columns().lacks_device_work
