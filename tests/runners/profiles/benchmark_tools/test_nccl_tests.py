"""Logs here are written by hand in the shapes that nccl-tests prints; nothing was recorded."""

import gzip

import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.nccl_tests import (
    ANY_FACTOR,
    UNNAMED_COLLECTIVE,
    read_nccl_tests,
)
from perfledger_profiles.formats import ProfileFormat, detect_format
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.bus_bandwidth import CollectiveOperation, bus_factor

OLD_HEAD = """\
# nThread 1 nGpus 8 minBytes 1 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
{ranks}
#
#                                        out-of-place                    in-place
#       size     count  {names}   time  algbw  busbw  error     time  algbw  busbw  error
#        (B) (elements)           (us) (GB/s) (GB/s)            (us) (GB/s) (GB/s)
"""
NEW_HEAD = """\
# nccl-tests version 2.19.6 nccl-headers=22907 nccl-library=22907
# Collective test starting: {program}_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20
#
# Using devices
{ranks}
#
#                                                 out-of-place                   in-place
#       size     count  type redop root   time  algbw  busbw #wrong   time  algbw  busbw #wrong
#        (B) (elements)                   (us) (GB/s) (GB/s)          (us) (GB/s) (GB/s)
"""
RANK = (
    "#  Rank  {0} Group  0 Pid {0}1234 on  somehost device  {0} [0000:18:00] NVIDIA H100 80GB HBM3"
)
OLD_RANK = "#   Rank  {0} Pid 112424 on localhost device  {0} [0x00] A100-SXM4-40GB"


def ranks(count, line=RANK):
    return "\n".join(line.format(n) for n in range(count))


def row(size, words, seconds, factor, *, wrong="N/A"):
    """Return a row as nccl-tests rounds it."""
    half = f"{seconds * 1e6:8.2f} {size / seconds / 1e9:7.2f} {size / seconds / 1e9 * factor:7.2f}"
    return f"{size:12d} {size // 4:12d} {words} {half} {wrong} {half} {wrong}\n"


def read(text):
    return read_nccl_tests(text.encode(), workload="m:f", side=Side.HEAD)


def log(collective, words, *, count=8, wrong="0"):
    factor = bus_factor(collective, count)
    rows = (
        row(2**power, words, 1e-5 + 2**power / 2e11, factor, wrong=wrong)
        for power in range(8, 31, 2)
    )
    return NEW_HEAD.format(program=collective, ranks=ranks(count)) + "".join(rows)


@pytest.mark.parametrize(
    ("collective", "words"),
    [
        (CollectiveOperation.ALL_REDUCE, "float sum -1"),
        (CollectiveOperation.ALL_GATHER, "float none -1"),
        (CollectiveOperation.REDUCE_SCATTER, "float sum -1"),
        (CollectiveOperation.ALL_TO_ALL, "float none -1"),
        (CollectiveOperation.BROADCAST, "float none 0"),
        (CollectiveOperation.REDUCE, "float sum 0"),
        (CollectiveOperation.SEND_RECEIVE, "float none -1"),
    ],
)
def test_the_bus_bandwidth_is_computed_and_equals_the_logs(collective, words):
    profile = read(log(collective, words))

    size = 2**30
    expected = size / (1e-5 + size / 2e11) * bus_factor(collective, 8)
    assert profile.reading("bus_bw", subject=str(size)) == pytest.approx(expected, rel=1e-3)
    assert profile.reading("bus_bw_in_place", subject=str(size)) == pytest.approx(
        expected, rel=1e-3
    )
    (source,) = {one.source for one in profile.readings if one.name == "bus_bw"}
    assert source == f"nccl-tests formula of {collective}, 8 ranks"
    assert profile.notes == ()


@pytest.mark.parametrize(
    ("collective", "names", "words"),
    [
        (CollectiveOperation.ALL_REDUCE, "type redop", "float sum"),
        (CollectiveOperation.REDUCE_SCATTER, "type redop", "float sum"),
        (CollectiveOperation.ALL_GATHER, "type", "float"),
        (CollectiveOperation.ALL_TO_ALL, "type redop", "float"),
        (CollectiveOperation.BROADCAST, "type root", "float 0"),
        (CollectiveOperation.REDUCE, "type redop root", "float sum 0"),
    ],
)
def test_old_logs_do_not_name_their_collective_but_their_columns_tell(collective, names, words):
    factor = bus_factor(collective, 8)
    text = OLD_HEAD.format(names=names, ranks=ranks(8, OLD_RANK)) + row(2**28, words, 2e-3, factor)

    profile = read(text)

    assert profile.notes == (UNNAMED_COLLECTIVE.format(collective),)
    assert profile.reading("bus_bw", subject=str(2**28)) == pytest.approx(2**28 / 2e-3 * factor)


def test_the_device_and_the_number_of_ranks_are_read_but_not_the_hosts():
    profile = read(log(CollectiveOperation.ALL_REDUCE, "float sum -1", count=4))

    assert profile.device is not None
    assert (profile.device.name, profile.device.count) == ("NVIDIA H100 80GB HBM3", 4)
    assert profile.reading("ranks") == 4
    assert "somehost" not in repr(profile)


def test_the_latency_floor_is_that_of_small_messages():
    text = NEW_HEAD.format(program="all_reduce", ranks=ranks(8))
    text += row(0, "float sum -1", 1e-6, 1.75)
    text += "".join(row(2**n, "float sum -1", 35e-6, 1.75) for n in range(2, 17))
    text += row(2**30, "float sum -1", 1e-2, 1.75)

    assert read(text).reading("latency_floor") == pytest.approx(35e-6)


def test_wrong_results_are_readings_and_not_available_ones_are_not():
    wrong = read(log(CollectiveOperation.ALL_REDUCE, "float sum -1", wrong="3"))
    unchecked = read(log(CollectiveOperation.ALL_REDUCE, "float sum -1", wrong="N/A"))

    assert wrong.reading("collective_wrong", subject="1024") == 3
    assert unchecked.reading("collective_wrong", subject="1024") is None


def test_the_last_lines_are_read():
    end = "# Out of bounds values : 2 FAILED\n# Avg bus bandwidth    : 68.4048 \n#\n"

    profile = read(log(CollectiveOperation.ALL_REDUCE, "float sum -1") + end)

    assert profile.reading("out_of_bounds_values") == 2
    assert profile.reading("bus_bw_mean") == pytest.approx(68.4048e9)


def test_two_ranks_have_a_collective_and_one_sends_nothing():
    two, one = (
        read(
            NEW_HEAD.format(program="all_reduce", ranks=ranks(count))
            + row(2**20, "float sum -1", 1e-4, 1.0)
        )
        for count in (2, 1)
    )

    sources = [
        {each.source for each in profile.readings if each.name == "bus_bw"}
        for profile in (two, one)
    ]
    assert sources[0] == {"nccl-tests formula of all_reduce, 2 ranks"}
    assert sources[1] != {"nccl-tests formula of all_reduce, 1 ranks"}


def test_several_types_have_subjects_of_their_own():
    text = NEW_HEAD.format(program="all_reduce", ranks=ranks(2))
    text += row(2**20, "float sum -1", 1e-4, 1.0) + row(2**20, "half sum -1", 2e-4, 1.0)

    profile = read(text)

    assert profile.reading("collective_time", subject="1048576 float sum") == pytest.approx(1e-4)
    assert profile.reading("collective_time", subject="1048576 half sum") == pytest.approx(2e-4)


def test_of_a_repeated_size_the_median_counts():
    text = NEW_HEAD.format(program="all_reduce", ranks=ranks(2))
    text += "".join(row(2**20, "float sum -1", us * 1e-6, 1.0) for us in (100, 900, 110))

    assert read(text).reading("collective_time", subject="1048576") == pytest.approx(110e-6)


@pytest.mark.parametrize(
    "tag",
    [
        "[1,0]<stdout>:",
        "    [1,0]<stdout>:",
        "[prterun-host-1234@1,0]<stdout>: ",
        "0: ",
        "[pod/nccl-tests-launcher-x7fkq/nccl-launcher] ",
        "2026-11-21T10:00:00.123456789Z ",
        "[pod/worker-0/main] 2026-11-21T10:00:00.123456789Z ",
    ],
)
def test_lines_of_nccl_and_mpi_between_the_rows_are_skipped(tag):
    text = log(CollectiveOperation.ALL_REDUCE, "float sum -1").replace(
        "# Using devices", "somehost:34:34 [0] NCCL INFO Launch mode Parallel\n# Using devices"
    )
    tagged = "".join(f"{tag}{line}\n" for line in text.splitlines())

    assert detect_format(tagged.encode(), "out.txt") is ProfileFormat.NCCL_TESTS
    assert read(tagged).readings == read(text).readings
    assert read(tagged).dropped_events == 0


def test_columns_of_single_iterations_and_the_time_of_day_are_understood():
    text = (
        NEW_HEAD.format(program="all_reduce", ranks=ranks(2)).replace(
            "#wrong", "#wrong i_min i_max i_p99 i_cv%"
        )
    ).replace("i_cv%\n", "i_cv% timestamp\n")
    half = "100.0 10.49 10.49 0 99.0 120.0 119.0 3.5"
    text += f" 1048576 262144 float sum -1 {half} {half} 2026-11-21 10:00:00\n"

    profile = read(text)

    assert profile.dropped_events == 0
    assert profile.reading("bus_bw", subject="1048576") == pytest.approx(1048576 / 100e-6)


def test_a_row_that_was_measured_in_place_only_is_read():
    text = NEW_HEAD.format(program="all_reduce", ranks=ranks(2))
    text += " 1048576 262144 float sum -1 100.0 10.49 10.49 0\n"

    profile = read(text)

    assert profile.reading("collective_time", subject="1048576") is None
    assert profile.reading("collective_time_in_place", subject="1048576") == pytest.approx(1e-4)


def test_without_ranks_the_logs_own_bandwidth_is_taken_and_noted():
    text = log(CollectiveOperation.ALL_REDUCE, "float sum -1").replace("Rank", "Rnk")

    profile = read(text)

    assert ANY_FACTOR in profile.notes
    assert {one.source for one in profile.readings if one.name == "bus_bw"} == {"busbw"}


def test_a_column_that_contradicts_the_formula_is_kept():
    text = NEW_HEAD.format(program="all_reduce", ranks=ranks(8))
    text += row(2**28, "float sum -1", 2e-3, 0.5)

    assert read(text).reading("bus_bw", subject=str(2**28)) == pytest.approx(
        2**28 / 2e-3 / 2, rel=1e-3
    )


def test_a_torn_row_is_counted_and_the_others_are_read():
    text = log(CollectiveOperation.ALL_REDUCE, "float sum -1")

    profile = read(text[:-40])

    assert profile.dropped_events == 1
    assert profile.reading("bus_bw", subject=str(2**28)) is not None


def test_a_packed_log_is_read():
    text = log(CollectiveOperation.ALL_REDUCE, "float sum -1")

    packed = read_nccl_tests(gzip.compress(text.encode()), workload="m:f", side=Side.HEAD)

    assert packed == read(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no log",
        "1 2 float sum -1 1 1 1 0 1 1 1 0",  # a row without its head
        NEW_HEAD.format(program="all_reduce", ranks=ranks(8)),
        NEW_HEAD.format(program="x", ranks="") + "1 1 float nan nan nan nan nan nan nan nan\n",
    ],
)
def test_what_is_no_log_is_refused(text):
    with pytest.raises(ProfileError, match="no row of nccl-tests"):
        read(text)


def test_what_a_column_rounds_to_nothing_is_no_bandwidth():
    unnamed = NEW_HEAD.format(program="hypercube", ranks=ranks(8))

    profile = read(
        unnamed + row(8, "float none -1", 1e-5, 1.0) + "# Avg bus bandwidth    : 1.2.3\n"
    )

    assert profile.reading("collective_time", subject="8") == pytest.approx(1e-5)
    assert not [reading for reading in profile.readings if reading.name.startswith("bus_bw")]


def test_a_size_of_zero_or_a_time_of_zero_has_no_bandwidth():
    text = NEW_HEAD.format(program="all_reduce", ranks=ranks(2))
    text += " 0 0 float sum -1 3.0 0.00 7.00 0 3.0 0.00 7.00 0\n"
    text += " 2097152 524288 float sum -1 0.00 0.00 7.00 0 0.00 0.00 7.00 0\n"

    profile = read(text)

    assert profile.reading("collective_time", subject="0") == pytest.approx(3e-6)
    assert profile.reading("collective_time", subject="2097152") == 0.0
    assert not [one for one in profile.readings if one.name.startswith("bus_bw")]


@pytest.mark.parametrize(
    ("size", "column", "source"),
    [
        (2**20, "0.00", "formula"),  # nothing printed: nothing to compare
        (2**20, "0.50", "busbw"),
        (2**20, "10.53", "formula"),  # 10.4858 by the formula, 0.5 % of it is 0.052
        (2**20, "10.54", "busbw"),
        (2**20 - 4, "0.50", "formula"),  # two digits say little of small sizes
    ],
)
def test_from_one_mebibyte_on_the_column_must_be_within_half_a_percent(size, column, source):
    text = NEW_HEAD.format(program="all_reduce", ranks=ranks(2))
    text += f" {size} {size // 4} float sum -1 100.0 10.49 {column} 0 100.0 10.49 {column} 0\n"

    (found_source,) = {one.source for one in read(text).readings if one.name == "bus_bw"}

    assert source in found_source


def test_sizes_from_one_mebibyte_on_tell_the_collective():
    """By the smaller rows it would be reduce-scatter, whose factor is half of all-reduce's."""
    text = OLD_HEAD.format(names="type redop", ranks=ranks(8, OLD_RANK))
    text += row(2**20, "float sum", 1e-4, 1.75)
    text += "".join(row(2**20 - 4 * n, "float sum", 1e-4, 0.875) for n in (1, 2, 3))

    assert read(text).notes == (UNNAMED_COLLECTIVE.format(CollectiveOperation.ALL_REDUCE),)
