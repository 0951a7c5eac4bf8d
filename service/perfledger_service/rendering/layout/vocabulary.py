"""Holds the words, marks and colours of outcomes, metrics and causes."""

import math

from perfledger import step_work
from perfledger.compile_record import CompilationKind
from perfledger.metrics import (
    COLD_START,
    COMPILE_TIME,
    CPU_ACTIVE,
    CPU_TIME,
    ENERGY_PER_STEP,
    FAMILY_PREFIX,
    FLOPS_PER_STEP,
    KERNELS,
    MEMORY_OVER_TIME,
    PEAK_MEMORY,
    SM_ACTIVE,
    STEP_TIME,
    STEP_TIME_P95,
    STEP_TIME_P99,
)
from perfledger.profile import Bucket, Compilation
from perfledger.records import FailureReason
from perfledger_baselines.judging.explanation import DecidedBy, VerdictExplanation, is_practical
from perfledger_baselines.judging.judge import is_trade
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_cost_models.change_price.cost_policy import PolicyOutcome
from perfledger_cost_models.quote import Provenance
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.diff.cause import Cause, ChangeKind, ChangeReason, CompileCause
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.report import Conclusion, Report

_MAX_METRIC = 40
# The order in which verdicts are shown: those that need attention first.
OUTCOME_ORDER = (
    Outcome.REGRESSED,
    Outcome.NOT_MEASURED,
    Outcome.UNDECIDED,
    Outcome.IMPROVED,
    Outcome.UNCHANGED,
)

# What a change refers to if CPU time settled the verdict under load.
WITHOUT_WAITS = "without waits for a core"
WITH_WAITS = "with waits for a core"

# Figures of these units include the unit; any other unit is shown beside the figure.
_FIGURES = {
    "s": number_format.seconds,
    "B": number_format.byte_count,
    "1": number_format.share,
    "FLOP": number_format.flops,
    "FLOP/s": number_format.flops_per_second,
    "B/s": number_format.bytes_per_second,
    "Hz": number_format.hertz,
    "J": number_format.joules,
}
_LABELS = {
    STEP_TIME.name: "step time",
    STEP_TIME_P95.name: "step time p95",
    STEP_TIME_P99.name: "step time p99",
    COLD_START.name: "cold start",
    COMPILE_TIME.name: "compile time",
    MEMORY_OVER_TIME.name: "memory over time",
    KERNELS.name: "kernels",
    PEAK_MEMORY.name: "peak memory",
    CPU_TIME.name: "CPU time",
    CPU_ACTIVE.name: "CPU active",
    SM_ACTIVE.name: "SM active",
    ENERGY_PER_STEP.name: "energy per step",
    FLOPS_PER_STEP.name: "work per step",
}
_COUNTS = {
    step_work.FLOPS: "floating-point operations",
    step_work.TRANSCENDENTALS: "exponentials, logarithms and similar",
    step_work.BYTES: "bytes read and written",
    step_work.OPERATORS: "operators called",
    step_work.PROGRAMS: "compiled programs run",
    step_work.PROGRAM_MEMORY: "memory of the largest program",
    step_work.ARGUMENT_MEMORY: "its arguments",
    step_work.OUTPUT_MEMORY: "its results",
    step_work.TEMPORARY_MEMORY: "its temporaries",
    step_work.ALIASED_MEMORY: "its results in the memory of arguments",
    step_work.CODE_MEMORY: "its code",
}
_WHY = {
    FailureReason.MISSING: "is not registered",
    FailureReason.CHANGED: "has a different unit of work than before",
    FailureReason.RAISED: "raised an error",
    FailureReason.HUNG: "did not finish in time",
    FailureReason.OUT_OF_MEMORY: "ran out of memory",
    FailureReason.KILLED: "was killed",
    FailureReason.GARBAGE: "wrote to the harness's own descriptor",
    FailureReason.NO_DEVICE: "found no device to run on",
    FailureReason.OTHER_DEVICE: "ran on a different device than base",
    FailureReason.WRONG_CODE: "used code or data other than its commit's",
    FailureReason.BUILD: "could not be built",
    FailureReason.PYTHON: "has no interpreter that can run it",
    FailureReason.THROTTLED: "ran on a throttled device",
    FailureReason.BUDGET: "was not finished before the time limit",
    FailureReason.UNPROVEN: "has unproven work",
    FailureReason.DIFFERENT: "has a different result",
    FailureReason.SKIPPED: "skipped itself",
    FailureReason.NOT_AVAILABLE: "is not available",
    FailureReason.PACKAGES: "has packages that differ by chance",
    FailureReason.IN_USE: "needs something that is in use",
}
# At most fourteen characters: the first column of a terminal's table.
_BUCKETS = {
    Bucket.COMPUTE: "compute",
    Bucket.COMMUNICATION: "communication",
    Bucket.COPY: "host copies",
    Bucket.DEVICE_COPY: "device copies",
    Bucket.PEER_COPY: "peer copies",
    Bucket.MEMSET: "memset",
    Bucket.INPUT: "input",
    Bucket.SYNC: "device wait",
    Bucket.RUNTIME: "runtime calls",
    Bucket.CPU: "CPU",
    Bucket.OTHER: "other",
}
_BOTTLENECKS = {
    Bottleneck.ENVIRONMENT: "the machine, not the code",
    Bottleneck.INPUT: "input",
    Bottleneck.COMMUNICATION: "communication",
    Bottleneck.TRANSFER: "copies between host and device",
    Bottleneck.HOST: "the host",
    Bottleneck.DEVICE: "work on the device",
    Bottleneck.COMPUTE: "compute",
    Bottleneck.MEMORY: "memory bandwidth",
    Bottleneck.LATENCY: "latency",
    Bottleneck.UNKNOWN: "something the profile does not show",
}
_REASONS = {
    ChangeReason.UNKNOWN: "",
    ChangeReason.CLOCK: "all by the same ratio, as with a different clock",
    ChangeReason.SHAPE: "different input sizes",
    ChangeReason.TYPE: "a different type",
    ChangeReason.VARIANT: "a different kernel for the same work",
    ChangeReason.FUSION: "fused or split",
    ChangeReason.OCCUPANCY: "a different occupancy",
    ChangeReason.BYTES: "a different amount of memory moved",
}
# Reasons for verdicts that more pairs may change.
_UNDECIDED = (
    DecidedBy.TOO_FEW_PAIRS,
    DecidedBy.WARNING,
    DecidedBy.FAMILY,
    DecidedBy.FLOOR,
    DecidedBy.NOISE,
)
# Changes that differ by less, in the last digit of a figure or as a share of it, look the same.
_SAME_CHANGE = 5e-4
_SAME_SHARE = 0.02
_WARNING_MARK = "\N{WARNING SIGN}\N{VARIATION SELECTOR-16}"


def mark(outcome: Outcome, *, is_warning: bool = False) -> str:
    """Return the mark of an outcome; marks differ in shape, and a legend explains them."""
    if is_warning:
        return _WARNING_MARK
    match outcome:
        case Outcome.REGRESSED:
            return "\N{LARGE RED CIRCLE}"
        case Outcome.IMPROVED:
            return "\N{WHITE HEAVY CHECK MARK}"
        case Outcome.UNCHANGED:
            return "\N{HEAVY MINUS SIGN}"
        case Outcome.UNDECIDED:
            return "\N{WHITE QUESTION MARK ORNAMENT}"
        case Outcome.NOT_MEASURED:
            return "\N{NO ENTRY SIGN}"


def conclusion_mark(report: Report) -> str:
    """Return the mark of the whole check, for the headline."""
    match report.conclusion:
        case Conclusion.FAILURE:
            is_red = any(
                verdict.is_regression and not is_trade(verdict, report.verdicts)
                for verdict in report.verdicts
            )
            is_red = is_red or any(
                evaluation.outcome is PolicyOutcome.FAILS
                for evaluation in report.policy_evaluations
            )
            is_red = is_red or bool(report.exceeded_limits)
            return mark(Outcome.REGRESSED if is_red else Outcome.NOT_MEASURED)
        case Conclusion.NEUTRAL if report.acceptances:
            return mark(Outcome.REGRESSED, is_warning=True)
        case Conclusion.ACTION_REQUIRED | Conclusion.NEUTRAL:
            return mark(Outcome.UNDECIDED)
        case Conclusion.SUCCESS:
            has_warning = any(verdict.is_warning for verdict in report.verdicts)
            return mark(Outcome.IMPROVED, is_warning=has_warning)


def verdict_words(verdict: Verdict, *, has_traded: bool = False) -> str:
    """Return the word of a verdict, with its qualification."""
    if has_traded:
        return f"{verdict.outcome}, for speed"
    return f"{verdict.outcome}, warning" if verdict.is_warning else str(verdict.outcome)


def change_basis(verdict: Verdict) -> str:
    """Return what a change is of if that is not plain, else "".

    On a busy machine the figures of wall times may be without waits for a core. The change of
    kernels is the mean of their pairs, while the values are of the median pair.
    """
    estimate = verdict.shown_estimate
    if estimate is None:
        return ""
    if verdict.excludes_waits or verdict.includes_waits:
        return WITHOUT_WAITS if verdict.excludes_waits else WITH_WAITS
    is_known = estimate.base > 0 and math.isfinite(estimate.head) and math.isfinite(estimate.change)
    ratio = estimate.head / estimate.base - 1 if is_known else estimate.change
    is_same = abs(ratio - estimate.change) <= max(_SAME_CHANGE, _SAME_SHARE * abs(estimate.change))
    return "" if not is_known or is_same else "mean of the pairs"


def undecided_advice(
    explanation: VerdictExplanation, *, pairs: int, seconds_per_pair: float | None
) -> str:
    """Return what would settle an undecided verdict, to append to its reason; "" if it is settled.

    `pairs` have been measured; a further one takes `seconds_per_pair`.
    """
    needed = explanation.pairs_needed
    is_short = explanation.decided_by is DecidedBy.TOO_FEW_PAIRS
    if explanation.decided_by not in _UNDECIDED or (is_short and needed is None):
        return ""
    more = (needed or 0) - pairs
    if needed is None or not is_practical(needed, more=more, seconds_per_pair=seconds_per_pair):
        return "; no practical number of pairs like these would settle it"
    advice = f"; about {quantity(needed, 'pair')} would settle it"
    if explanation.expected_outcome is None:  # the reason has their number
        advice = ""
    if seconds_per_pair is None or more <= 0:
        return advice
    time = number_format.duration(round(more * seconds_per_pair))
    takes = "takes" if more == 1 else "take"
    return f"{advice}, {time} more" if advice else f"; {quantity(more, 'pair')} more {takes} {time}"


def tone(outcome: str, *, is_warning: bool = False) -> str:
    """Return the name of an outcome's colour in the style sheet."""
    tones = {str(tones): str(tones).replace(" ", "-") for tones in Outcome}
    return "warning" if is_warning else tones.get(outcome, "unknown")


def metric_label(name: str) -> str | None:
    """Return the label of a metric, None for an unknown one."""
    return _LABELS.get(name)


def metric_title(name: str) -> str:
    """Return the label of a metric, or its own name, clean and at most 40 characters long."""
    return _LABELS.get(name) or clean(name, limit=_MAX_METRIC)


def series_label(metric: str) -> str:
    """Return the label of a series; names of kernel families and unknown metrics are untrusted."""
    family = metric.removeprefix(FAMILY_PREFIX)
    return metric_label(metric) or (metric if family == metric else f"kernel family {family}")


def metric_order(name: str) -> tuple[int, str]:
    """Return a metric's position in a list: step time first, unknown ones last."""
    place = list(_LABELS).index(name) if name in _LABELS else len(_LABELS)
    return place, name


def count_label(name: str) -> str:
    """Return the label of a work count; an unknown name is untrusted text."""
    return _COUNTS.get(name, name)


def count_with_unit(number: float, unit: str) -> str:
    """Return a count as a figure, with its unit if it has one."""
    return number_format.count(number) if unit == "1" else value(number, unit)


def value(number: float, unit: str) -> str:
    """Return a metric's value as a figure; an untrusted unit is left out."""
    return _FIGURES.get(unit, number_format.count)(number)


def foreign_unit(unit: str) -> str:
    """Return the unit that `value` left out, else ""."""
    return "" if unit in _FIGURES else unit


def change_phrase(cause: Cause) -> str:
    """Return how an operation's time changed, without names."""
    if cause.is_between_calls:
        return "takes longer" if cause.delta_seconds > 0 else "takes less time"
    before, after = map(number_format.count, (cause.base_count, cause.head_count))
    match cause.kind:
        case ChangeKind.RATE:
            pace = f"calls are {change_kind_phrase(cause)}"
            return pace if before == after else f"{pace}: {after} a step, {before} before"
        case ChangeKind.COUNT:
            return f"{call_count_phrase(cause.head_count)} a step, {before} before"
        case ChangeKind.NEW:
            return f"new, {call_count_phrase(cause.head_count)} a step"
        case ChangeKind.GONE:
            return f"removed, {call_count_phrase(cause.base_count)} a step before"
        case ChangeKind.REPLACED:
            return "replaces"


def change_kind_phrase(cause: Cause) -> str:
    """Return how an operation's time changed in a word or two, for a narrow column."""
    match cause.kind:
        case ChangeKind.RATE:
            return "slower" if cause.delta_seconds > 0 else "faster"
        case ChangeKind.COUNT:
            return "more calls" if cause.head_count > cause.base_count else "fewer calls"
        case ChangeKind.NEW:
            return "new"
        case ChangeKind.GONE:
            return "gone"
        case ChangeKind.REPLACED:
            return "replaced"


def change_reason_phrase(cause: Cause) -> str:
    """Return why the time of each call changed, "" if the profiles do not show it."""
    return _REASONS[cause.reason]


def compilation_phrase(compilation: Compilation) -> str:
    """Return what a compiler does on head, in words without names."""
    count = compilation.count
    times = _times(count)
    match compilation.kind:
        case CompilationKind.GRAPH_BREAK:
            return "torch.compile breaks its graph" + (f" {times}" if count > 1 else "")
        case CompilationKind.RECOMPILATION:
            return f"torch.compile compiles a function again, {times}"
        case CompilationKind.RETRACE:
            return f"JAX traces a function again, {times} in three steps"
        case CompilationKind.START_RETRACE:
            return f"JAX traces a function again before its measured steps, {times}"


def compile_phrase(cause: CompileCause) -> str:
    """Return how often a process compiles a function, to follow its name."""
    if cause.head_count == 0:
        return "is no longer compiled"
    after = _times(cause.head_count)
    if cause.base_count == 0:
        return f"is compiled {after}, and was not compiled before"
    if cause.head_count == cause.base_count:
        return f"is compiled {after}, as before"
    return f"is compiled {after} instead of {_times(cause.base_count)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{number_format.count(count)} times"


def bucket(of: Bucket) -> str:
    """Return the label of a bucket of a step's time."""
    return _BUCKETS[of]


def bottleneck(of: Bottleneck) -> str:
    """Return the name of a bottleneck, to follow "bound by"."""
    return _BOTTLENECKS[of]


def call_count_phrase(count: float) -> str:
    """Return how often something runs in a step: "24 calls"."""
    figure = number_format.count(count)
    return f"{figure} call" if figure == "1" else f"{figure} calls"


def failure_reason_phrase(reason: FailureReason) -> str:
    """Return why a workload was not measured, to be placed between its name and its side."""
    return _WHY[reason]


def provenance(origin: Provenance) -> str:
    """Return the provenance of a figure as a word of the report."""
    match origin:
        case Provenance.MEASURED:
            return "measured"
        case Provenance.DECLARED:
            return "declared"
        case Provenance.UNKNOWN:
            return "unavailable on this device"
