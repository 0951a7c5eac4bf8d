"""Defines the port of a stopping rule.

The agent asks it after every pair; `perfledger_baselines.planning.stopping.GroupSequentialStopping`
implements it, and decides when measuring stops.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from perfledger.kernel_times import WorkloadKernels
from perfledger.records import Run


class StoppingRule(Protocol):
    """A rule that decides after every pair which workloads need another one."""

    def start(self, workloads: Sequence[str]) -> None:
        """Start with these workloads' ids."""
        ...

    def add(self, base: Run, head: Run) -> None:
        """Add a pair of one workload."""
        ...

    def fewest_pairs(self) -> int:
        """Return how many pairs a workload has at its first test."""
        ...

    def unfinished(self) -> frozenset[str]:
        """Return the workloads that need another pair; empty when all are decided."""
        ...

    def due_kernels(self) -> frozenset[str]:
        """Return the workloads whose kernels are to be looked at now."""
        ...

    def look_at_kernels(self, windows: Sequence[WorkloadKernels]) -> frozenset[str]:
        """Return the workloads that need no more windows, by all windows of all workloads."""
        ...

    def next_pair(self, seconds: Mapping[str, float]) -> str | None:
        """Return the workload whose next pair is the most informative per second; None for none.

        `seconds` is the cost of a pair of each workload that there is time for.
        """
        ...

    def pair_lengths(self, seconds: Mapping[str, float]) -> Mapping[str, int]:
        """Return the most turns of each side of a workload's next pair.

        A workload without an entry is measured as long as usual. `seconds` is how long the latest
        pair of each workload took.
        """
        ...

    def futile(self, most_pairs: Mapping[str, int]) -> frozenset[str]:
        """Return the workloads that `most_pairs` pairs in all will hardly settle."""
        ...

    def changes(self) -> frozenset[str]:
        """Return the workloads that regressed or became faster: profiling them will take time."""
        ...
