"""Compares how processes begin: set-ups and first steps may do the work of later steps."""

from collections.abc import Callable
from statistics import median

from perfledger.metrics import CPU_TIME
from perfledger.records import Run
from perfledger.rounding import digits, integer
from perfledger_baselines.judging.gain_doubts.workload_pairs import (
    Pairs,
    complete_pairs,
    step_times,
)

# Relative to base's: starts of unchanged processes differ by less.
MIN_START_GROWTH = 0.1
# Of a typical step: a longer first step of base compiles or reads something, and tells nothing.
MAX_FIRST_STEP = 2.0
# Share of the step time. Beside other programs first steps differ by more than a smaller gain.
MIN_KEPT_GAIN = 0.15
# Part of a gain that the first step of code without a cache has at least.
MIN_FIRST_GAIN = 0.25


def start_trade(pairs: Pairs, gain: float) -> str:
    """Return that head's start costs more than all its measured steps save; "" otherwise.

    `gain` is the share of the step time that head saves. In every pair, head's set-up and first
    step have more CPU time than base's by over a tenth, and by more than the steps save. A compiler
    does that, too.
    """
    more_s, saved_s = list[float](), list[float]()
    for base, head in complete_pairs(pairs):
        before_s, after_s = base.evidence.start_cpu_s, head.evidence.start_cpu_s
        if before_s is None or after_s is None or not step_times(base):
            return ""
        saved_s.append(gain * median(step_times(base)))
        more_s.append(after_s - before_s)
        steps = head.evidence.steps_per_reading * len(step_times(head))
        if more_s[-1] <= max(MIN_START_GROWTH * before_s, saved_s[-1] * steps):
            return ""
    if not more_s or median(saved_s) <= 0:
        return ""
    return (
        f"its set-up and first step take {digits(median(more_s), 2)} s more CPU time, as much as "
        f"{integer(median(more_s) / median(saved_s))} steps save: check that they do not do the "
        "work of later steps"
    )


def kept_work(pairs: Pairs, gain: float) -> str:
    """Return that head's first step gains nothing, unlike its later ones; "" otherwise.

    Later steps may find what the first one computed. It is known where base's first step is a
    typical one: by its CPU time if the set-up costs next to nothing, else by its wall time. The
    harness needs some 5 ms of a set-up, so that shorter steps tell nothing beside other programs.
    """
    if gain < MIN_KEPT_GAIN:
        return ""
    gains = _first_gains(pairs, _start_cpu_s) or _first_gains(pairs, _first_step_s)
    if not gains or median(gains) > MIN_FIRST_GAIN * gain:
        return ""
    return (
        "its first step is as long as base's: later ones may find what it computed; if real inputs "
        "differ from call to call, let the steps' inputs differ, too"
    )


def _first_gains(pairs: Pairs, times_of: Callable[[Run], tuple[float, float]]) -> list[float]:
    """Return what head's first step saves of a typical one; none unless base's is nearly typical.

    `times_of` returns the times of a run's first step and of a typical one, 0 if unknown.
    """
    times = [(times_of(base), times_of(head)[0]) for base, head in complete_pairs(pairs)]
    known_times = [each for each in times if min(*each[0], each[1]) > 0]
    if not known_times or len(known_times) < len(times):
        return []
    if median(first / typical for (first, typical), _ in known_times) > MAX_FIRST_STEP:
        return []
    return [(first - head) / typical for (first, typical), head in known_times]


def _start_cpu_s(run: Run) -> tuple[float, float]:
    typical = run.samples.get(CPU_TIME.name, ())
    return run.evidence.start_cpu_s or 0.0, median(typical) if typical else 0.0


def _first_step_s(run: Run) -> tuple[float, float]:
    typical = step_times(run)
    return run.warmups_s[0] if run.warmups_s else 0.0, median(typical) if typical else 0.0
