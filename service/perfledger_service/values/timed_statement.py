"""Holds the times of one statement, measured alone."""

from dataclasses import dataclass

from perfledger.records import HostFinding, Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedProcess:
    """The times of a statement in one process, in seconds: the quantiles of its readings."""

    typical_s: float
    p5_s: float
    p25_s: float
    p75_s: float
    p95_s: float
    readings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedStatement:
    """The time of a statement: `low_s` to `high_s` is its 95 % interval over processes."""

    statement: str
    set_up: str
    machine: Machine
    processes: tuple[TimedProcess, ...]
    typical_s: float
    low_s: float
    high_s: float
    calls: int  # of the statement in one reading
    cpu_time_s: float | None  # None: not told
    memory_bytes: float | None  # the peak of a process
    findings: tuple[HostFinding, ...]

    @property
    def readings(self) -> int:
        """Return the number of readings in all processes."""
        return sum(each.readings for each in self.processes)
