"""Turns outcomes, metrics and causes into the words, marks and colours that pages use for them."""

from perfledger import work
from perfledger.metrics import (
    COLD_START,
    CPU_ACTIVE,
    ENERGY_PER_STEP,
    FLOPS_PER_STEP,
    PEAK_MEMORY,
    SM_ACTIVE,
    STEP_TIME,
    STEP_TIME_P95,
    STEP_TIME_P99,
)
from perfledger.profile import Bucket
from perfledger.records import Why
from perfledger_baselines.explanation import Explanation
from perfledger_baselines.judge import is_trade
from perfledger_baselines.verdict import Outcome, Verdict
from perfledger_cost_models.policy import Ruling
from perfledger_cost_models.quote import Provenance
from perfledger_profiles.bottleneck import Bottleneck
from perfledger_profiles.cause import Cause, How, Reason
from perfledger_service.pages import figures
from perfledger_service.report import Conclusion, Report

# The order in which verdicts are shown: what needs a reader first.
ORDER = (
    Outcome.REGRESSED,
    Outcome.NOT_MEASURED,
    Outcome.UNDECIDED,
    Outcome.IMPROVED,
    Outcome.UNCHANGED,
)

# A metric of one of these units carries its unit in the figure; any other is shown beside it.
_FIGURES = {
    "s": figures.seconds,
    "B": figures.byte_count,
    "1": figures.share,
    "FLOP": figures.flops,
    "FLOP/s": figures.flops_per_second,
    "B/s": figures.bytes_per_second,
    "Hz": figures.hertz,
    "J": figures.joules,
}
_LABELS = {
    STEP_TIME.name: "step time",
    STEP_TIME_P95.name: "step time p95",
    STEP_TIME_P99.name: "step time p99",
    COLD_START.name: "cold start",
    PEAK_MEMORY.name: "peak memory",
    CPU_ACTIVE.name: "CPU active",
    SM_ACTIVE.name: "SM active",
    ENERGY_PER_STEP.name: "energy per step",
    FLOPS_PER_STEP.name: "work per step",
}
_COUNTS = {
    work.FLOPS: "floating-point operations",
    work.TRANSCENDENTALS: "exponentials, logarithms and the like",
    work.BYTES: "bytes read and written",
    work.OPERATORS: "operators called",
    work.PROGRAMS: "compiled programs run",
    work.PROGRAM_MEMORY: "memory of the largest program",
    work.ARGUMENT_MEMORY: "its arguments",
    work.OUTPUT_MEMORY: "its results",
    work.TEMPORARY_MEMORY: "its temporaries",
    work.ALIASED_MEMORY: "its results in place of arguments",
    work.CODE_MEMORY: "its code",
}
_WHY = {
    Why.MISSING: "is not registered",
    Why.CHANGED: "counts another unit of work than before",
    Why.RAISED: "raised an error",
    Why.HUNG: "did not finish in time",
    Why.OUT_OF_MEMORY: "ran out of memory",
    Why.KILLED: "was killed",
    Why.GARBAGE: "wrote on the harness's own descriptor",
    Why.NO_DEVICE: "found no device to run on",
    Why.WRONG_CODE: "would have run the other side's files",
    Why.PYTHON: "has no interpreter that can run it",
    Why.THROTTLED: "ran on a throttled device",
    Why.BUDGET: "did not get its turn before the time was spent",
}
# At most fourteen characters: the first column of a terminal's table.
_BUCKETS = {
    Bucket.COMPUTE: "compute",
    Bucket.COMMUNICATION: "communication",
    Bucket.COPY: "copies",
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
    Bottleneck.COMPUTE: "compute",
    Bottleneck.MEMORY: "memory bandwidth",
    Bottleneck.LATENCY: "latency",
    Bottleneck.UNKNOWN: "something that the profile does not tell",
}
_REASONS = {
    Reason.UNKNOWN: "",
    Reason.CLOCK: "all by one ratio, as by a clock",
    Reason.SHAPE: "other input sizes",
    Reason.TYPE: "another type",
    Reason.VARIANT: "another kernel for the same work",
    Reason.FUSION: "put together or taken apart",
    Reason.OCCUPANCY: "another occupancy",
    Reason.BYTES: "other amounts of memory moved",
}
_WARNING_MARK = "\N{LARGE ORANGE CIRCLE}"


def mark(outcome: Outcome, *, is_warning: bool = False) -> str:
    """Return the coloured circle of an outcome; the word always stands beside it."""
    if is_warning:
        return _WARNING_MARK
    match outcome:
        case Outcome.REGRESSED:
            return "\N{LARGE RED CIRCLE}"
        case Outcome.IMPROVED:
            return "\N{LARGE GREEN CIRCLE}"
        case Outcome.UNCHANGED:
            return "\N{MEDIUM WHITE CIRCLE}"
        case Outcome.UNDECIDED:
            return "\N{LARGE YELLOW CIRCLE}"
        case Outcome.NOT_MEASURED:
            return "\N{MEDIUM BLACK CIRCLE}"


def conclusion_mark(report: Report) -> str:
    """Return the circle of the whole check, so that the headline's colour is the check's."""
    match report.conclusion:
        case Conclusion.FAILURE:
            is_red = any(
                verdict.is_regression and not is_trade(verdict, report.verdicts)
                for verdict in report.verdicts
            )
            is_red = is_red or any(ruling.ruling is Ruling.FAILS for ruling in report.rulings)
            return mark(Outcome.REGRESSED if is_red else Outcome.NOT_MEASURED)
        case Conclusion.ACTION_REQUIRED | Conclusion.NEUTRAL:
            return mark(Outcome.UNDECIDED)
        case Conclusion.SUCCESS:
            has_warning = any(verdict.is_warning for verdict in report.verdicts)
            return mark(Outcome.IMPROVED, is_warning=has_warning)


def word(verdict: Verdict, *, has_traded: bool = False) -> str:
    """Return the verdict's word, with what softens it."""
    if has_traded:
        return f"{verdict.outcome}, for speed"
    return f"{verdict.outcome}, warning" if verdict.is_warning else str(verdict.outcome)


def way_out(explanation: Explanation) -> str:
    """Return what would decide an undecided verdict, to be added to its reason; "" if nothing."""
    if explanation.pairs_needed is None or explanation.then is None:
        return ""
    return f"; some {explanation.pairs_needed} pairs like these would show it {explanation.then}"


def tone(outcome: str, *, is_warning: bool = False) -> str:
    """Return the name of an outcome's colour, as the style sheet knows it."""
    known = {str(known): str(known).replace(" ", "-") for known in Outcome}
    return "warning" if is_warning else known.get(outcome, "unknown")


def metric_label(name: str) -> str | None:
    """Return what people call a metric, or None for one that perfledger does not know."""
    return _LABELS.get(name)


def count_label(name: str) -> str:
    """Return what people call something counted; a name that is not ours is foreign text."""
    return _COUNTS.get(name, name)


def counted(number: float, unit: str) -> str:
    """Return a count as a figure, with its unit where it has one."""
    return figures.count(number) if unit == "1" else value(number, unit)


def value(number: float, unit: str) -> str:
    """Return a metric's value as a figure; a unit that is not one of ours is not in it."""
    return _FIGURES.get(unit, figures.count)(number)


def foreign_unit(unit: str) -> str:
    """Return the unit that `value` left out, else ""."""
    return "" if unit in _FIGURES else unit


def how(cause: Cause) -> str:
    """Return in which way an operation's time changed, without its names."""
    match cause.how:
        case How.RATE:
            slower = "slower" if cause.delta_seconds > 0 else "faster"
            return f"each call is {slower}"
        case How.COUNT:
            before, after = figures.count(cause.base_count), figures.count(cause.head_count)
            return f"{after} calls a step, {before} before"
        case How.NEW:
            return f"new, {calls(cause.head_count)} a step"
        case How.GONE:
            return f"gone, {calls(cause.base_count)} a step before"
        case How.REPLACED:
            return "takes the place of"


def kind(cause: Cause) -> str:
    """Return in a word or two in which way an operation's time changed, for a narrow column."""
    match cause.how:
        case How.RATE:
            return "slower" if cause.delta_seconds > 0 else "faster"
        case How.COUNT:
            return "more calls" if cause.head_count > cause.base_count else "fewer calls"
        case How.NEW:
            return "new"
        case How.GONE:
            return "gone"
        case How.REPLACED:
            return "replaced"


def reason(cause: Cause) -> str:
    """Return why each call takes another time, as far as the profiles tell; "" if they do not."""
    return _REASONS[cause.reason]


def bucket(of: Bucket) -> str:
    """Return what a stretch of a step was spent on."""
    return _BUCKETS[of]


def bottleneck(of: Bottleneck) -> str:
    """Return what a step is bound by: what follows "bound by"."""
    return _BOTTLENECKS[of]


def calls(count: float) -> str:
    """Return how often something runs in a step: "24 calls"."""
    shown = figures.count(count)
    return f"{shown} call" if shown == "1" else f"{shown} calls"


def why(reason: Why) -> str:
    """Return why something was not measured: what follows its name and precedes its side."""
    return _WHY[reason]


def provenance(known: Provenance) -> str:
    """Return where a figure comes from, in the words of the report."""
    match known:
        case Provenance.MEASURED:
            return "measured"
        case Provenance.DECLARED:
            return "declared"
        case Provenance.UNKNOWN:
            return "not known on this device"
