"""Holds who hears of the progress of a check."""

from typing import Protocol

from perfledger.records import Side


class MeasuringProgress(Protocol):
    """A listener to the progress of a check."""

    def measuring(self, workload: str, side: Side, pair: int) -> None:
        """Report that a workload starts."""
        ...

    def pair_done(self, *, pairs: int, waiting: int, seconds_left: float) -> None:
        """Report the finished pairs, the workloads that need more, and the time left at most."""
        ...


class NoProgress:
    """A listener that ignores the progress."""

    def measuring(self, workload: str, side: Side, pair: int) -> None:
        """Do nothing."""

    def pair_done(self, *, pairs: int, waiting: int, seconds_left: float) -> None:
        """Do nothing."""
