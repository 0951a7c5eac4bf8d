"""Pairs in, the workloads that need more out: the port that a stopping rule fills."""

from collections.abc import Sequence
from typing import Protocol

from perfledger.records import Run


class StoppingRule(Protocol):
    """Says after every pair which workloads need another one."""

    def start(self, workloads: Sequence[str]) -> None:
        """Begin with these workloads' ids."""
        ...

    def add(self, base: Run, head: Run) -> None:
        """Take in one more pair of one workload."""
        ...

    def decision(self) -> frozenset[str]:
        """Return the workloads that need another pair; empty when all is known."""
        ...
