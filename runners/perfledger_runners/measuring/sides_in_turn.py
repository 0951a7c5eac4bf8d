"""Measures the sides one after the other if one of them fails while the other one runs.

Base and head of a workload run at the same time on a CPU. What only one process can have, such as a
fixed port, a lock or a file of a fixed name, then makes one side fail, or wait for the other one
forever, and no commit is to blame.
"""

from collections.abc import Callable
from dataclasses import replace

from perfledger.records import Failure, FailureReason
from perfledger_runners.children.limit_watch import WAITED
from perfledger_runners.measuring.measured_pair import MeasuredPair
from perfledger_runners.safe_text import clean_text

# Reasons that another process may cause.
OF_OTHER_SIDE = frozenset(
    {
        FailureReason.RAISED,
        FailureReason.IN_USE,
        FailureReason.HUNG,
        FailureReason.OUT_OF_MEMORY,
        FailureReason.KILLED,
        FailureReason.NO_DEVICE,
        FailureReason.SKIPPED,
    }
)
# Reasons of a process that may have waited for what the other one has.
OF_WAITING = frozenset({FailureReason.IN_USE, FailureReason.HUNG})
MAX_REASON = 200  # characters
NO_TIME = (
    "the sides ran at the same time: it may need what {} has, and the budget has no time to run one"
    " side after the other: raise the budget"
)

# Measures workloads once more, one side after the other; the second argument is how many processes
# were started so far.
MeasureInTurn = Callable[[tuple[str, ...], int], MeasuredPair]


def measured_in_turn(
    measured: MeasuredPair, again: MeasureInTurn, *, seconds_left: float
) -> MeasuredPair:
    """Return a pair in which workloads that the other side may have made fail ran in turn.

    A workload that fails again has failed by itself, as the second try says: in the first one the
    other side may have hidden why. There is no second try beyond the time left.
    """
    failures = _of_one_side(measured)
    if not failures:
        return measured
    if sum(measured.seconds.get(name, 0.0) for name in failures) >= seconds_left:
        alone = failures.values()
        noted = (_without_time(each) if each in alone else each for each in measured.failures)
        return replace(measured, failures=tuple(noted))
    newer = again(tuple(failures), measured.processes)
    names = {base.workload for base, _ in newer.complete()}
    reasons = {name: _reason(failures[name]) for name in failures if name in names}
    # Without an end of its own, a second try says nothing, unless the first one was only a guess.
    settled_names = names | {
        each.workload
        for each in newer.failures
        if each.why is not FailureReason.BUDGET or _waits(failures[each.workload])
    }
    return replace(
        measured,
        runs=(
            *(each for each in measured.runs if each.workload not in names),
            *(each for each in newer.runs if each.workload in names),
        ),
        failures=(
            *(each for each in measured.failures if each.workload not in settled_names),
            *(each for each in newer.failures if each.workload in settled_names),
        ),
        windows=(
            *(each for each in measured.windows if each.workload not in names),
            *(each for each in newer.windows if each.workload in names),
        ),
        logs={**measured.logs, **newer.logs},
        seconds={**measured.seconds, **{name: newer.seconds[name] for name in names}},
        processes=measured.processes + newer.processes,
        in_turn={**measured.in_turn, **reasons},
    )


def _of_one_side(measured: MeasuredPair) -> dict[str, Failure]:
    """Return the failures that the other side may have caused, by workload.

    It ran, or failed by itself while it had what this side needs.
    """
    ran = {(run.workload, run.side) for run in measured.runs}
    reasons = {(each.workload, each.side): each.why for each in measured.failures}

    def may_be_caused(failure: Failure) -> bool:
        place = (failure.workload, failure.side.facing)
        if place in reasons:
            return failure.why is FailureReason.IN_USE and reasons[place] is not failure.why
        return failure.why in OF_OTHER_SIDE and place in ran

    return {
        each.workload: each
        for each in measured.failures
        if (each.workload, each.side) not in ran and may_be_caused(each)
    }


def _waits(failure: Failure) -> bool:
    """Return whether a side was ended because it waited, and not by itself."""
    return failure.why is FailureReason.IN_USE and failure.detail.startswith(WAITED)


def _without_time(failure: Failure) -> Failure:
    """Return a failure, with why it was not tried again if the other side may have caused it."""
    if failure.why not in OF_WAITING:
        return failure
    detail = f"{failure.detail}; {NO_TIME.format(failure.side.facing)}"
    # Without a second try, a wait for the other side remains a guess.
    why = FailureReason.HUNG if _waits(failure) else failure.why
    return replace(failure, why=why, detail=detail)


def _reason(failure: Failure) -> str:
    """Return why the sides run in turn, as a clause."""
    what = clean_text(failure.detail).splitlines()
    detail = f" ({what[0][:MAX_REASON]})" if what else ""
    if _waits(failure):
        return f"{failure.side} may wait for what {failure.side.facing} has{detail}"
    return f"{failure.side} fails while {failure.side.facing} runs{detail}"
