"""Keeps the steps of a check on a CPU off the cores that other programs use.

If a step uses all cores, it waits in most turns for the core that another program keeps busy. On
fewer cores it waits less: the scheduler moves the other program to a core that is left free.
"""

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from perfledger.records import Device, Machine
from perfledger.rounding import decimals
from perfledger_runners.machine.host_load import HostLoad, read_load, usable_core_numbers
from perfledger_runners.proc_files import cores_text, parse_cores

ALL, FREE = "all", "free"  # choices other than a list of cores
# Less use by others is ignored: occasional use of a machine by a person does not cost a core.
MIN_FOREIGN_CORES = 0.5
# Of a core. One program that never waits is read as 0.95 to 1.05 cores.
TOLERANCE = 0.1


class CoreError(ValueError):
    """Cores that this process may not use, or to which it cannot be restricted."""


def keep_to_cores(cores: frozenset[int]) -> None:
    """Restrict this thread, and all that it starts from now on, to these cores.

    Raises CoreError if the system does not allow it.
    """
    try:
        os.sched_setaffinity(0, cores)
    except (AttributeError, OSError) as error:  # not Linux, or forbidden
        msg = f'cannot keep this process to cores {cores_text(cores)} ({error}): set cores = "all"'
        raise CoreError(msg) from error


@dataclass(slots=True)
class CoreReservation:
    """The cores of a check's steps; a context manager whose end gives all of them back."""

    choice: str = ALL  # or FREE, or a list such as "0-3,8"
    usable: Callable[[], frozenset[int]] = usable_core_numbers
    read: Callable[[], HostLoad] = read_load
    keep_to: Callable[[frozenset[int]], None] = keep_to_cores
    notes: tuple[str, ...] = ()  # on cores that are left out
    _before: frozenset[int] = field(default_factory=frozenset[int])
    _chosen: frozenset[int] = field(default_factory=frozenset[int])

    def __enter__(self) -> Self:
        """Remember the cores to give back."""
        self._before = self.usable()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Use all cores again."""
        if self.usable() != self._before:
            self.keep_to(self._before)

    def take(self, machine: Machine, *, fewest: int = 1, number: int | None = None) -> Machine:
        """Keep to the chosen cores from now on; return the machine with their number.

        They are chosen once, and later calls keep to them. `fewest` cores are needed, one for each
        rank: if other programs leave fewer, all are used. `number` is that of a resumed check.
        Steps on other devices are left alone. Raises CoreError.
        """
        if machine.device is not Device.CPU or self.choice == ALL:
            return machine
        if not self._chosen:
            self._chosen = self._choose(fewest=fewest, number=number)
        return replace(machine, cores=len(self._chosen))

    def _choose(self, *, fewest: int, number: int | None) -> frozenset[int]:
        usable = self.usable()
        if self.choice == FREE:
            load = self.read()
            chosen = least_busy(load, cores_beside(load) if number is None else number)
            if not fewest <= len(chosen) < len(usable):
                return usable
            why = _load_words(load) if number is None else "as the interrupted check was"
            self.notes = (_free_note(chosen, usable, why),)
        else:
            chosen = _listed_cores(self.choice, usable)
            self.notes = (f"measured on {_cores_words(chosen)}, as `cores` says",)
        self.keep_to(chosen)
        return chosen


def cores_beside(load: HostLoad) -> int:
    """Return on how many cores a check measures best beside other programs.

    As many as the others leave free; half of all cores if they leave none, as fewer threads wait
    for each other less often; and all cores if hardly anything else runs, or if that is unknown.
    """
    foreign, usable = load.foreign_cores, len(load.usable)
    if foreign is None or foreign < MIN_FOREIGN_CORES:
        return usable
    free = int(usable - foreign + TOLERANCE)
    return free if free > 0 else max(1, usable // 2)


def least_busy(load: HostLoad, number: int) -> frozenset[int]:
    """Return this many usable cores, those least used by others."""
    order = sorted(load.usable, key=lambda core: (load.busy_shares.get(core, 1.0), core))
    return frozenset(order[:number])


def _listed_cores(choice: str, usable: Collection[int]) -> frozenset[int]:
    cores = parse_cores(choice)
    if not cores or not cores <= frozenset(usable):
        msg = (
            f"cores is {choice!r}, and this process may use {cores_text(usable)}: list some of them"
        )
        raise CoreError(msg)
    return cores


def _load_words(load: HostLoad) -> str:
    names = ", ".join(program.name for program in load.programs)
    programs = f"other programs{f' ({names})' if names else ''}"
    return f"as {programs} use {decimals(load.foreign_cores or 0, 1)} of them"


def _free_note(chosen: frozenset[int], usable: frozenset[int], why: str) -> str:
    return (
        f"measured on {_cores_words(chosen)} of {len(usable)}, {why}: "
        'steps use fewer threads than on a quiet machine; cores = "all" measures on all'
    )


def _cores_words(cores: frozenset[int]) -> str:
    return f"core{'s' * (len(cores) != 1)} {cores_text(cores)}"
