"""Measures a pair again if its device throttled, after giving it time to cool."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from perfledger.metrics import STEP_TIME
from perfledger.records import Failure, FailureReason
from perfledger_runners.measuring.measured_pair import MeasuredPair

# Heat sinks need seconds, a rack with other busy devices minutes; longer pauses do not help.
FIRST_PAUSE_S = 5.0
PAUSE_FACTOR = 2.0
MAX_TRIES = 5  # of a throttled pair, after longer and longer waits
# The key in a run's left_out for the steps of earlier tries.
OF_THROTTLED_TRIES = "of tries on a throttled device"

# Measures workloads as a pair once more; the second argument is how many processes were started so
# far.
MeasureAgain = Callable[[tuple[str, ...], int], MeasuredPair]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoolingTime:
    """How long a device may cool: the rest of the budget, and the function that waits."""

    seconds_left: Callable[[], float]
    wait: Callable[[float], None]


def measured_when_cool(
    measured: MeasuredPair, again: MeasureAgain, cooling: CoolingTime
) -> MeasuredPair:
    """Return a pair whose throttled workloads were measured again, if the budget allowed.

    Each try follows a pause twice as long as the one before. A workload still throttled at the end
    has failed, and its failure says how often it was tried.
    """
    pause_s = FIRST_PAUSE_S
    for tries in range(1, MAX_TRIES + 1):
        hot = _throttled_workloads(measured)
        cost_s = pause_s + sum(measured.seconds.get(name, 0.0) for name in hot)
        if not hot:
            return measured
        if tries == MAX_TRIES or cost_s >= cooling.seconds_left():
            return _with_tries(measured, tries)
        cooling.wait(pause_s)
        measured = _with_newer(measured, again(hot, measured.processes))
        pause_s *= PAUSE_FACTOR
    return measured


def _throttled_workloads(measured: MeasuredPair) -> tuple[str, ...]:
    """Return the workloads that failed only because the device throttled."""
    reasons: dict[str, set[FailureReason]] = {}
    for failure in measured.failures:
        reasons.setdefault(failure.workload, set()).add(failure.why)
    return tuple(
        name for name in measured.workloads if reasons.get(name) == {FailureReason.THROTTLED}
    )


def _with_newer(measured: MeasuredPair, newer: MeasuredPair) -> MeasuredPair:
    """Return the pair with the newer try of some workloads, which says what it replaces.

    A try that the budget cut short replaces nothing: the workload failed because of its device.
    """
    cut_short = {each.workload for each in newer.failures if each.why is FailureReason.BUDGET}
    names = set(newer.workloads) - cut_short
    steps = {
        (run.workload, run.side): len(run.samples.get(STEP_TIME.name, ()))
        + run.left_out.get(OF_THROTTLED_TRIES, 0)
        for run in measured.runs
        if run.workload in names
    }
    newer_runs = tuple(
        replace(run, left_out={**run.left_out, OF_THROTTLED_TRIES: count})
        if (count := steps.get((run.workload, run.side)))
        else run
        for run in newer.runs
        if run.workload in names
    )
    return replace(
        measured,
        runs=(*(each for each in measured.runs if each.workload not in names), *newer_runs),
        failures=(
            *(each for each in measured.failures if each.workload not in names),
            *(each for each in newer.failures if each.workload in names),
        ),
        windows=(
            *(each for each in measured.windows if each.workload not in names),
            *(each for each in newer.windows if each.workload in names),
        ),
        logs={**measured.logs, **newer.logs},
        seconds={**measured.seconds, **newer.seconds},
        processes=measured.processes + newer.processes,
    )


def _with_tries(measured: MeasuredPair, tries: int) -> MeasuredPair:
    return replace(measured, failures=tuple(_with_count(each, tries) for each in measured.failures))


def _with_count(failure: Failure, tries: int) -> Failure:
    if failure.why is not FailureReason.THROTTLED or tries == 1:
        return failure
    return replace(failure, detail=f"in each of {tries} tries, with pauses: {failure.detail}")
