"""Finds heads whose steps leave work to threads and processes that go on."""

import math
from collections.abc import Mapping
from statistics import median

from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.records import Run, Side
from perfledger.rounding import digits, percentage
from perfledger_baselines.judging.gain_doubts.workload_pairs import (
    MAX_LEFTOVER,
    Pairs,
    complete_pairs,
    growth,
)

# Part of what other threads do per step of head that goes on when a turn has ended. Within a turn
# they may keep up with the steps. Every second pause is empty: half of what a step leaves shows.
MIN_LATE_SHARE = 0.25
# Seconds that threads of a pool use after a step that waits for them.
POOL_S = 5e-5
# Share of the time of steps in which their thread sleeps. One that waits for other threads does,
# unless these are always done before it.
MIN_ASLEEP = 0.01
# Cores that a thread uses at its own pace. If base uses less, it has no such thread: the harness
# itself uses a few thousandths in a pause, which may be all that head uses, too, if its work ends
# before the pause.
MIN_PACE = 0.02


def leftover_doubt(pairs: Pairs) -> str:
    """Return that head computes while no step of it runs, unlike base; "" if it does not."""
    base, head = (_paused_cores(pairs, side) for side in Side)
    if base is not None and head is None:
        return "whether it computes between its steps is known only for base"
    shares = [share for sides in pairs.values() if (share := _leftover_share(sides)) is not None]
    if head is None or not shares or median(shares) < MAX_LEFTOVER:
        return _late_doubt(pairs)
    return (
        f"it has work for {digits(head, 2)} cores between its steps, {percentage(median(shares))} "
        "of their time: they may return before they are done"
    )


def unawaited_work(pairs: Pairs) -> str:
    """Return that other threads do work of head's steps, which never wait for them; "" otherwise.

    It may be done before a step returns on an idle machine, and later on a busy one.
    """
    run_pairs = complete_pairs(pairs)
    shares = [share for sides in run_pairs if (share := _helper_share(*sides)) is not None]
    asleep = [share for _, head in run_pairs if (share := _asleep_share(head)) is not None]
    if not shares or not asleep:
        return ""
    if median(shares) < MAX_LEFTOVER or median(asleep) >= MIN_ASLEEP:
        return ""
    return f"other threads do {percentage(median(shares))} of its work, and its steps never wait"


def _helper_share(base: Run, head: Run) -> float | None:
    """Return how much more other threads do per step of head than of base, as a share of all."""
    work_s, all_s = growth(_helpers_s(base), _helpers_s(head)), head.samples.get(CPU_TIME.name)
    return None if work_s is None or not all_s else work_s / median(all_s)


def _asleep_share(run: Run) -> float | None:
    """Return the share of a typical turn in which the thread of the steps slept."""
    times, all_s = run.core_times, run.samples.get(CPU_TIME.name, ())
    if not times.elapsed_s or len(all_s) != len(times.elapsed_s):
        return None
    columns = zip(times.elapsed_s, times.queued_s, times.helpers_s, all_s, strict=True)
    return median(
        1 - (queued + cpu - helpers) / elapsed if elapsed > 0 else 0.0
        for elapsed, queued, helpers, cpu in columns
    )


def _late_doubt(pairs: Pairs) -> str:
    """Return that other threads do work of head's steps late, unlike base's; "" if they do not."""
    shares = [share for sides in pairs.values() if (share := _late_share(sides)) is not None]
    if not shares or median(shares) < MAX_LEFTOVER:
        return ""
    return (
        f"other threads do {percentage(median(shares))} of its work, and go on after the last step "
        "of a turn: its steps may return before they are done"
    )


def _late_share(sides: Mapping[Side, Run]) -> float | None:
    """Return how much more other threads do per step of head than of base, as a share of all work.

    0 unless they go on when a turn has ended, and None if unknown. Work is CPU time: beside other
    programs steps take longer, and are no more work.
    """
    base, head = (sides.get(side) for side in Side)
    if base is None or head is None:
        return None
    share, work_s = _helper_share(base, head), growth(_helpers_s(base), _helpers_s(head))
    left_s = growth(_left_per_turn_s(base), _left_per_turn_s(head))
    if share is None or work_s is None or left_s is None:
        return None
    is_late = left_s >= max(POOL_S, MIN_LATE_SHARE * work_s)
    return share if is_late and work_s > 0 else 0.0


def _helpers_s(run: Run) -> float | None:
    """Return what other threads of a typical turn do per step; None if unknown."""
    return median(run.core_times.helpers_s) if run.core_times.helpers_s else None


def _left_per_turn_s(run: Run) -> float | None:
    """Return the work that is left at the end of a turn, on average; None if unknown."""
    left_s = run.evidence.leftover_s
    return left_s * _steps(run) / len(run.turns) if left_s is not None and run.turns else None


def _paused_cores(pairs: Pairs, side: Side) -> float | None:
    cores = [sides[side].evidence.paused_cores for sides in pairs.values() if side in sides]
    values = [each for each in cores if each is not None]
    return median(values) if values else None


def _leftover_share(sides: Mapping[Side, Run]) -> float | None:
    """Return how much more work head leaves than base, as a share of head's steps.

    A thread that works at its own pace, whatever the step is, does more of it in head's pauses
    where these are longer than base's: only what head leaves beyond that pace counts, and beyond
    what base leaves per step. Less than as much as base's again is none.
    """
    base, head = (sides.get(side) for side in Side)
    if base is None or head is None:
        return None
    left_by_base, left_by_head = _leftover_s(base, head), _leftover_s(head, base)
    # Pauses are as long as the other side's turns, or longer beside other programs.
    base_s, head_s = map(_measured_s, (base, head))
    if left_by_base is None or left_by_head is None:
        return None
    if not (0 < base_s < math.inf and 0 < head_s < math.inf):
        return None
    at_pace = left_by_base * _steps(base) * base_s / head_s / _steps(head)
    pace, cores = base.evidence.paused_cores or 0.0, head.evidence.paused_cores or 0.0
    if pace >= MIN_PACE:
        at_pace = max(at_pace, left_by_head * pace / max(pace, cores))
    share = (left_by_head - max(at_pace, left_by_base)) * _steps(head) / head_s
    # What a data loader of base prepares in pauses differs from run to run.
    return share if share >= left_by_base * _steps(base) / base_s else 0.0


def _leftover_s(run: Run, facing_run: Run) -> float | None:
    """Return the work that a step of a run leaves, in seconds of a core.

    Where that was not recorded, the pauses are taken to be as long as the other side's steps.
    """
    if run.evidence.leftover_s is not None or run.evidence.paused_cores is None:
        return run.evidence.leftover_s
    steps = _steps(run)
    return run.evidence.paused_cores * _measured_s(facing_run) / steps if steps else None


def _steps(run: Run) -> int:
    return run.evidence.steps_per_reading * len(run.samples.get(STEP_TIME.name, ()))


def _measured_s(run: Run) -> float:
    return run.evidence.seconds_of(run.samples.get(STEP_TIME.name, ()))
