"""Writes the commands that repeat a check, with its options."""

import shlex
from collections.abc import Iterator, Sequence

from perfledger.records import Revision, short_sha
from perfledger_baselines.judging.verdict import Outcome
from perfledger_runners.bundles.value_checks import MAX_WORD
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.values.check_options import CheckOptions
from perfledger_service.values.report import Report

# With more patterns, a command that measures all workloads is easier to read.
_MAX_PATTERNS = 4
_MAX_COLUMNS = 76  # a longer command continues on the next line
# Defaults that need no option: the usual suite, the detected device.
_SUITES = ("asv", "pytest")
_DEVICES = ("cpu", "cuda", "tpu")


def reproduction(report: Report) -> str:
    """Return the shell command that reproduces the check, on one or several lines."""
    loud = {v.workload: "" for v in report.verdicts if v.outcome is not Outcome.UNCHANGED}
    registered = [spec.id for spec in report.workloads if spec.id in loud]
    names = [*registered, *(name for name in loud if name not in registered)]
    # A shortened name or a file's would match nothing: the command then measures everything.
    is_chosen = len(names) <= _MAX_PATTERNS and all(
        ":" in name and is_typable(name) for name in names
    )
    parts = check_words(
        report.base, report.head, report.options, workloads=names if is_chosen else ()
    )
    line = " ".join(parts)
    return line if len(line) <= _MAX_COLUMNS else " \\\n  ".join(parts)


def check_words(
    base: Revision, head: Revision, options: CheckOptions, *, workloads: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the command of a check in parts, each option with its value.

    Uncommitted changes are measured in the working folder.
    """
    head_option = "" if head.is_dirty else f" --head {short_sha(head.sha)}"
    return (
        f"perfledger check --base {short_sha(base.sha)}{head_option}",
        *option_words(options),
        *(f"--workload {shlex.quote(name)}" for name in workloads),
    )


def option_words(options: CheckOptions) -> Iterator[str]:
    """Yield the options, each with its value.

    A value that cannot be typed on one line is left out; it comes from a configuration file.
    """
    for name, value in (
        ("--workloads-from", options.workloads_from),
        ("--build", options.build),
        ("--device", options.device if options.device in _DEVICES else ""),
    ):
        if value and is_typable(value):
            yield f"{name} {shlex.quote(value)}"
    if options.is_isolated:
        yield "--isolated"
    if options.suite in _SUITES:
        yield f"--{options.suite}"


def is_typable(text: str) -> bool:
    """Return whether the text can be shown in full on one line, without invisible characters."""
    return clean(text, limit=MAX_WORD) == text
