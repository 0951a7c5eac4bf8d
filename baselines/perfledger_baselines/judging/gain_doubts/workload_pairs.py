"""Holds the runs of each workload by pair and side, and what they have in common."""

from collections.abc import Mapping, Sequence

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Run, Side

# Work that head leaves, as a share of its own steps. A step that has finished leaves none: in 20
# pairs beside eight busy loops, threads that sleep left at most 0.0001. Work for a thread, which
# was over three times the step's, was at least 0.13 in each of 30 pairs.
MAX_LEFTOVER = 0.05

Pairs = Mapping[int, Mapping[Side, Run]]


def pairs_of_workloads(bundle: Bundle) -> Mapping[str, Pairs]:
    """Return the runs by workload, pair and side; workloads without a base have no pairs."""
    excluded = {*bundle.skipped, *bundle.new_workloads}
    return {name: pairs for name, pairs in bundle.runs_by_pair().items() if name not in excluded}


def complete_pairs(pairs: Pairs) -> list[tuple[Run, Run]]:
    """Return base's and head's run of each pair that has both."""
    return [(sides[Side.BASE], sides[Side.HEAD]) for sides in pairs.values() if len(sides) > 1]


def step_times(run: Run) -> Sequence[float]:
    """Return the step times of a run, in seconds; none if it has none."""
    return run.samples.get(STEP_TIME.name, ())


def growth(base: float | None, head: float | None) -> float | None:
    """Return head minus base; None if either is unknown."""
    return None if base is None or head is None else head - base
