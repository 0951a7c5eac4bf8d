import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfledger_runners.machine.host_load import (
    LOOKS,
    WINDOW_S,
    ForeignProgram,
    ProcessTicks,
    descendants,
    read_core_ticks,
    read_load,
    read_process_ticks,
    usable_core_numbers,
)

OURS = 40


def stat(*, busy, idle=1000, steal=0, running=1, cores=4):
    """Return /proc/stat of cores that have worked for `busy` ticks each."""
    lines = [f"cpu{core} {busy[core]} 0 0 {idle} 0 0 0 {steal} 0 0" for core in range(cores)]
    return "\n".join(["cpu 1 2 3 4 5 6 7 8 9 10", *lines, "ctxt 5", f"procs_running {running}"])


def process(name, *, parent=1, ticks=0, began=5):
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", *["0"] * 6, str(began), "9 9"]
    return f"1 ({name}) {' '.join(fields)}"


class Kernel:
    """A kernel whose counters advance while the reader sleeps."""

    def __init__(self, write, before, after):
        self.write = write
        self.later = after
        self.slept = []
        self.files = write(before)

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.write(self.later)

    def load(self, usable=(0, 1, 2, 3)):
        return read_load(self.files, usable=usable, ours=OURS, sleep=self.sleep)


def a_kernel(kernel, **after):
    """Return two of four cores kept busy: one by a compiler, half of one by us, half unseen."""
    before = {
        "proc/stat": stat(busy=[0, 0, 0, 0]),
        f"proc/{OURS}/stat": process("perfledger", ticks=7),
        "proc/41/stat": process("python", parent=OURS),
        "proc/50/stat": process("cc1 (x) y", ticks=1000),
    }
    later = {
        "proc/stat": stat(busy=[100, 100, 0, 0], idle=1000, running=4),
        f"proc/{OURS}/stat": process("perfledger", ticks=17),
        "proc/41/stat": process("python", parent=OURS, ticks=40),
        "proc/50/stat": process("cc1 (x) y", ticks=1100),
    } | after
    # The idle cores idled, the busy ones did not: all advanced by 100 ticks.
    later["proc/stat"] = later["proc/stat"].replace("cpu2 0 0 0 1000", "cpu2 0 0 0 1100")
    later["proc/stat"] = later["proc/stat"].replace("cpu3 0 0 0 1000", "cpu3 0 0 0 1100")
    return Kernel(kernel, before, later)


def test_what_others_use_is_what_is_used_less_what_we_use(kernel):
    told_kernel = a_kernel(kernel)

    load = told_kernel.load()

    assert load.foreign_cores == pytest.approx(1.5)
    assert load.foreign_share == pytest.approx(0.375)
    assert load.programs == (ForeignProgram("cc1 (x) y", 1.0),)
    assert load.hidden_cores == pytest.approx(0.5)
    assert load.busy_shares == {0: 1.0, 1: 1.0, 2: 0.0, 3: 0.0}
    assert load.queued_per_core == pytest.approx(3 / 4)  # one of the four tasks is the reader
    assert load.stolen_share == 0.0
    assert not load.has_other_cores
    assert told_kernel.slept == [WINDOW_S / LOOKS] * LOOKS


def test_only_the_cores_that_a_check_may_use_count(kernel):
    load = a_kernel(kernel).load(usable=(2, 3))

    assert load.foreign_cores == 0.0
    assert load.usable == {2, 3}
    assert load.has_other_cores


def test_time_that_other_virtual_machines_take_is_not_idle(kernel):
    later = stat(busy=[50, 50, 50, 50], steal=50)
    load = a_kernel(kernel, **{"proc/stat": later}).load((0, 1))

    assert load.stolen_share == 0.5
    assert load.busy_shares == {0: 0.5, 1: 0.5}


def test_a_new_process_with_an_old_number_has_used_what_it_used(kernel):
    told_kernel = a_kernel(kernel, **{"proc/50/stat": process("new", ticks=30, began=99)})

    assert told_kernel.load().programs == (ForeignProgram("new", 0.3),)


def test_programs_of_one_name_are_one_and_the_busiest_come_first(kernel):
    after = {f"proc/{60 + place}/stat": process("cc1", ticks=10, began=9) for place in range(3)}
    after |= {
        "proc/50/stat": process("idle", ticks=1000),
        "proc/70/stat": process("a", ticks=6, began=9),
        "proc/71/stat": process("b", ticks=7, began=9),
        "proc/72/stat": process("c", ticks=8, began=9),
        "proc/73/stat": process("rare", ticks=4, began=9),
    }
    programs = a_kernel(kernel, **after).load().programs

    assert [program.name for program in programs] == ["cc1", "c", "b"]
    assert programs[0].cores == pytest.approx(0.3)


def test_programs_that_are_as_busy_come_by_name(kernel):
    after = {
        f"proc/{70 + place}/stat": process(name, ticks=6, began=9)
        for place, name in enumerate("cab")
    }

    programs = a_kernel(kernel, **after).load().programs

    assert [program.name for program in programs if program.name in "abc"] == ["a", "b"]


def test_counters_that_stand_still_or_run_backwards_are_unknown(kernel):
    still = Kernel(kernel, {"proc/stat": stat(busy=[9, 9, 9, 9])}, {})
    assert still.load().foreign_cores is None
    assert still.load().foreign_share is None

    back = Kernel(kernel, {"proc/stat": stat(busy=[9] * 4)}, {"proc/stat": stat(busy=[1] * 4)})
    assert back.load().foreign_cores is None


def test_without_proc_everything_is_unknown(kernel):
    load = Kernel(kernel, {}, {}).load()

    assert (load.foreign_cores, load.stolen_share, load.queued_per_core) == (None, None, None)
    assert (load.programs, load.busy_shares) == ((), {})


def test_nonsense_is_unknown(hostile):
    load = read_load(hostile, usable=(0, 1), ours=41, sleep=lambda _: None)

    assert load.foreign_cores is None
    assert load.programs == ()


def test_a_circle_of_parents_ends():
    circle = {
        1: ProcessTicks("a", 2, 0, 0),
        2: ProcessTicks("b", 1, 0, 0),
        3: ProcessTicks("c", 2, 0, 0),
        4: ProcessTicks("d", 9, 0, 0),
    }

    assert descendants(circle, 1) == {1, 2, 3}
    assert descendants({}, 7) == {7}


def test_names_of_programs_lose_what_a_terminal_would_obey(kernel):
    files = kernel({"proc/50/stat": process("\x1b[31m" + "x" * 99)})

    assert read_process_ticks(files.proc)[50].name == "\ufffd[31m" + "x" * 10


def test_this_computer_tells_its_cores_and_its_processes():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        load = read_load(sleep=lambda _: None)
        processes = read_process_ticks(Path("/proc"))
        cores = read_core_ticks(Path("/proc"))
    finally:
        child.communicate(b"\n")

    assert load.usable == usable_core_numbers() == os.sched_getaffinity(0)
    assert load.usable <= cores.keys()
    assert processes[child.pid].parent == os.getpid()
    assert child.pid in descendants(processes, os.getpid())
