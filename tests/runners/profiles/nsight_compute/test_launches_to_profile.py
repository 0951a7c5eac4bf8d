"""Pages here are written by hand in the shapes that `ncu --csv` prints; nothing was recorded."""

import pytest

from perfledger.profile import OperationFamily
from perfledger.records import Side
from perfledger_profiles.nsight_compute.launches_to_profile import NO_TIMES, REPLAY_NOTE, read_ncu
from perfledger_profiles.parsing.errors import ProfileError

HEAD = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC",'
)
DETAILS = HEAD + (
    '"Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type",'
    '"Rule Description","Estimated Speedup Type","Estimated Speedup"\n'
)
LOG = '==PROF== Connected to process 1 (/home/somebody/a.out)\n2208    141.5\n==PROF== "half\n'
RULE = '"SpeedOfLight","","","","SOLBottleneck","OPT","Low, see ""Scheduler"".","",""\n'


def context(number=0, kernel="sgemm_128x64", *, block="(384, 1, 1)", grid="(9, 32, 1)"):
    return f'"{number}","1","a.out","secret-host","{kernel}","1","7","{block}","{grid}","0","8.0",'


def lines(*metrics, **more):
    """Return the rows of one launch on a details page, a rule among them."""
    rows = [f'"Section","{name}","{unit}","{value}",\n' for name, unit, value in metrics]
    rows.insert(1, RULE)
    return "".join(context(**more) + row for row in rows)


def raw(*metrics, launches=((),)):
    """Return a raw page: names, units, and a row of values for each launch."""
    names = ",".join(f'"{name}"' for name, _ in metrics)
    units = ",".join(f'"{unit}"' for _, unit in metrics)
    rows = "".join(
        context(number) + ",".join(f'"{value}"' for value in values) + "\n"
        for number, values in enumerate(launches)
    )
    return f"{HEAD}{names}\n" + '"",' * 11 + f"{units}\n{rows}"


def read(text):
    return read_ncu(text.encode(), workload="m:f", side=Side.HEAD)


SPEED = (
    ("Memory Throughput", "%", "21.68"),
    ("DRAM Throughput", "%", "0.74"),
    ("Duration", "ns", "406,240"),
    ("Compute (SM) Throughput", "%", "23.59"),
    ("Memory Throughput", "Gbyte/second", "1.5"),
)
LAUNCH = (
    ("Registers Per Thread", "register/thread", "168"),
    ("Static Shared Memory Per Block", "byte/block", "0"),
    ("Dynamic Shared Memory Per Block", "Kbyte/block", "205.70"),
    ("# SMs", "SM", "144"),
    ("Waves Per SM", "", "2.00"),
    ("Block Limit Registers", "block", "1"),
    ("Theoretical Occupancy", "%", "18.75"),
    ("Achieved Occupancy", "%", "15.53"),
)


def test_a_details_page_becomes_a_kernel_and_its_metrics():
    profile = read(LOG + DETAILS + lines(*SPEED, *LAUNCH))

    (kernel,) = profile.kernels
    assert (kernel.name, kernel.family) == ("sgemm_128x64", OperationFamily.GEMM)
    assert (kernel.grid, kernel.block, kernel.registers) == ("9,32,1", "384,1,1", 168)
    assert kernel.seconds == pytest.approx(406240e-9)
    assert kernel.shared_memory_bytes == 205700
    assert kernel.occupancy == pytest.approx(0.1553)
    assert kernel.blocks_per_multiprocessor == 2.0
    assert kernel.bytes == pytest.approx(1.5e9 * 406240e-9)
    assert (profile.dropped_events, profile.notes) == (0, (REPLAY_NOTE,))


def test_readings_are_those_of_the_kernel_and_of_the_whole_file():
    profile = read(DETAILS + lines(*SPEED, *LAUNCH))

    for subject in ("", "sgemm_128x64"):
        assert profile.reading("compute_sol", subject=subject) == pytest.approx(0.2359)
        assert profile.reading("memory_sol", subject=subject) == pytest.approx(0.2168)
        assert profile.reading("dram_bw_util", subject=subject) == pytest.approx(0.0074)
    assert profile.reading("dram_bw", subject="sgemm_128x64") == pytest.approx(1.5e9)
    assert profile.reading("occupancy_limit_registers", subject="sgemm_128x64") == 1
    assert profile.reading("waves_per_multiprocessor", subject="sgemm_128x64") == 2


def test_the_details_page_has_no_device_name_but_its_capability():
    device = read(DETAILS + lines(*SPEED, *LAUNCH)).device

    assert device is not None
    assert (device.name, device.compute_capability, device.multiprocessors) == ("", "8.0", 144)


def test_hosts_and_paths_are_not_kept():
    text = repr(read(LOG + DETAILS + lines(*SPEED)))

    assert "secret-host" not in text
    assert "somebody" not in text


RAW = (
    ("dram__bytes_read.sum", "Mbyte"),
    ("dram__bytes_write.sum", "Kbyte"),
    ("gpu__time_duration.sum", "usecond"),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    ("device__attribute_display_name", ""),
    ("launch__occupancy_limit_warps", "block"),
    ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%"),
    ("smsp__inst_executed.sum", "inst"),
)


def test_a_raw_page_has_its_units_in_the_second_line():
    page = raw(*RAW, launches=[("1.5", "500", "20.0", "40", "NVIDIA A100", "5", "80", "1")])

    profile = read(LOG + page)

    (kernel,) = profile.kernels
    assert kernel.seconds == pytest.approx(20e-6)
    assert kernel.bytes == pytest.approx(2e6)
    assert kernel.is_tensor is True
    assert profile.reading("occupancy_limit_warps", subject="sgemm_128x64") == 5
    assert profile.device is not None
    assert profile.device.name == "NVIDIA A100"


INSTRUCTIONS = tuple(
    (f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum", "inst")
    for name in ("fadd", "fmul", "ffma", "dfma")
)


@pytest.mark.parametrize(
    ("counts", "tensor", "flops"),
    [
        (("1,000", "200", "5,000", "0"), "0", 1000 + 200 + 2 * 5000),
        (("1", "2", "n/a", "0"), "0", None),
        (("1", "2", "3", "4"), "0", None),
        (("1", "2", "3", "1"), "0", None),
        (("1", "2", "3", "0"), "40", None),
    ],
)
def test_float32_operations_are_counted_where_there_are_no_others(counts, tensor, flops):
    tensor_active = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
    metrics = (("gpu__time_duration.sum", "us"), (tensor_active, "%"), *INSTRUCTIONS)

    (kernel,) = read(raw(*metrics, launches=[("10.0", tensor, *counts)])).kernels

    assert kernel.flops == flops


def test_launches_of_one_kernel_are_averaged_by_their_time():
    page = raw(*RAW[2:4], launches=[("10.0", "90"), ("30.0", "10")])

    profile = read(page)

    (kernel,) = profile.kernels
    assert (kernel.count, kernel.seconds) == (2, pytest.approx(40e-6))
    assert profile.reading("compute_sol", subject="sgemm_128x64") == pytest.approx(0.3)
    assert profile.reading("kernel_time", subject="sgemm_128x64") == pytest.approx(20e-6)


def test_a_kernel_of_several_launch_shapes_has_a_subject_for_each():
    text = DETAILS + lines(("Duration", "us", "5"))
    text += lines(("Duration", "us", "7"), number=1, grid="(8, 1, 1)")

    profile = read(text)

    assert profile.reading(
        "kernel_time", subject="sgemm_128x64 <8,1,1> <384,1,1>"
    ) == pytest.approx(7e-6)
    assert len(profile.kernels) == 2


def test_values_that_are_not_available_are_left_out_and_not_counted():
    profile = read(raw(*RAW[2:4], launches=[("n/a", "40")]))

    assert profile.kernels == ()
    assert profile.reading("compute_sol") == pytest.approx(0.4)
    assert (profile.dropped_events, profile.notes) == (0, (NO_TIMES,))


def test_a_file_written_with_decimal_commas_is_read_with_them():
    text = DETAILS + lines(("Duration", "ns", "117.344"), ("Compute (SM) Throughput", "%", "65,77"))

    profile = read(text)

    assert profile.kernels[0].seconds == pytest.approx(117344e-9)
    assert profile.reading("compute_sol") == pytest.approx(0.6577)


def test_a_page_that_sums_up_launches_counts_them():
    head = '"Process ID","Kernel Name","Block Size","Grid Size","CC","Invocations",'
    text = head + '"Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"\n'
    text += '"1","k","(1, 1, 1)","(1, 1, 1)","8.0","100","S","Duration","us","1","3","2"\n'

    (kernel,) = read(text).kernels

    assert (kernel.count, kernel.seconds) == (100, pytest.approx(200e-6))


def test_pages_after_one_another_do_not_mix_their_numbers():
    page = raw(*RAW[2:4], launches=[("10.0", "90")])

    (kernel,) = read(page + LOG + page).kernels

    assert kernel.count == 2


def test_a_torn_row_is_counted_and_the_rest_is_read():
    text = DETAILS + lines(*SPEED)

    profile = read(text + context() + '"Section","Duration')

    assert profile.kernels[0].seconds == pytest.approx(406240e-9)
    assert profile.dropped_events == 1


@pytest.mark.parametrize("value", ["1e300", "-5", "inf", "--"])
def test_a_value_that_cannot_be_is_counted(value):
    profile = read(DETAILS + lines(*SPEED, ("Waves Per SM", "", value)))

    assert profile.reading("waves_per_multiprocessor", subject="sgemm_128x64") is None
    assert profile.dropped_events == 1


@pytest.mark.parametrize("text", ["", LOG, DETAILS, "ID,Kernel Name\n", raw(*RAW, launches=[])])
def test_what_has_no_kernel_is_refused(text):
    with pytest.raises(ProfileError, match="this file has no kernel"):
        read(text)


def test_a_launch_without_a_time_is_not_counted_among_those_with_one():
    page = raw(("gpu__time_duration.sum", "ns"), launches=(("100",), ("n/a",), ("300",)))

    (kernel,) = read(page).kernels

    assert kernel.count == 2
    assert kernel.seconds == pytest.approx(400e-9)
