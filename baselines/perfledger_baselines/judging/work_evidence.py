"""Finds workloads whose head may no longer do the work of base.

No work is not fast work: a step that became empty, or returns NaN, is not an improvement. A
doubtful workload is not measured until it is accepted in the configuration, or its own check
agrees.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Failure, FailureReason, Run, Side
from perfledger.registration.workload_pattern import is_match
from perfledger.rounding import digits, percentage
from perfledger.step_evidence import ResultState
from perfledger.step_work import BYTES, FLOPS, NOT_COUNTED, Count, StepWork
from perfledger_baselines.judging.gain_doubts.check_answers import (
    agrees,
    differing_paths,
    unsteady_answers,
)
from perfledger_baselines.judging.gain_doubts.end_of_process import end_cost_doubt
from perfledger_baselines.judging.gain_doubts.first_steps import kept_work, start_trade
from perfledger_baselines.judging.gain_doubts.leftover_work import leftover_doubt, unawaited_work
from perfledger_baselines.judging.gain_doubts.mean_steps import MEAN_DOUBT, least_doubtful_gain
from perfledger_baselines.judging.gain_doubts.other_results import other_result
from perfledger_baselines.judging.gain_doubts.undone_steps import (
    clock_doubt,
    undone_doubt,
    undone_on_both_sides,
)
from perfledger_baselines.judging.gain_doubts.workload_pairs import Pairs, pairs_of_workloads
from perfledger_baselines.judging.verdict import Outcome, Verdict

# Share of base's counted work: algorithms save factors, but rarely ten at once.
MIN_WORK = 0.1
# Share of the step time. Below it, missing work would show in the counts or hardly pay.
LARGE_GAIN = 0.5
# Share of the step time: less is not called faster.
MIN_GAIN = 0.005
# Share of the step time: even with equal counts such a gain deserves a look, and without counts it
# needs a check.
HUGE_GAIN = 0.9
# Share of a gain: if the counted work fell by at least this share, the step may simply do less.
MIN_EXPLAINED = 0.5
# A step shorter than this many empty steps cannot be distinguished from an empty one.
EMPTY_STEPS = 2.0
MAX_PATHS = 3  # of an answer's differences, in a message
FINITE_STATES = frozenset({ResultState.FINITE, ResultState.PARTLY_EXAMINED})

DOUBT = "cannot tell whether head still does the work"
UNCOUNTABLE = "none of its work can be counted"
# What settles a doubt, by the suite: only own workloads have a check.
REMEDIES = {
    "": "give the workload a check=, or name it in accepted_work",
    "pytest": "assert in the test that its result is right, and name it in accepted_work",
    "asv": "make sure that its result is right, and name it in accepted_work",
}
# Why a process gave no counts, and what gives it more time.
MORE_TIME = {
    FailureReason.BUDGET: "the budget ended it: raise the budget",
    FailureReason.HUNG: "it took longer than the time limit",
}


@dataclass(frozen=True, slots=True)
class GainDoubt:
    """A reason not to believe that a workload gained more than a share of its step time.

    Without `above`, the reason counts whatever the gain is.
    """

    reason: str
    above: float | None = None

    def applies_to(self, gain: float) -> bool:
        """Return whether a gain is large enough for this doubt."""
        return self.above is None or gain > self.above


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDoubts:
    """What is doubtful about the work of a bundle's heads, whatever its tests show.

    `failures` are those of workloads whose head returns something else, or takes no time. `gains`
    has the doubts about each workload's gain, in the order in which they count. `advice` settles a
    doubt.
    """

    failures: tuple[Failure, ...]
    gains: Mapping[str, tuple[GainDoubt, ...]]
    advice: str

    def unproven_gains(self, gains: Mapping[str, float]) -> dict[str, Failure]:
        """Return a failure for each workload whose gain, a share of its step time, is doubtful."""
        failures: dict[str, Failure] = {}
        for name, gain in gains.items():
            doubts = self.gains.get(name, ())
            reason = next((doubt.reason for doubt in doubts if doubt.applies_to(gain)), "")
            if reason:
                share = f"it is {percentage(gain)} faster, and " if gain > MIN_GAIN else ""
                failures[name] = _unproven_work(name, f"{share}{reason}", advice=self.advice)
        return failures


def work_doubts(bundle: Bundle) -> WorkDoubts:
    """Return what is doubtful about the work of a bundle's heads, however fast they are."""
    pairs = {
        workload: its_pairs
        for workload, its_pairs in pairs_of_workloads(bundle).items()
        if not _is_accepted(bundle, workload)
    }
    failures = (_failure_of(bundle, workload, its_pairs) for workload, its_pairs in pairs.items())
    return WorkDoubts(
        failures=tuple(failure for failure in failures if failure is not None),
        gains={
            workload: (
                *_gain_doubts(bundle, workload, its_pairs),
                _mean_doubt(bundle, workload, its_pairs, workloads=len(pairs)),
            )
            for workload, its_pairs in pairs.items()
        },
        advice=_remedy(bundle),
    )


def _gain_doubts(bundle: Bundle, workload: str, pairs: Pairs) -> Iterator[GainDoubt]:
    """Yield the reasons not to believe that a workload became faster, the strongest first.

    The workload's own check settles all but the first: it examines the result of the first step.
    """
    if reason := undone_doubt(pairs) or undone_on_both_sides(pairs):
        yield GainDoubt(reason)
    if agrees(pairs):
        return
    if reason := leftover_doubt(pairs) or end_cost_doubt(pairs) or clock_doubt(pairs):
        yield GainDoubt(reason)
    if reason := _lost_check_doubt(pairs):
        yield GainDoubt(reason, LARGE_GAIN)
    if reason := _count_doubt(bundle, workload):
        yield GainDoubt(reason, HUGE_GAIN if reason == UNCOUNTABLE else LARGE_GAIN)
    if reason := _lost_numbers(pairs):
        yield GainDoubt(reason, LARGE_GAIN)
    if not _first_count(_counts(bundle, workload, Side.BASE)) and (
        reason := _unexamined_part(pairs)
    ):
        yield GainDoubt(reason, LARGE_GAIN)


def _mean_doubt(bundle: Bundle, workload: str, pairs: Pairs, *, workloads: int) -> GainDoubt:
    """Return the doubt about a gain beyond the margin that only a typical step has.

    No check settles it: the first result is right, whichever step did the work.
    """
    margin = bundle.plan.margins.get(workload, bundle.plan.margin)
    return GainDoubt(MEAN_DOUBT, max(margin, least_doubtful_gain(pairs, workloads=workloads)))


def gain_warnings(bundle: Bundle, verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """Return a warning for each improvement that may be less work.

    It is huge, or large and nothing counts the work, or the counted work fell with the time.
    """
    pairs = pairs_of_workloads(bundle)
    warnings: list[str] = []
    for verdict in verdicts:
        gain, name = _gain(verdict), verdict.workload
        if verdict.outcome is not Outcome.IMPROVED or gain <= 0:
            continue
        faster = f"{name} is {percentage(gain)} faster"
        if gain > HUGE_GAIN:
            warnings.append(f"{faster}: check that its result is still right")
        elif not (_is_accepted(bundle, name) or agrees(pairs.get(name, {}))):
            doubt = _gain_remark(bundle, name, pairs.get(name, {}), gain)
            warnings += [f"{faster} and {doubt}"] if doubt else []
    return tuple(warnings)


def _gain_remark(bundle: Bundle, workload: str, pairs: Pairs, gain: float) -> str:
    """Return the first reason to look at a gain, with advice; "" without one."""
    look = "check that it still does all that base's does"
    done = "check that it is done when a step returns"
    remarks = (
        _with_advice(other_result(pairs), look),
        _less_work(bundle, workload, gain),
        _with_advice(_lost_numbers(pairs), look),
        _unexamined_part(pairs),
        _with_advice(unawaited_work(pairs), done),
        start_trade(pairs, gain),
        kept_work(pairs, gain),
    )
    return next(filter(None, remarks), "")


def _with_advice(reason: str, advice: str) -> str:
    return f"{reason}: {advice}" if reason else ""


def undone_warnings(bundle: Bundle, verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """Return a warning for each regression of which both sides may measure steps without work.

    Any other workload of this kind is not measured.
    """
    slower = {each.workload for each in verdicts if each.outcome is Outcome.REGRESSED}
    return tuple(
        f"{workload}: {reason}"
        for workload, pairs in pairs_of_workloads(bundle).items()
        if workload in slower
        and not _is_accepted(bundle, workload)
        and (reason := undone_on_both_sides(pairs))
    )


def _less_work(bundle: Bundle, workload: str, gain: float) -> str:
    """Return that a gain may be less work, with advice; "" if there is no such sign."""
    base, head = (_counts(bundle, workload, side) for side in Side)
    look = "check that its step still does all that base's does"
    name = _first_count(base)
    if not name:
        unknown = f"{UNCOUNTABLE}: {look}{_or_check(bundle)}"
        return unknown if gain > LARGE_GAIN else ""
    before, after = base[name], head.get(name)
    if after is None or not (before.is_complete and after.is_complete):
        return ""
    if after.value > (1 - MIN_EXPLAINED * gain) * before.value:
        return ""
    return f"its counted work fell {_fall(before, after)}: {look}"


def _lost_numbers(pairs: Pairs) -> str:
    """Return that head's step returns nothing that can be examined, unlike base's; "" otherwise."""
    base, head = (_states(pairs, side) for side in Side)
    if base != {ResultState.FINITE} or head != {ResultState.UNKNOWN}:
        return ""
    return "its step no longer returns numbers"


def _unexamined_part(pairs: Pairs) -> str:
    """Return that a part of what head's step returns was not examined; "" if it all was."""
    if ResultState.PARTLY_EXAMINED not in _states(pairs, Side.HEAD):
        return ""
    return "its step returns more than is examined: the rest may hold a NaN or an infinity"


def _gain(verdict: Verdict) -> float:
    """Return the share of the step time that head saves; 0 for other metrics."""
    if verdict.metric.name != STEP_TIME.name or verdict.estimate is None:
        return 0.0
    return -verdict.estimate.change


def _is_accepted(bundle: Bundle, workload: str) -> bool:
    return any(is_match(pattern, workload) for pattern in bundle.accepted_work)


def _failure_of(bundle: Bundle, workload: str, pairs: Pairs) -> Failure | None:
    if paths := differing_paths(pairs):
        named = ", ".join(path or "its value" for path in paths[:MAX_PATHS])
        detail = f"the workload's check disagrees between base and head: {named}"
        detail += unsteady_answers(pairs, paths)
        why = FailureReason.DIFFERENT
        return Failure(workload=workload, side=Side.HEAD, why=why, detail=detail)
    doubt = "" if agrees(pairs) else _result_doubt(pairs) or _time_doubt(pairs)
    if not doubt:
        return None
    return _unproven_work(workload, doubt, advice=_remedy(bundle))


def _remedy(bundle: Bundle) -> str:
    """Return what settles a doubt, which is not the same for other tools' benchmarks."""
    return REMEDIES.get(str(bundle.settings.get("suite", "")), REMEDIES[""])


def _or_check(bundle: Bundle) -> str:
    """Return the end of a piece of advice: to give a check, where a workload can have one."""
    return ", or give the workload a check=" if _remedy(bundle) == REMEDIES[""] else ""


def _unproven_work(workload: str, reason: str, *, advice: str) -> Failure:
    detail = f"{DOUBT}: {reason}; {advice}"
    return Failure(workload=workload, side=Side.HEAD, why=FailureReason.UNPROVEN, detail=detail)


def _result_doubt(pairs: Pairs) -> str:
    """Return what is wrong with head's result; "" if nothing is, or if base's is not finite too."""
    base, head = (_states(pairs, side) for side in Side)
    if ResultState.NOT_READY in head:
        early = "returns before its work is done (a coroutine, iterator, future or function)"
        if ResultState.NOT_READY in base:
            return f"its step {early}, on both sides: only its start is measured"
        return f"its step {early}"
    if ResultState.NO_DATA in head and base and ResultState.NO_DATA not in base:
        return "its step returns tensors that have a shape and no data, and base's have data"
    if ResultState.NOT_FINITE in head and base and base <= FINITE_STATES:
        return "its step returns a NaN or an infinity, and base's does not"
    return ""


def _states(pairs: Pairs, side: Side) -> set[ResultState]:
    return {sides[side].evidence.result for sides in pairs.values() if side in sides}


def _time_doubt(pairs: Pairs) -> str:
    """Return that most of head's steps take no longer than empty ones; "" otherwise."""
    runs = [sides[Side.HEAD] for sides in pairs.values() if Side.HEAD in sides]
    ratios = [ratio for run in runs if (ratio := _empty_steps(run)) is not None]
    if 2 * len(ratios) <= len(runs) or median(ratios) >= EMPTY_STEPS:
        return ""
    return f"its step takes {digits(median(ratios), 2)} times as long as an empty one"


def _empty_steps(run: Run) -> float | None:
    """Return a run's typical step in empty steps; None if it is clearly longer than one."""
    empty_s, times = run.evidence.empty_step_s, run.samples.get(STEP_TIME.name)
    return median(times) / empty_s if empty_s and times else None


def _lost_check_doubt(pairs: Pairs) -> str:
    """Return that base's check answers and head has none; "" otherwise."""
    answers = {
        side: any(sides[side].evidence.answer for sides in pairs.values() if side in sides)
        for side in Side
    }
    if answers[Side.BASE] and not answers[Side.HEAD]:
        return "it no longer has the check that base has"
    return ""


def _count_doubt(bundle: Bundle, workload: str) -> str:
    """Return how the counted work fails to confirm a large gain; "" if it does confirm it."""
    base, head = (_counts(bundle, workload, side) for side in Side)
    if cut := _cut_short(bundle, workload):
        return cut
    name = _first_count(base)
    if not name:
        return UNCOUNTABLE
    before, after = base[name], head.get(name)
    if after is None or not after.is_complete:
        return "its work cannot be counted completely"
    if before.is_complete and after.value < MIN_WORK * before.value:
        return f"its counted work fell {_fall(before, after)}"
    return ""


def _cut_short(bundle: Bundle, workload: str) -> str:
    """Return that time ended the counting of a step's work, with advice; "" if it did not."""
    for side, work in bundle.work_of(workload).items():
        for reason, why in MORE_TIME.items():
            if any(limit.startswith(f"{NOT_COUNTED}: {reason}:") for limit in work.limits):
                return f"its work was not counted on {side} ({why})"
    return ""


def _first_count(counts: Mapping[str, Count]) -> str:
    """Return the name of the count that is most informative about the work; "" if there is none."""
    return next((name for name in (FLOPS, BYTES) if name in counts and counts[name].value > 0), "")


def _fall(before: Count, after: Count) -> str:
    return f"from {digits(before.value, 3)} to {digits(after.value, 3)} {after.unit}"


def _counts(bundle: Bundle, workload: str, side: Side) -> dict[str, Count]:
    work = bundle.work_of(workload).get(side, StepWork())
    return {count.name: count for count in work.counts}
