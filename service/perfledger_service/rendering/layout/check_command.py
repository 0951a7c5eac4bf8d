"""Writes the commands that repeat a check, with its options."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence

from perfledger.records import FailureReason, Revision, short_sha
from perfledger.registration.workload_pattern import is_match
from perfledger_baselines.judging.verdict import Outcome
from perfledger_runners.bundles.value_checks import MAX_WORD
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.settings.check import ENV_PREFIX
from perfledger_service.values.check_options import CheckOptions
from perfledger_service.values.report import Report

# With more patterns, a command that measures all workloads is easier to read.
_MAX_PATTERNS = 4
_MAX_UNREACHED = 12  # patterns of what the budget did not reach
_NOT_UNCHANGED = "# only the workloads that are not unchanged"
_MAX_COLUMNS = 76  # a longer command continues on the next line
_MAX_LENGTH = 1500  # characters of all settings, or of all patterns: a comment has limits
# The option of each setting that has one: with its value, or one for some values. Any other
# setting is a variable in front of the command.
BISECT_FLAGS: Mapping[str, str | Mapping[str, str]] = {
    "build": "--build",
    "device": "--device",
    "isolated": {"true": "--isolated"},
    "suite": {"asv": "--asv", "pytest": "--pytest"},
}
CHECK_FLAGS: Mapping[str, str | Mapping[str, str]] = {
    **BISECT_FLAGS,
    "skip": {"false": "--no-skip"},
    "budget": "--budget",
    "budget_usd": "--budget-usd",
    "device_price": "--device-price",
}


def reproduction(report: Report) -> str:
    """Return the shell command that reproduces the check, on one or several lines.

    It measures the workloads that are not unchanged, or all of the check's if those are many. A
    comment names the options that it would need and cannot show.
    """
    loud = {v.workload: "" for v in report.verdicts if v.outcome is not Outcome.UNCHANGED}
    registered = [spec.id for spec in report.workloads if spec.id in loud]
    names = [*registered, *(name for name in loud if name not in registered)]
    # A shortened name or a file's would match nothing: the command then measures everything.
    is_chosen = len(names) <= _MAX_PATTERNS and all(
        ":" in name and is_typable(name) for name in names
    )
    chosen = names if is_chosen else ()
    parts = check_words(report.base, report.head, report.options, workloads=chosen)
    line = " ".join(parts)
    command = line if len(line) <= _MAX_COLUMNS else " \\\n  ".join(parts)
    if chosen and len(loud) < len({each.workload for each in report.verdicts}):
        command = f"{_NOT_UNCHANGED}\n{command}"
    missing = missing_options(report.options, has_workloads=bool(chosen))
    if not missing:
        return command
    return f"# give it the same {', '.join(missing)}, which cannot be shown here\n{command}"


def unreached_command(report: Report) -> str:
    """Return the command that measures just what the budget did not reach.

    "" without such workloads, or if no command of a few patterns says which they are.
    """
    names = {each.workload for each in report.failures if each.why is FailureReason.BUDGET}
    options, registered = report.options, {spec.id for spec in report.workloads}
    # The report does not list what the check's own choice left out, and patterns may match it.
    has_choice = bool(options.workloads or options.expression)
    patterns = tuple(sorted(names)) if has_choice else _patterns(sorted(names), registered - names)
    is_short = len(patterns) <= _MAX_UNREACHED and _are_typable(patterns)
    if not is_short or not all(":" in each for each in patterns):
        return ""
    if not patterns or missing_options(options, has_workloads=True):
        return ""
    return " ".join(check_words(report.base, report.head, options, workloads=patterns))


def _patterns(names: Sequence[str], other_names: Collection[str]) -> tuple[str, ...]:
    """Return patterns of all of these names and no others: modules, classes, functions, names."""
    patterns: dict[str, None] = {}
    for name in names:
        module, _, function = name.partition(":")
        function_name = function.partition("[")[0]
        owner = function_name.rpartition(".")[0]  # a class of asv's, or of tests
        wide = (
            f"{module}:*",
            *([f"{module}:{owner}.*"] if owner else []),
            f"{module}:{function_name}[*",
        )
        fitting = (
            pattern for pattern in wide if not any(is_match(pattern, each) for each in other_names)
        )
        pattern = next((each for each in fitting if is_match(each, name)), name)
        patterns[pattern] = None
    return tuple(patterns)


def check_words(
    base: Revision, head: Revision, options: CheckOptions, *, workloads: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the command of a check in parts, each option with its value.

    `workloads` replace the check's own choice of workloads, which includes them. Uncommitted
    changes are measured in the working folder.
    """
    head_option = "" if head.is_dirty else f" --head {short_sha(head.sha)}"
    command = f"perfledger check --base {short_sha(base.sha)}{head_option}"
    return (
        *command_words(command, options),
        *(
            (f"--workload {shlex.quote(name)}" for name in workloads)
            if workloads
            else _choice_words(options)
        ),
    )


def command_words(
    command: str,
    options: CheckOptions,
    *,
    flags: Mapping[str, str | Mapping[str, str]] = CHECK_FLAGS,
) -> tuple[str, ...]:
    """Return a command in parts: variables, the command, and its options without the choice.

    `flags` are the options that the command has for settings. A value that cannot be typed on one
    line is left out: `missing_options` names it.
    """
    settings = _typable_settings(options)
    typed = {name: _flag(name, text, flags) for name, text in settings.items()}
    return (
        *(
            f"{_variable(name)}={shlex.quote(settings[name])}"
            for name in settings
            if not typed[name]
        ),
        command,
        *(
            f"{option} {shlex.quote(text)}"
            for option, text in (
                ("--workloads-from", options.workloads_from),
                ("--spreads", options.spreads if flags is CHECK_FLAGS else ""),
            )
            if text and is_typable(text)
        ),
        *(typed[name] for name in flags if typed.get(name)),
    )


def missing_options(options: CheckOptions, *, has_workloads: bool) -> tuple[str, ...]:
    """Return the names of the options that a command of the check lacks.

    A command that `has_workloads` of its own needs no other choice of them.
    """
    settings = _typable_settings(options)
    is_shown = {
        "-k": _is_typable_or_empty(options.expression),
        "--workload": _are_typable(options.workloads),
        "--workloads-from": _is_typable_or_empty(options.workloads_from),
        "--spreads": _is_typable_or_empty(options.spreads),
        **{_variable(name): name in settings for name in options.settings},
    }
    is_shown |= dict.fromkeys(options.unshown, False)
    needless = {"-k", "--workload"} if has_workloads else set[str]()
    return tuple(name for name, is_fine in is_shown.items() if not is_fine and name not in needless)


def is_typable(text: str) -> bool:
    """Return whether the text can be shown in full on one line, without invisible characters."""
    return clean(text, limit=MAX_WORD) == text


def _typable_settings(options: CheckOptions) -> dict[str, str]:
    """Return the settings whose values can be typed, as many as are not too long together."""
    typable: dict[str, str] = {}
    length = 0
    for name, text in sorted(options.settings.items()):
        length += len(name) + len(text)
        if length <= _MAX_LENGTH and _is_typable_or_empty(text):
            typable[name] = text
    return typable


def _are_typable(patterns: Sequence[str]) -> bool:
    length = sum(len(f"--workload {pattern}") for pattern in patterns)
    return length <= _MAX_LENGTH and all(map(is_typable, patterns))


def _is_typable_or_empty(text: str) -> bool:
    return not text or is_typable(text)


def _choice_words(options: CheckOptions) -> Iterator[str]:
    """Yield the options that choose the check's workloads."""
    if _are_typable(options.workloads):
        yield from (f"--workload {shlex.quote(pattern)}" for pattern in options.workloads)
    if options.expression and is_typable(options.expression):
        yield f"-k {shlex.quote(options.expression)}"


def _flag(name: str, text: str, flags: Mapping[str, str | Mapping[str, str]]) -> str:
    """Return the option that gives a setting this value, "" if only its variable can."""
    flag = flags.get(name, {})
    return f"{flag} {shlex.quote(text)}" if isinstance(flag, str) else flag.get(text, "")


def _variable(name: str) -> str:
    return f"{ENV_PREFIX}{name.upper()}"
