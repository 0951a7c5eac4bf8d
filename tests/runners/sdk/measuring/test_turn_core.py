import os

import pytest

from perfledger.measuring.turn_core import current_core, move_to_core, usable_cores

# Of a thread on core 5, named "a) 7": proc_pid_stat(5).
STAT = f"12 (a) 7) R {' '.join(['1'] * 35)} 5 0 0 0"

requires_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="needs Linux's affinity of threads"
)


@pytest.fixture
def stat(tmp_path):
    file = tmp_path / "stat"
    file.write_text(STAT)
    return file


def moves_to(core, stat, *, usable=frozenset({2, 5, 6})):
    moves = []
    move_to_core(
        core,
        read_cores=lambda _: usable,
        keep_to=lambda thread, cores: moves.append((thread, set(cores))),
        stat=stat,
    )
    return moves


def test_the_usable_cores_are_those_of_all_threads(tmp_path):
    """A library kept this thread to core 3, and another one to core 5; a third one has ended."""
    for name in ("12", "13", "14"):
        (tmp_path / name).mkdir()
    cores = {0: {3}, 12: {3}, 13: {5}}

    assert usable_cores(cores.__getitem__, tmp_path / "missing") == 1

    def read_cores(thread):
        if thread not in cores:
            raise ProcessLookupError
        return cores[thread]

    assert usable_cores(read_cores, tmp_path) == 2


def test_without_a_set_of_cores_all_are_usable():
    assert usable_cores(None) == os.cpu_count()


@requires_affinity
def test_this_process_may_use_what_the_kernel_says():
    assert usable_cores() == len(os.sched_getaffinity(0))


def test_the_core_is_read_behind_a_command_with_brackets(stat):
    assert current_core(stat) == 5


@pytest.mark.parametrize("text", ["", "12 (a) R", STAT.replace(" 5 0", " x 0")])
def test_a_core_that_the_kernel_does_not_tell_is_unknown(stat, text):
    stat.write_text(text)

    assert current_core(stat) is None
    assert current_core(stat / "none") is None


def test_a_thread_is_moved_and_may_use_all_of_its_cores_again(stat):
    assert moves_to(6, stat) == [(0, {6}), (0, {2, 5, 6})]


def test_a_thread_stays_on_its_core(stat):
    assert moves_to(5, stat) == []


def test_a_core_that_the_thread_may_not_use_is_ignored(stat):
    assert moves_to(4, stat) == []


def test_a_move_that_the_system_forbids_leaves_all_cores_usable(stat):
    requests = []

    def forbidding(_, cores):
        requests.append(set(cores))
        if len(cores) == 1:
            raise PermissionError

    move_to_core(6, read_cores=lambda _: {5, 6}, keep_to=forbidding, stat=stat)

    assert requests == [{6}, {5, 6}]


def test_without_affinity_nothing_moves(stat):
    move_to_core(6, read_cores=None, keep_to=None, stat=stat)

    assert current_core(stat) == 5


@requires_affinity
def test_a_real_thread_keeps_its_cores():
    before = os.sched_getaffinity(0)
    for core in (*before, 100_000):
        move_to_core(core)
        assert os.sched_getaffinity(0) == before

    assert current_core() in before
