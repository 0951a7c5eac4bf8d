"""Finds heads whose steps leave work to the end of their process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from perfledger.records import Run
from perfledger.rounding import digits, percentage
from perfledger.step_evidence import MIN_TASKS, EndCost
from perfledger_baselines.judging.gain_doubts.workload_pairs import (
    MAX_LEFTOVER,
    Pairs,
    complete_pairs,
    growth,
    step_times,
)

# Part of what a process does more at its end that grows with its steps. All of it does if each step
# leaves it, and none if it is of a fixed size: a report, or the end of a server.
MIN_LEFT_TO_END = 0.5


@dataclass(frozen=True, slots=True)
class _EndTime:
    """A kind of time at the end of a process, and its words; `of` returns it in seconds."""

    of: Callable[[EndCost], float]
    verb: str
    words: Callable[[float], str]  # of what each step leaves, as a share of its time


WORK = _EndTime(
    lambda cost: cost.cpu_s,
    "does",
    lambda share: (
        f"{percentage(share / (1 + share))} of its work is done after the last step, in a "
        "teardown, an exit function or a finalizer, and its steps leave it"
    ),
)
SLEEP = _EndTime(
    lambda cost: cost.asleep_s,
    "sleeps",
    lambda share: (
        f"its process sleeps {percentage(share)} of the time of its steps after the last one, and "
        "longer after more of them: they may leave writes or calls to it"
    ),
)


def end_cost_doubt(pairs: Pairs) -> str:
    """Return that head's steps leave work to the end of their process, unlike base's; "" if not.

    What is done there may be of a fixed size. Then it is the same after few steps.
    """
    run_pairs = complete_pairs(pairs)
    tasks = max((_more_tasks(*sides) for sides in run_pairs), default=0.0)
    if tasks >= MIN_TASKS:
        return (
            f"a step leaves {digits(tasks, 2)} threads or processes that do not end: it may go on"
        )
    ends = [(base.evidence.end_cost, head.evidence.end_cost) for base, head in run_pairs]
    if 2 * sum(before is not None and after is None for before, after in ends) > len(ends):
        return "its process does not report the work at its end, unlike base's: os._exit may end it"
    return _growth_doubt(run_pairs, WORK) or _growth_doubt(run_pairs, SLEEP)


def _growth_doubt(run_pairs: Sequence[tuple[Run, Run]], kind: _EndTime) -> str:
    """Return that head's process has more of a kind of time at its end, and its steps leave it.

    A sleep may be longer by chance: it must grow in every pair that has few steps, too.
    """
    more = [share for sides in run_pairs if (share := _more_at_end(*sides, kind)) is not None]
    if not more or median(more) < MAX_LEFTOVER:
        return ""
    left = [share for sides in run_pairs if (share := _left_to_end(*sides, kind)) is not None]
    if not left:
        return (
            f"its process {kind.verb} {percentage(median(more))} more of the time of its steps "
            "after the last one, and it is not known whether its steps leave that: raise the budget"
        )
    share = min(left)
    if share < max(MAX_LEFTOVER, MIN_LEFT_TO_END * median(more)):
        return ""
    return kind.words(share)


def _more_at_end(base: Run, head: Run, kind: _EndTime) -> float | None:
    """Return what head's process has more at its end, as a share of the time of all its steps."""
    before, after = base.evidence.end_cost, head.evidence.end_cost
    times = step_times(head)
    if before is None or after is None or not times or median(times) <= 0:
        return None
    return (kind.of(after) - kind.of(before)) / (after.steps * median(times))


def _left_to_end(base: Run, head: Run, kind: _EndTime) -> float | None:
    """Return what a step of head leaves more, as a share of its time; None without few steps."""
    left_s = growth(*(_per_step(run, kind.of) for run in (base, head)))
    times = step_times(head)
    if left_s is None or not times or median(times) <= 0:
        return None
    return left_s / median(times)


def _more_tasks(base: Run, head: Run) -> float:
    """Return how many threads and processes a step of head leaves more; 0 if unknown."""
    return growth(*(_per_step(run, lambda cost: cost.tasks) for run in (base, head))) or 0.0


def _per_step(run: Run, quantity: Callable[[EndCost], float]) -> float | None:
    """Return by how much a quantity at the end of a process grows with each step."""
    many, few = run.evidence.end_cost, run.evidence.short_end_cost
    if many is None or few is None or many.steps <= few.steps:
        return None
    return (quantity(many) - quantity(few)) / (many.steps - few.steps)
