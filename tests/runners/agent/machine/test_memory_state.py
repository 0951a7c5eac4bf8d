import pytest

from perfledger_runners.machine.memory_state import MemoryState, count_memory_kills, read_memory

MEMINFO = "MemTotal:       8000 kB\nMemFree:  9 kB\nMemAvailable:   2000 kB\n"
PRESSURE = "some avg10={} avg60=1.16 avg300=0.86 total=166\nfull avg10=99.00 avg60=0 total=6\n"


def test_memory_is_free_and_nothing_waits(kernel):
    files = kernel({"proc/meminfo": MEMINFO, "proc/pressure/memory": PRESSURE.format("0.00")})

    assert read_memory(files) == MemoryState(available_share=0.25, stalled_share=0.0)


def test_the_worse_of_the_host_and_the_own_group_counts(kernel):
    files = kernel(
        {
            "proc/pressure/memory": PRESSURE.format("1.50"),
            "sys/group/memory.pressure": PRESSURE.format("12.50"),
        }
    )

    memory = read_memory(files, group=files.sys / "group/memory.pressure")

    assert memory == MemoryState(stalled_share=0.125)


@pytest.mark.parametrize("line", ["some avg10=x", "some avg10=101.0", "full avg10=1.0", "some"])
def test_what_is_no_share_is_unknown(kernel, line):
    assert read_memory(kernel({"proc/pressure/memory": line})).stalled_share is None


def test_a_kernel_without_these_files_is_unknown(kernel):
    assert read_memory(kernel({})) == MemoryState()


def test_nonsense_is_unknown(hostile):
    assert read_memory(hostile, group=hostile.sys / "fs/cgroup/memory.pressure") == MemoryState()


def test_more_available_than_there_is_in_all_is_all(kernel):
    """As where a container shows its own limit as the total, and the host's free memory."""
    files = kernel({"proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 2000 kB\n"})

    assert read_memory(files).available_share == 1.0


@pytest.mark.parametrize(
    ("text", "kills"),
    [("pgfault 7\noom_kill 2\n", 2), ("oom_kill", None), ("oom_kill x", None), ("", None)],
)
def test_programs_that_were_ended_for_want_of_memory_are_counted(kernel, text, kills):
    assert count_memory_kills(kernel({"proc/vmstat": text})) == kills


def test_the_less_of_the_hosts_and_the_own_groups_free_memory_counts(kernel):
    assert read_memory(kernel({}), group_share=0.5).available_share == 0.5
    files = kernel({"proc/meminfo": MEMINFO})

    shares = [read_memory(files, group_share=share).available_share for share in (0.1, 0.5)]

    assert shares == [0.1, 0.25]
