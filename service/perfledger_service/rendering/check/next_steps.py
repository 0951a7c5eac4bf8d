"""Words what a change's author can do about the result that decides its check.

The sentences quote names, commands and findings that are untrusted or not escaped yet.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from perfledger import rounding
from perfledger.metrics import MetricKind
from perfledger.records import Failure, FailureReason, FindingLevel, Side
from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_baselines.judging.explanation import (
    MAX_PAIRS,
    DecidedBy,
    explain_verdict,
    is_practical,
)
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome, Verdict
from perfledger_baselines.significance.kernel_tests import KERNEL_PAIRS
from perfledger_service.rendering.check.acceptance_rows import acceptance_command
from perfledger_service.rendering.check.headline import telling_rows
from perfledger_service.rendering.layout import verdict_rows
from perfledger_service.rendering.layout.check_command import (
    check_words,
    is_typable,
    missing_options,
)
from perfledger_service.rendering.layout.failure_rows import failure_rows
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.rendering.layout.verdict_rows import VerdictTableRow
from perfledger_service.rendering.layout.vocabulary import metric_title
from perfledger_service.values.check_options import CheckOptions
from perfledger_service.values.report import Conclusion, Report

_RERUN = "/perfledger rerun"
_DOCTOR = "perfledger bench doctor"
_NO_ADVICE = ""
_MAX_COMMAND = 240  # characters that fit in a sentence
# A budget is in whole minutes, with some slack over the pairs' duration so far.
_BUDGET_SLACK = 1.1
# A command that is too long for a sentence.
_AT_THE_END = "its command is at the end of the report"
_MARGIN_DIGITS = 1  # of a per cent
# Nobody who judges by a margin of some per cent would accept a larger one.
_MAX_ADVISED_MARGIN = 0.1
_ROUNDING = 1e-9  # of a number computed through its logarithm
_WHEN_QUIET = "repeat it when the machine is quiet"
# If more pairs than this are needed beside other programs, it is these that should end.
_MOST_BESIDE_OTHERS = 100
_FIRST_USE = "nothing yet: changes that build on this one are compared with it"
_ONLY_NEW = (
    "compare the same workloads on both sides: keep base's names, listed in the notes, or pass "
    "--base with a revision that registers the new ones"
)
_MENDS = {
    FailureReason.MISSING: "restore the workload, or have its removal accepted",
    FailureReason.CHANGED: "rename it: sides with different units of work cannot be compared",
    FailureReason.RAISED: "fix the error: the end of its log is in the report",
    FailureReason.HUNG: "see at the end of its log what it was waiting for, or raise timeout if a "
    "step may take that long",
    FailureReason.OUT_OF_MEMORY: "make the workload smaller, or measure where more memory is free",
    FailureReason.KILLED: "find out what killed it, such as a memory limit: see the kernel's log "
    "(dmesg) or the batch system",
    FailureReason.GARBAGE: "do not write to the file descriptor in PERFLEDGER_FD",
    FailureReason.NO_DEVICE: "measure where the device is, or change the device in the settings",
    FailureReason.OTHER_DEVICE: "make the workload choose the same device on both sides",
    FailureReason.WRONG_CODE: "let each side use its own code and data: the reason names the file "
    "that it did not have, and what gets it",
    FailureReason.BUILD: "fix the build: the end of its log is in the report",
    FailureReason.PYTHON: "set python to an interpreter of Python 3.11 or newer",
    FailureReason.THROTTLED: "let the device cool, check its power limit, and measure again",
    FailureReason.BUDGET: "raise budget, or choose fewer workloads with -k or paths",
    FailureReason.UNPROVEN: "if head is meant to do less work, list the workload in accepted_work, "
    "in the configuration of the default branch",
    FailureReason.DIFFERENT: "fix the result, or the workload's own check of it",
    FailureReason.SKIPPED: "measure where the workload does not skip itself",
    FailureReason.NOT_AVAILABLE: "install what the variant needs, or leave it out",
    FailureReason.PACKAGES: "pin exact versions of packages, in a lock file or in the requirements",
    FailureReason.IN_USE: "end the program that has it, or let each process use its own: port 0, "
    "and files in a temporary folder of its own",
}
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
# Measuring again would not help: the code is at fault.
_OF_THE_CODE = frozenset(FailureReason) - {
    FailureReason.HUNG,
    FailureReason.OUT_OF_MEMORY,
    FailureReason.KILLED,
    FailureReason.NO_DEVICE,
    FailureReason.THROTTLED,
    FailureReason.BUDGET,
    FailureReason.PACKAGES,
    FailureReason.IN_USE,
}


@dataclass(frozen=True, slots=True)
class CommandHint:
    """A command in a comment, with its purpose: "to measure again"."""

    command: str
    purpose: str


@dataclass(frozen=True, slots=True)
class NextSteps:
    """What to do, in sentences, and the texts that they quote in full."""

    sentences: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()  # commands and settings
    quotes: tuple[str, ...] = ()  # others, which are words of the machine or the code


def next_steps(report: Report, rows: Sequence[VerdictTableRow]) -> NextSteps:
    """Return what to do where no profile gives advice.

    `rows` are those of the results that decide the check.
    """
    if not report.verdicts and report.new_workloads:
        return NextSteps((_ONLY_NEW if report.conclusion is Conclusion.FAILURE else _FIRST_USE,))
    if not rows or rows[0].is_warning:
        return NextSteps()
    match rows[0].outcome:
        case Outcome.REGRESSED:
            command = _check_of(report, rows[0].workload, report.options)
            sentence = f"repeat it on such a machine: {command or _AT_THE_END}"
            return NextSteps((sentence,), (command,) if command else ())
        case Outcome.UNDECIDED:
            return _undecided_steps(report, rows[0])
        case Outcome.NOT_MEASURED:
            return _not_measured_steps(report, rows)
        case Outcome.IMPROVED | Outcome.UNCHANGED:
            return NextSteps()


def command_hints(report: Report, every: Sequence[VerdictTableRow]) -> tuple[CommandHint, ...]:
    """Return the comments that could change the outcome of a check that did not pass.

    Empty where comments are not read. `every` are the rows of all verdicts.
    """
    is_open = report.conclusion in {Conclusion.FAILURE, Conclusion.ACTION_REQUIRED}
    if not report.takes_commands or not is_open or report.pull_request is None:
        return ()
    accept = acceptance_command(report, every)
    hints = (CommandHint(accept, "if this is intended"),) if accept else ()
    failure = _first_failure(report, telling_rows(report, every))
    is_of_code = failure is not None and failure.why in _OF_THE_CODE
    return hints if is_of_code else (*hints, CommandHint(_RERUN, "to measure again"))


def _not_measured_steps(report: Report, rows: Sequence[VerdictTableRow]) -> NextSteps:
    failure = _first_failure(report, rows)
    if failure is None:
        return NextSteps()
    missing = _NO_MODULE.search(failure.detail)
    if failure.why is not FailureReason.RAISED or missing is None:
        return NextSteps((_MENDS[failure.why],))
    module = missing[1]
    sentence = (
        f"install {module} for the Python that runs the workloads, or set isolated so that each "
        "side is installed with its own requirements; if it is the repository's own, add its "
        "folder to import_paths"
    )
    return NextSteps((sentence,), quotes=(module,))


def _first_failure(report: Report, rows: Sequence[VerdictTableRow]) -> Failure | None:
    """Return the failure that the report names first, base's before head's.

    None if the deciding result was measured, or if nobody knows why not.
    """
    if not rows or rows[0].outcome is not Outcome.NOT_MEASURED:
        return None
    names = [row.workload for row in failure_rows(report)][:1]
    failures = (one for one in report.failures if one.workload in names)
    return min(failures, key=lambda one: tuple(Side).index(one.side), default=None)


def _undecided_steps(report: Report, row: VerdictTableRow) -> NextSteps:
    """Return what would settle a result and the time it takes, and which setting adds noise."""
    verdict = next(
        one
        for one in report.verdicts
        if (one.workload, one.metric.name) == (row.workload, row.metric_name)
    )
    why = explain_verdict(verdict, report.plan)
    sentences: list[str] = []
    typed: list[str] = []
    quotes: list[str] = []
    if why.pairs_needed is not None:
        sentence, command = _more_pairs(report, verdict, why.pairs_needed)
        is_too_noisy = _is_busy(report) and why.pairs_needed > _MOST_BESIDE_OTHERS
        sentences += [_WHEN_QUIET, f"otherwise {sentence}"] if is_too_noisy else [sentence]
        typed += [command] * bool(command)
    if why.decided_by in {DecidedBy.NOISE, DecidedBy.LOAD, DecidedBy.KERNEL_WINDOWS}:
        for text, quote in _quieter(report):
            sentences.append(text)
            quotes.append(quote)
    if why.decided_by is DecidedBy.NOISE:
        margin = None if verdict.estimate is None else _proven_margin(verdict.estimate)
        if why.expected_outcome is not Outcome.REGRESSED and margin is not None:
            setting = f"margin = {rounding.for_programs(margin)}"
            share = rounding.percentage(margin)
            decide = f"decide that changes of up to {share} do not matter here: {setting}"
            sentences.append(f"or {decide}" if sentences else decide)
            typed.append(setting)
    return NextSteps(tuple(sentences), (*typed, _DOCTOR), tuple(quotes))


def _is_busy(report: Report) -> bool:
    return any(one.level is FindingLevel.BUSY for one in report.host_findings)


def _quieter(report: Report) -> Iterator[tuple[str, str]]:
    """Yield which machine setting adds noise, and how to change it.

    Nothing for a busy machine: the top of the report already says so.
    """
    if _is_busy(report):
        return
    noisy = (one for one in report.host_findings if one.level is FindingLevel.NOISY and one.advice)
    finding = next(noisy, None)
    if finding is None:
        yield f"run {_DOCTOR} on that machine to find what disturbs it", _NO_ADVICE
        return
    yield (
        f"make the machine quieter ({finding.name}: {finding.detail}): {finding.advice}",
        finding.advice,
    )


def _proven_margin(estimate: EffectEstimate) -> float | None:
    """Return the smallest margin, rounded up, within which the pairs prove the change to lie.

    None if it is too large to be good advice.
    """
    widest = max(abs(math.log1p(end)) for end in (estimate.narrow_low, estimate.narrow_high))
    if widest >= math.log1p(_MAX_ADVISED_MARGIN):
        return None
    scale = 10.0 ** (_MARGIN_DIGITS + 2)
    return math.ceil(math.expm1(widest) * scale - _ROUNDING) / scale


def _more_pairs(report: Report, verdict: Verdict, needed: int) -> tuple[str, str]:
    """Return what settles a result that needs more pairs, and the command that it quotes.

    Where pairs lack a reading, more of them are needed, and a longer check alone may not help. The
    budget is named only if it is too small.
    """
    pairs = verdict_rows.counted_pairs(verdict, report)
    total = pairs.to_measure(needed)
    reason = ""
    if pairs.counted < pairs.measured:
        reason = (
            f"only {pairs.counted} of {quantity(pairs.measured, 'pair')} count for the "
            f"{metric_title(verdict.metric.name)}, and the report says why; "
        )
    if not pairs.counted and pairs.measured:
        return f"{reason}more pairs help once others count", ""
    most = KERNEL_PAIRS if verdict.metric.kind is MetricKind.KERNEL else MAX_PAIRS
    seconds = report.pair_seconds.get(verdict.workload)
    is_long = not is_practical(total, more=total - pairs.measured, seconds_per_pair=seconds)
    if total > most or is_long:
        return f"{reason}no practical number of pairs settles it", ""
    raised = _settings_to_raise(report, verdict, total, measured=pairs.measured)
    values = {name: value for name, value in raised.items() if value}
    options = replace(report.options, settings={**report.options.settings, **values})
    # Money limits the check too: no command can say how much is enough.
    command = "" if "budget_usd" in raised else _check_of(report, verdict.workload, options)
    what = f"{reason}measure {quantity(total, 'pair')}"
    where = _where_to_raise(raised, report.options)
    if command:
        return f"{what}: {command}{f', or {where}' if where else ''}", command
    return f"{what}: {where or _AT_THE_END}", ""


def _settings_to_raise(
    report: Report, verdict: Verdict, pairs: int, *, measured: int
) -> dict[str, str]:
    """Return the settings that must be larger for so many pairs; "" for an unknown value."""
    raised: dict[str, str] = {}
    if pairs > max(report.plan.looks, default=0):
        raised["max_pairs"] = str(pairs)
    seconds, budget = report.pair_seconds.get(verdict.workload), report.budget
    if seconds is None:
        return raised | dict.fromkeys(budget.settings, "")
    total_s = (report.held_s or 0.0) + max(pairs - measured, 0) * seconds
    minutes = math.ceil(_BUDGET_SLACK * total_s / SECONDS_PER_MINUTE)
    if budget.seconds is None or minutes * SECONDS_PER_MINUTE > budget.seconds:
        raised |= dict.fromkeys(budget.settings, "") | {"budget": f"{minutes}m"}
    return raised


def _where_to_raise(raised: Mapping[str, str], options: CheckOptions) -> str:
    """Return where to raise these settings: what a check is started with outranks the file."""
    at_start = [name for name in raised if name in options.settings]
    in_file = [name for name in raised if name not in at_start]
    parts: list[str] = []
    if in_file:
        parts.append(f"set {_name_list(in_file)} in the configuration of the default branch")
    if at_start:
        parts.append(f"raise {_name_list(at_start)} where the check is started")
    return " and ".join(parts)


def _name_list(names: Sequence[str]) -> str:
    *first_names, last = names
    return f"{', '.join(first_names)} and {last}" if first_names else last


def _check_of(report: Report, workload: str, options: CheckOptions) -> str:
    """Return the command that checks one workload; "" if it is too long or lacks an option."""
    names = (workload,) if is_typable(workload) else ()
    command = " ".join(check_words(report.base, report.head, options, workloads=names))
    is_whole = not missing_options(options, has_workloads=bool(names))
    return command if is_whole and len(command) <= _MAX_COMMAND else ""
