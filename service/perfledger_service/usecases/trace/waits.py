"""Finds longer steps that wait, by the time that processors worked for both sides."""

from dataclasses import replace

from perfledger_baselines.judging.verdict import EffectEstimate
from perfledger_profiles.diff.cause import Cause, StepTimeExplanation
from perfledger_profiles.diff.suggestions import PYTHON

# Share of a longer step: with less time of processors, most of it is a wait.
MAX_WAIT_CPU_SHARE = 0.5

WAITS = (
    "the step waits outside of operations, and no processor works for it meanwhile: look for a "
    "sleep, a lock, a file, a process or the network (py-spy dump and strace show which)"
)


def with_waits(
    explanation: StepTimeExplanation,
    timed: EffectEstimate | None,
    processors: EffectEstimate | None,
    *,
    cores: int,
) -> StepTimeExplanation:
    """Return the explanation with advice on a wait if a longer step takes no processor longer.

    `timed` and `processors` are the step's time and that of processors, in seconds. Several cores
    may have worked for an operation that is gone, so that Python code in its place takes no more
    time of processors. So a wait is told only if head's processors cannot have worked all the time,
    or if they did no longer even if all `cores` worked for whatever became shorter.
    """
    if timed is None or processors is None:
        return explanation
    longer_s = timed.head - timed.base
    worked_s = processors.head - processors.base
    most_s = MAX_WAIT_CPU_SHARE * longer_s
    if longer_s <= 0 or worked_s > most_s:
        return explanation
    is_idle = timed.head - processors.head >= longer_s - most_s
    causes = (
        replace(one, suggestion=WAITS)
        if one.suggestion == PYTHON
        and (is_idle or worked_s + cores * _shorter_s(one, explanation) <= most_s)
        else one
        for one in explanation.causes
    )
    return replace(explanation, causes=tuple(causes))


def _shorter_s(cause: Cause, explanation: StepTimeExplanation) -> float:
    """Return by how much the other parts of the profiled steps became shorter."""
    deltas = [one.delta_seconds for one in explanation.causes if one is not cause]
    return sum(max(0.0, -delta_s) for delta_s in (*deltas, explanation.rest_seconds))
