"""Measures the sides one after the other where they cannot take turns.

Base and head of a workload run at the same time on a CPU. What only one process can have, such as a
fixed port, a lock or a file of a fixed name, then makes one side fail, or wait for the other one
forever, and no commit is to blame. And the workers of a data loader prepare batches while the other
side takes its turn: steps would find them ready, however slow the workers are.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import median

from perfledger.metrics import STEP_TIME
from perfledger.records import Failure, FailureReason, Run
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
# Work between turns, as a share of the steps of base. Others leave a ten thousandth; a data
# loader beside ten tasks a core left a twentieth.
MIN_AHEAD = 0.02
# In all. The steps of a run may take a thousandth of a second in all, and clocks are read between.
MIN_AHEAD_S = 0.0005
AHEAD = (
    "its threads or processes work on between turns, as those of a data loader do (whether head "
    "leaves more to them than base is then unknown)"
)
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
    """Return a pair whose workloads that cannot take turns were measured one side after the other.

    Either side may have made the other one fail, or works ahead. A workload that fails again has
    failed by itself, as the second try says: in the first one the other side may have hidden why.
    There is no second try beyond the time left.
    """
    failures, ahead = _of_one_side(measured), _working_ahead(measured)
    if not failures and not ahead:
        return measured
    if sum(measured.seconds.get(name, 0.0) for name in (*failures, *ahead)) >= seconds_left:
        alone = failures.values()
        noted = (_without_time(each) if each in alone else each for each in measured.failures)
        return replace(measured, failures=tuple(noted))
    newer = again((*failures, *ahead), measured.processes)
    names = {base.workload for base, _ in newer.complete()}
    all_reasons = {**dict.fromkeys(ahead, AHEAD), **_reasons(failures)}
    reasons = {name: reason for name, reason in all_reasons.items() if name in names}
    # Without an end of its own, a second try says nothing, unless the first one was only a guess.
    settled_names = names | {
        each.workload
        for each in newer.failures
        if each.workload in failures
        and (each.why is not FailureReason.BUDGET or _waits(failures[each.workload]))
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


def _working_ahead(measured: MeasuredPair) -> tuple[str, ...]:
    """Return the workloads whose base leaves much work to threads or processes between turns.

    Where only head does, its steps may return too early, which the judge finds.
    """
    return tuple(base.workload for base, _ in measured.complete() if _share_ahead(base) > MIN_AHEAD)


def _share_ahead(run: Run) -> float:
    times, left_s = run.samples.get(STEP_TIME.name, ()), run.evidence.leftover_s
    step_s = median(times) if times else 0.0
    if not run.turns or left_s is None or step_s <= 0 or left_s * len(times) < MIN_AHEAD_S:
        return 0.0
    return left_s / step_s


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


def _reasons(failures: Mapping[str, Failure]) -> dict[str, str]:
    return {name: _reason(failure) for name, failure in failures.items()}


def _reason(failure: Failure) -> str:
    """Return why the sides run in turn, as a clause."""
    what = clean_text(failure.detail).splitlines()
    detail = f" ({what[0][:MAX_REASON]})" if what else ""
    if _waits(failure):
        return f"{failure.side} may wait for what {failure.side.facing} has{detail}"
    return f"{failure.side} fails while {failure.side.facing} runs{detail}"
