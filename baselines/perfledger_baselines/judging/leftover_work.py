"""Finds heads whose steps leave work: to threads that go on, to the end of a process, or undone."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median, median_high

from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.records import Run, Side
from perfledger.rounding import digits, percentage
from perfledger.step_evidence import EndCost

# Work that head leaves, as a share of its own steps. A step that has finished leaves none: in 20
# pairs beside eight busy loops, threads that sleep left at most 0.0001. Work for a thread, which
# was over three times the step's, was at least 0.13 in each of 30 pairs.
MAX_LEFTOVER = 0.05
# Part of what other threads do per step of head that goes on when a turn has ended. Within a turn
# they may keep up with the steps. Every second pause is empty: half of what a step leaves shows.
MIN_LATE_SHARE = 0.25
# Seconds that threads of a pool use after a step that waits for them.
POOL_S = 5e-5
# Share of the time of steps in which their thread sleeps. One that waits for other threads does,
# unless these are always done before it.
MIN_ASLEEP = 0.01
# Part of what a process does more at its end that grows with its steps. All of it does if each step
# leaves it, and none if it is of a fixed size: a report, or the end of a server.
MIN_LEFT_TO_END = 0.5
# Threads and processes per step that have not ended. A pool does not grow with its steps.
MIN_TASKS = 0.1
# Cores that a thread uses at its own pace. If base uses less, it has no such thread: the harness
# itself uses a few thousandths in a pause, which may be all that head uses, too, if its work ends
# before the pause.
MIN_PACE = 0.02

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

Pairs = Mapping[int, Mapping[Side, Run]]


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


def end_cost_doubt(pairs: Pairs) -> str:
    """Return that head's steps leave work to the end of their process, unlike base's; "" if not.

    What is done there may be of a fixed size. Then it is the same after few steps.
    """
    run_pairs = [(sides[Side.BASE], sides[Side.HEAD]) for sides in pairs.values() if len(sides) > 1]
    tasks = max((_more_tasks(*sides) for sides in run_pairs), default=0.0)
    if tasks >= MIN_TASKS:
        return (
            f"a step leaves {digits(tasks, 2)} threads or processes that do not end: it may go on"
        )
    ends = [(base.evidence.end_cost, head.evidence.end_cost) for base, head in run_pairs]
    if 2 * sum(before is not None and after is None for before, after in ends) > len(ends):
        return "its process does not report the work at its end, unlike base's: os._exit may end it"
    more = [share for sides in run_pairs if (share := _more_at_end(*sides)) is not None]
    if not more or median(more) < MAX_LEFTOVER:
        return ""
    left = [share for sides in run_pairs if (share := _left_to_end(*sides)) is not None]
    if not left:
        return (
            f"its process does {percentage(median(more))} more of the time of its steps after the "
            "last one, and it is not known whether its steps leave that: raise the budget"
        )
    share = median(left)
    if share < max(MAX_LEFTOVER, MIN_LEFT_TO_END * median(more)):
        return ""
    return (
        f"{percentage(share / (1 + share))} of its work is done after the last step, in a "
        "teardown, an exit function or a finalizer, and its steps leave it"
    )


def clock_doubt(pairs: Pairs) -> str:
    """Return that a clock ends head's steps, in most of its processes; "" if it does not."""
    heads = [sides[Side.HEAD].evidence.ends_by_clock for sides in pairs.values() if len(sides) > 1]
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
    run_pairs = [(sides[Side.BASE], sides[Side.HEAD]) for sides in pairs.values() if len(sides) > 1]
    if reason := _later_doubt(pairs):
        return reason
    skipped_shares = [
        _skipped_share(_step_times(base), _step_times(base), _step_times(head))
        for base, head in run_pairs
    ] or [0.0]
    steps = sum(len(_step_times(head)) for _, head in run_pairs)
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


def unawaited_work(pairs: Pairs) -> str:
    """Return that other threads do work of head's steps, which never wait for them; "" otherwise.

    It may be done before a step returns on an idle machine, and later on a busy one.
    """
    run_pairs = [(sides[Side.BASE], sides[Side.HEAD]) for sides in pairs.values() if len(sides) > 1]
    shares = [share for sides in run_pairs if (share := _helper_share(*sides)) is not None]
    asleep = [share for _, head in run_pairs if (share := _asleep_share(head)) is not None]
    if not shares or not asleep:
        return ""
    if median(shares) < MAX_LEFTOVER or median(asleep) >= MIN_ASLEEP:
        return ""
    return f"other threads do {percentage(median(shares))} of its work, and its steps never wait"


def _helper_share(base: Run, head: Run) -> float | None:
    """Return how much more other threads do per step of head than of base, as a share of all."""
    work_s, all_s = _growth(_helpers_s(base), _helpers_s(head)), head.samples.get(CPU_TIME.name)
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


def _later_part(run: Run) -> float | None:
    """Return the typical step as a part of the shortest warm-up; None after few warm-ups."""
    times = run.samples.get(STEP_TIME.name)
    if not times or len(run.warmups_s) < MIN_WARMUPS or min(run.warmups_s) <= 0:
        return None
    return median(times) / min(run.warmups_s)


def _step_times(run: Run) -> Sequence[float]:
    return run.samples.get(STEP_TIME.name, ())


def _skipped_in_warmups(run_pairs: Sequence[tuple[Run, Run]]) -> float:
    """Return the share of head's later warm-ups that are skipped, if a reading has many steps.

    Steps that are skipped look short, and a reading of several has the average of both kinds.
    """
    averaging = [sides for sides in run_pairs if sides[1].evidence.steps_per_reading > 1]
    before, after = (
        [time for sides in averaging for time in sides[side].warmups_s[MIN_WARMUPS - 1 :]]
        for side in (0, 1)
    )
    typical = [time for base, _ in averaging for time in _step_times(base)]
    return _skipped_share(typical, before, after) if len(after) >= MIN_LATE_WARMUPS else 0.0


def _skipped_share(
    typical: Sequence[float], before: Sequence[float], after: Sequence[float]
) -> float:
    """Return the share of head's steps that do next to nothing, unlike others and base's.

    `typical` are base's measured steps, `before` and `after` the compared ones of both sides.
    """
    if not typical or not before or not after:
        return 0.0
    typical_s = median(typical)
    base_share, head_share = (
        fmean(time < SHORT_STEP * typical_s for time in times) for times in (before, after)
    )
    full_share = fmean(time >= FULL_STEP * typical_s for time in after)
    return head_share if full_share >= MIN_FULL and head_share > 2 * base_share else 0.0


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


def _more_at_end(base: Run, head: Run) -> float | None:
    """Return what head's process does more at its end, as a share of the time of all its steps."""
    before, after = base.evidence.end_cost, head.evidence.end_cost
    times = _step_times(head)
    if before is None or after is None or not times or median(times) <= 0:
        return None
    return (after.cpu_s - before.cpu_s) / (after.steps * median(times))


def _left_to_end(base: Run, head: Run) -> float | None:
    """Return what a step of head leaves more, as a share of its time; None without few steps."""
    left_s = _growth(*(_per_step(run, lambda cost: cost.cpu_s) for run in (base, head)))
    times = _step_times(head)
    if left_s is None or not times or median(times) <= 0:
        return None
    return left_s / median(times)


def _more_tasks(base: Run, head: Run) -> float:
    """Return how many threads and processes a step of head leaves more; 0 if unknown."""
    return _growth(*(_per_step(run, lambda cost: cost.tasks) for run in (base, head))) or 0.0


def _per_step(run: Run, quantity: Callable[[EndCost], float]) -> float | None:
    """Return by how much a quantity at the end of a process grows with each step."""
    many, few = run.evidence.end_cost, run.evidence.short_end_cost
    if many is None or few is None or many.steps <= few.steps:
        return None
    return (quantity(many) - quantity(few)) / (many.steps - few.steps)


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
    share, work_s = _helper_share(base, head), _growth(_helpers_s(base), _helpers_s(head))
    left_s = _growth(_left_per_turn_s(base), _left_per_turn_s(head))
    if share is None or work_s is None or left_s is None:
        return None
    is_late = left_s >= max(POOL_S, MIN_LATE_SHARE * work_s)
    return share if is_late and work_s > 0 else 0.0


def _growth(base: float | None, head: float | None) -> float | None:
    return None if base is None or head is None else head - base


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
