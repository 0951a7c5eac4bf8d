"""Finds heads that skip steps, or whose later steps do less."""

import math
from collections.abc import Sequence
from statistics import median, median_high

from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.records import Run, Side
from perfledger.rounding import digits, percentage
from perfledger_baselines.judging.gain_doubts.workload_pairs import (
    Pairs,
    complete_pairs,
    step_times,
)

# Parts of base's typical step. A step below the first does next to nothing, one above the second
# does its work: only a step that is skipped at times is now the one and now the other.
SHORT_STEP, FULL_STEP = 0.1, 0.5
# Share of head's steps that do next to nothing. Fewer hardly change what is judged.
MIN_SKIPPED = 0.05
# Fewer steps of a check may be short by chance: a data loader had a batch ready.
MIN_SKIPPED_STEPS = 3
# Share of head's steps that do their work. Beside other programs some steps of a head that is ten
# times faster last as long.
MIN_FULL = 0.1
# Part of the shortest warm-up step. Warm code gains less.
MAX_LATER = 0.1
# Compilers and caches slow down two or three first steps.
MIN_WARMUPS = 4
# Of all of head's processes: enough for a share.
MIN_LATE_WARMUPS = 6
# Part of the first quarter's step that one of the last quarter takes, beside base's: in every pair,
# and in a typical one. Of unchanged steps it was 0.99 to 1.04 in five processes beside ten tasks a
# core.
MAX_SHRUNK, MAX_TYPICALLY_SHRUNK = 0.9, 0.8
MIN_READINGS = 16  # so that a quarter has a median


def clock_doubt(pairs: Pairs) -> str:
    """Return that a clock ends head's steps, in most of its processes; "" if it does not."""
    heads = [head.evidence.ends_by_clock for _, head in complete_pairs(pairs)]
    if 2 * sum(heads) <= len(heads):
        return ""
    return (
        "its steps work until a clock says so: slower code does less in the same time; measure a "
        "fixed amount of work"
    )


def undone_doubt(pairs: Pairs) -> str:
    """Return that head skips steps, or that later ones do less, unlike base's; "" if neither.

    Its data may run out, or its input shrink. A check of the first result shows neither.
    """
    run_pairs = complete_pairs(pairs)
    if reason := _later_doubt(pairs):
        return reason
    skipped_shares = [
        _skipped_share(
            _part_without_waits(base) * median(step_times(base)), step_times(base), step_times(head)
        )
        for base, head in run_pairs
        if step_times(base)
    ] or [0.0]
    steps = sum(len(step_times(head)) for _, head in run_pairs)
    if median_high(skipped_shares) * steps < MIN_SKIPPED_STEPS:
        skipped_shares = [0.0]
    skipped_share = max(median_high(skipped_shares), _skipped_in_warmups(run_pairs))
    if skipped_share >= MIN_SKIPPED:
        return (
            f"{percentage(skipped_share)} of its steps take less than a tenth of base's time, and "
            "others do not: some may be skipped"
        )
    shrunk_parts = [_shrunk_part(*sides) for sides in run_pairs]
    # Other load may do this in a single pair, which decides nothing anyway.
    shrunk_part = median(shrunk_parts) if len(shrunk_parts) > 1 else 1.0
    if shrunk_part < MAX_TYPICALLY_SHRUNK and max(shrunk_parts) < MAX_SHRUNK:
        return (
            f"its last steps are {percentage(1 - shrunk_part)} shorter than its first ones, unlike "
            "base's: their input may shrink"
        )
    return ""


def undone_on_both_sides(pairs: Pairs) -> str:
    """Return that both sides' steps do little of what their warm-ups did; "" if either's do it."""
    parts = [_typical_later_part(pairs, side) for side in Side]
    known_parts = [part for part in parts if part is not None]
    if len(known_parts) < len(Side) or max(known_parts) >= MAX_LATER:
        return ""
    return (
        f"steps of both sides take at most {digits(max(known_parts), 2)} times as long as their "
        "warm-up steps: make sure that what they work on has not run out"
    )


def _later_doubt(pairs: Pairs) -> str:
    """Return that head's steps do little of what its warm-ups did, unlike base's; "" otherwise.

    Base's warm-ups may be as slow, where each compiles or reads something that a later step finds.
    """
    base_part, head_part = (_typical_later_part(pairs, side) for side in Side)
    expected_part = 1.0 if base_part is None else min(1.0, base_part)
    if head_part is None or head_part >= MAX_LATER * expected_part:
        return ""
    return (
        f"its steps take {digits(head_part, 2)} times as long as its warm-up steps: what they work "
        "on may have run out"
    )


def _typical_later_part(pairs: Pairs, side: Side) -> float | None:
    parts = [_later_part(sides[side]) for sides in pairs.values() if len(sides) > 1]
    known_parts = [part for part in parts if part is not None]
    return median(known_parts) if known_parts else None


def _later_part(run: Run) -> float | None:
    """Return the typical step as a part of the shortest warm-up; None after few warm-ups."""
    times = run.samples.get(STEP_TIME.name)
    if not times or len(run.warmups_s) < MIN_WARMUPS or min(run.warmups_s) <= 0:
        return None
    return median(times) / min(run.warmups_s)


def _skipped_in_warmups(run_pairs: Sequence[tuple[Run, Run]]) -> float:
    """Return the share of head's later warm-ups that are skipped, if a reading has many steps.

    Steps that are skipped look short, and a reading of several has the average of both kinds.
    """
    averaging = [sides for sides in run_pairs if sides[1].evidence.steps_per_reading > 1]
    before, after = (
        [time for sides in averaging for time in sides[side].warmups_s[MIN_WARMUPS - 1 :]]
        for side in (0, 1)
    )
    typical = [time for base, _ in averaging for time in step_times(base)]
    if not typical or len(after) < MIN_LATE_WARMUPS:
        return 0.0
    part = median(_part_without_waits(base) for base, _ in averaging)
    return _skipped_share(part * median(typical), before, after)


def _part_without_waits(run: Run) -> float:
    """Return the part of its steps' time in which they did not wait for a core; 1 if unknown.

    Beside other programs typical steps wait. One that does not is no sign of less work.
    """
    elapsed_s = math.fsum(run.core_times.elapsed_s)
    return 1 - math.fsum(run.core_times.queued_s) / elapsed_s if elapsed_s > 0 else 1.0


def _skipped_share(typical_s: float, before: Sequence[float], after: Sequence[float]) -> float:
    """Return the share of head's steps that do next to nothing, unlike others and base's.

    `typical_s` is the time of base's typical step, `before` and `after` the compared steps of both
    sides.
    """
    if not before or not after:
        return 0.0
    head_share = _share_below(SHORT_STEP * typical_s, after)
    if head_share == 0:  # then the other shares do not matter
        return 0.0
    base_share = _share_below(SHORT_STEP * typical_s, before)
    full_share = sum(time >= FULL_STEP * typical_s for time in after) / len(after)
    return head_share if full_share >= MIN_FULL and head_share > 2 * base_share else 0.0


def _share_below(limit_s: float, times: Sequence[float]) -> float:
    return sum(time < limit_s for time in times) / len(times)


def _shrunk_part(base: Run, head: Run) -> float:
    """Return how long head's last steps take, as a part of its first, beside base's same part."""
    before, after = map(_trend, (base, head))
    return after / before if before > 0 else 1.0


def _trend(run: Run) -> float:
    """Return the typical step of the last quarter as a part of that of the first, 1 if unknown.

    CPU time tells it where each turn has one: other programs do not change it.
    """
    of_turns = run.samples.get(CPU_TIME.name, ())
    is_known = len(of_turns) >= MIN_READINGS
    values: Sequence[float] = of_turns if is_known else run.samples.get(STEP_TIME.name, ())
    quarter = len(values) // 4
    if len(values) < MIN_READINGS or median(values[:quarter]) <= 0:
        return 1.0
    return median(values[-quarter:]) / median(values[:quarter])
