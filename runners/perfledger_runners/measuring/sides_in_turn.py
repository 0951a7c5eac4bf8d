"""Measures the sides one after the other if one of them fails while the other one runs.

Base and head of a workload run at the same time on a CPU. What only one process can have, such as a
fixed port, a lock or a file of a fixed name, then makes one side fail, and no commit is to blame.
"""

from collections.abc import Callable
from dataclasses import replace

from perfledger.records import Failure, FailureReason, Side
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
MAX_REASON = 200  # characters

# Measures workloads once more, one side after the other; the second argument is how many processes
# were started so far.
MeasureInTurn = Callable[[tuple[str, ...], int], MeasuredPair]


def measured_in_turn(
    measured: MeasuredPair, again: MeasureInTurn, *, seconds_left: float
) -> MeasuredPair:
    """Return a pair whose workloads that failed on one side alone were measured in turn.

    A workload that fails again has failed by itself. There is no second try beyond the time left.
    """
    failures = _of_one_side(measured)
    if not failures or sum(measured.seconds.get(name, 0.0) for name in failures) >= seconds_left:
        return measured
    newer = again(tuple(failures), measured.processes)
    names = {base.workload for base, _ in newer.complete()}
    reasons = {name: _reason(failures[name]) for name in failures if name in names}
    return replace(
        measured,
        runs=(
            *(each for each in measured.runs if each.workload not in names),
            *(each for each in newer.runs if each.workload in names),
        ),
        failures=tuple(each for each in measured.failures if each.workload not in names),
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
    """Return the failures of workloads that ran on the other side, by workload."""
    ran = {(run.workload, run.side) for run in measured.runs}
    failed = {(each.workload, each.side) for each in measured.failures}
    return {
        each.workload: each
        for each in measured.failures
        if each.why in OF_OTHER_SIDE
        and (each.workload, _facing(each.side)) in ran - failed
        and (each.workload, each.side) not in ran
    }


def _facing(side: Side) -> Side:
    return Side.HEAD if side is Side.BASE else Side.BASE


def _reason(failure: Failure) -> str:
    """Return why the sides run in turn, as a clause."""
    what = clean_text(failure.detail).splitlines()
    detail = f" ({what[0][:MAX_REASON]})" if what else ""
    return f"{failure.side} fails while {_facing(failure.side)} runs{detail}"
