"""Pairs in, the workloads that need more out: the port that a stopping rule fills."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from perfledger.records import Run


class StoppingRule(Protocol):
    """Says after every pair which workloads need another one, and which one needs it most."""

    def start(self, workloads: Sequence[str]) -> None:
        """Begin with these workloads' ids."""
        ...

    def add(self, base: Run, head: Run) -> None:
        """Take in one more pair of one workload."""
        ...

    def decision(self) -> frozenset[str]:
        """Return the workloads that need another pair; empty when all is known."""
        ...

    def next_pair(self, seconds: Mapping[str, float]) -> str | None:
        """Return the workload whose next pair tells the most a second; None if none needs one.

        `seconds` is what a pair costs of each workload that there is time for.
        """
        ...
