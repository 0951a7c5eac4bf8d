"""Finds heads that leave work to threads or processes which go on after a step has returned."""

from collections.abc import Mapping
from statistics import fmean, median

from perfledger.metrics import STEP_TIME
from perfledger.records import Run, Side
from perfledger.rounding import digits

# Work that head leaves, as a share of its own steps. A step that has finished leaves none: in 20
# pairs beside eight busy loops, threads that sleep left at most 0.0001. Work for a thread, which
# was over three times the step's, was at least 0.13 in each of 30 pairs.
MAX_LEFTOVER = 0.05

Pairs = Mapping[int, Mapping[Side, Run]]


def leftover_doubt(pairs: Pairs) -> str:
    """Return that head computes while no step of it runs, unlike base; "" if it does not."""
    base, head = (_paused_cores(pairs, side) for side in Side)
    if base is not None and head is None:
        return "whether it computes between its steps is known only for base"
    shares = [share for sides in pairs.values() if (share := _leftover_share(sides)) is not None]
    if head is None or not shares or median(shares) < MAX_LEFTOVER:
        return ""
    cores = digits(head, 2)
    return f"it has work for {cores} cores between its steps: they may return before they are done"


def _paused_cores(pairs: Pairs, side: Side) -> float | None:
    cores = [sides[side].evidence.paused_cores for sides in pairs.values() if side in sides]
    values = [each for each in cores if each is not None]
    return median(values) if values else None


def _leftover_share(sides: Mapping[Side, Run]) -> float | None:
    """Return how much more work head leaves than base, as a share of head's steps.

    A thread that works at its own pace, whatever the step is, does more of it in head's pauses
    where these are longer than base's: only what head leaves beyond that pace counts, and beyond
    what base leaves per step.
    """
    base, head = (sides.get(side) for side in Side)
    if base is None or head is None:
        return None
    left_by_base, left_by_head = _leftover_s(base, head), _leftover_s(head, base)
    step_s = fmean(head.samples.get(STEP_TIME.name, (0.0,)))
    if left_by_base is None or left_by_head is None or step_s <= 0:
        return None
    pace, cores = base.evidence.paused_cores or 0.0, head.evidence.paused_cores or 0.0
    beyond_pace = left_by_head * (1 - min(1.0, pace / cores)) if cores > 0 else 0.0
    return min(beyond_pace, left_by_head - left_by_base) / step_s


def _leftover_s(run: Run, facing_run: Run) -> float | None:
    """Return the work that a step of a run leaves, in seconds of a core.

    Where that was not recorded, the pauses are taken to be as long as the other side's steps.
    """
    if run.evidence.leftover_s is not None or run.evidence.paused_cores is None:
        return run.evidence.leftover_s
    steps = run.evidence.steps_per_reading * len(run.samples.get(STEP_TIME.name, ()))
    pauses_s = facing_run.evidence.seconds_of(facing_run.samples.get(STEP_TIME.name, ()))
    return run.evidence.paused_cores * pauses_s / steps if steps else None
