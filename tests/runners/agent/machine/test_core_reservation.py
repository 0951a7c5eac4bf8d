import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.records import Device, Machine
from perfledger_runners.machine.core_reservation import (
    ALL,
    FREE,
    CoreError,
    CoreReservation,
    cores_beside,
    keep_to_cores,
    least_busy,
)
from perfledger_runners.machine.host_load import ForeignProgram, HostLoad, usable_core_numbers

CPU = Machine(device=Device.CPU, model="x", cores=4)
BUSY = HostLoad(
    usable=frozenset({0, 1, 2, 3}),
    foreign_cores=1.04,
    busy_shares={0: 0.6, 1: 0.02, 2: 0.44, 3: 0.0},
    programs=(ForeignProgram("cc1", 1.0),),
)


class Cores:
    """The cores that a process may use, and how busy others keep them."""

    def __init__(self, load=BUSY):
        self.load = load
        self.mine = load.usable

    def reservation(self, choice=FREE):
        return CoreReservation(
            choice,
            usable=lambda: self.mine,
            read=lambda: replace(self.load, usable=self.mine),
            keep_to=lambda cores: setattr(self, "mine", cores),
        )


def test_a_check_keeps_to_the_cores_that_others_leave_and_gives_them_back():
    cores = Cores()

    with cores.reservation() as mine:
        machine = mine.take(CPU)
        assert cores.mine == {1, 2, 3}

    assert machine == replace(CPU, cores=3)
    (note,) = mine.notes
    assert note == (
        "measured on cores 1-3 of 4, as other programs (cc1) use 1.0 of them: steps use fewer "
        'threads than on a quiet machine; cores = "all" measures on all'
    )
    assert cores.mine == BUSY.usable


def test_cores_are_chosen_once():
    cores = Cores()

    with cores.reservation() as mine:
        mine.take(CPU)
        assert mine.take(CPU) == replace(CPU, cores=3)
        assert cores.mine == {1, 2, 3}
        assert len(mine.notes) == 1


def test_a_check_that_has_all_cores_keeps_them_when_others_begin():
    cores = Cores(replace(BUSY, foreign_cores=0.0))

    with cores.reservation() as mine:
        mine.take(CPU)
        cores.load = BUSY

        assert mine.take(CPU) == CPU
        assert cores.mine == BUSY.usable


def test_cores_that_were_not_left_are_not_taken_back():
    def forbidden(_cores):
        raise PermissionError

    with CoreReservation(usable=lambda: BUSY.usable, keep_to=forbidden) as mine:
        assert mine.take(CPU) == CPU


@pytest.mark.parametrize("error", [AttributeError("not here"), PermissionError("not allowed")])
def test_a_system_that_keeps_nothing_to_cores_is_an_error(monkeypatch, error):
    def refuse(_process, _cores):
        raise error

    monkeypatch.setattr(os, "sched_setaffinity", refuse)

    with pytest.raises(CoreError, match=r"to cores 0-1 \(not .*\): set cores = \"all\""):
        keep_to_cores(frozenset({0, 1}))


@pytest.mark.parametrize(
    "load",
    [
        replace(BUSY, foreign_cores=0.49),
        replace(BUSY, foreign_cores=None),
        replace(BUSY, usable=frozenset({0}), foreign_cores=1.0),
    ],
    ids=["hardly used", "not known", "a single core"],
)
def test_all_cores_are_used_where_that_is_best(load):
    cores = Cores(load)

    with cores.reservation() as mine:
        assert mine.take(CPU) == replace(CPU, cores=len(load.usable))
        assert cores.mine == load.usable

    assert mine.notes == ()


@pytest.mark.parametrize(
    ("foreign", "left"), [(0.5, 3), (1.0, 3), (1.09, 3), (1.11, 2), (2.0, 2), (3.0, 1), (3.09, 1)]
)
def test_whole_cores_are_left_to_others(foreign, left):
    assert cores_beside(replace(BUSY, foreign_cores=foreign)) == left


@pytest.mark.parametrize(("usable", "half"), [(1, 1), (2, 1), (3, 1), (4, 2), (64, 32)])
def test_half_of_the_cores_are_used_where_none_is_free(usable, half):
    load = HostLoad(usable=frozenset(range(usable)), foreign_cores=usable - 0.2, busy_shares={})

    assert cores_beside(load) == half
    assert cores_beside(replace(load, foreign_cores=usable + 3.0)) == half


def test_ranks_have_a_core_each():
    cores = Cores()

    with cores.reservation() as mine:
        assert mine.take(CPU, fewest=4) == CPU

    with cores.reservation() as mine:
        assert mine.take(CPU, fewest=3) == replace(CPU, cores=3)


def test_a_check_that_goes_on_has_as_many_cores_as_before():
    cores = Cores()

    with cores.reservation() as mine:
        assert mine.take(CPU, number=2) == replace(CPU, cores=2)
        assert cores.mine == {1, 3}


def test_a_check_that_goes_on_blames_no_other_program_for_its_cores():
    cores = Cores(replace(BUSY, foreign_cores=0.0, programs=()))

    with cores.reservation() as mine:
        mine.take(CPU, number=2)

    (note,) = mine.notes
    assert note.startswith("measured on cores 1,3 of 4, as the interrupted check was: ")


def test_a_check_that_began_on_all_cores_goes_on_so():
    with Cores().reservation() as mine:
        assert mine.take(CPU, number=4) == CPU


def test_listed_cores_are_used_whatever_others_do():
    cores = Cores(replace(BUSY, foreign_cores=0.0))

    with cores.reservation("0,2-3") as mine:
        assert mine.take(CPU) == replace(CPU, cores=3)
        assert cores.mine == {0, 2, 3}

    assert mine.notes == ("measured on cores 0,2-3, as `cores` says",)


def test_a_single_core_is_no_cores():
    with Cores().reservation("2") as mine:
        mine.take(CPU)

    assert mine.notes == ("measured on core 2, as `cores` says",)


@pytest.mark.parametrize("choice", ["4", "0-4", "", "x", "3-0", "0-99999999999"])
def test_cores_that_are_not_there_are_an_error(choice):
    with (
        Cores().reservation(choice) as mine,
        pytest.raises(CoreError, match=r"cores is .*this process may use 0-3: list some of them"),
    ):
        mine.take(CPU)


@pytest.mark.parametrize(
    ("choice", "machine"), [(ALL, CPU), (FREE, replace(CPU, device=Device.CUDA))], ids=str
)
def test_nothing_is_left_out_unless_it_matters(choice, machine):
    cores = Cores()

    with cores.reservation(choice) as mine:
        assert mine.take(machine) == machine
        assert cores.mine == BUSY.usable


@given(
    shares=st.dictionaries(st.integers(0, 99), st.floats(0, 1), min_size=1),
    number=st.integers(0, 120),
)
def test_no_core_that_is_left_out_is_less_busy(shares, number):
    load = HostLoad(usable=frozenset(shares), busy_shares=shares)

    chosen = least_busy(load, number)

    assert len(chosen) == min(number, len(shares))
    left_out = load.usable - chosen
    if chosen and left_out:
        assert max(shares[core] for core in chosen) <= min(shares[core] for core in left_out)


def test_a_core_without_counters_is_taken_last():
    load = HostLoad(usable=frozenset({0, 1}), busy_shares={1: 0.9})

    assert least_busy(load, 1) == {1}


def test_children_keep_to_the_cores_too():
    before = usable_core_numbers()
    one = frozenset({min(before)})
    show = f"{sys.executable} -c 'import os; print(len(os.sched_getaffinity(0)))'"
    keep_to_cores(one)
    try:
        process = subprocess.run(show, shell=True, capture_output=True, text=True, check=True)
    finally:
        keep_to_cores(before)

    assert process.stdout == "1\n"
    assert os.sched_getaffinity(0) == before
