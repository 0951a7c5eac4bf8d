"""Reads the commands that people write under a pull request.

    /perfledger accept benchmarks.gpt:step --reason the larger batch is worth it --until 2026-12-31
    /perfledger ignore --reason the machine was being repaired
    /perfledger approve b1946ac 12400 until 2026-12-31: the larger batch is worth it
    /perfledger rerun
    /perfledger bisect benchmarks.gpt:step
    /perfledger allow b1946ac92492d2347c6235b4d2611184f6a1d0c2
    /perfledger disallow
    /perfledger help

Only the first line of a comment is read, and only if it begins with the command.
"""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise

from perfledger_runners.bundles.validation import SHA
from perfledger_service.rendering.layout.escape import clean

MAX_REASON = 300  # characters of the reason in a comment
# Fits the longest workload id; only one line of a comment is read.
MAX_LINE = 2000
PREFIX = "/perfledger"
_IS_COMMAND = re.compile(rf"{PREFIX}(?!\S)")
_APPROVAL = re.compile(
    r"approve +(?P<commit>[0-9a-f]{7,40}) +(?P<usd>[0-9][0-9,]{0,15}(?:\.[0-9]{1,2})?)"
    r"(?P<unpriced> +unpriced)?(?: +until +(?P<until>[0-9]{4}-[0-9]{2}-[0-9]{2}))? *: *"
    r"(?P<reason>[^ ].*)"
)
# Phones and word processors write two hyphens as a dash.
_OPTION = re.compile(r"(?:^|\s)(?:--|[\u2013\u2014])(?P<name>reason|until)(?:=|\s+|$)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptCommand:
    """A command that accepts a workload's regression; "" is all regressions of the check."""

    workload: str
    reason: str
    until: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalCommand:
    """An approval as it was written in a comment."""

    commit: str  # a prefix
    usd_per_year: Decimal
    covers_unpriced: bool
    until: date | None
    reason: str


@dataclass(frozen=True, slots=True)
class RerunCommand:
    """A command that measures the whole check again; with a commit, only if it is the newest."""

    sha: str = ""


@dataclass(frozen=True, slots=True)
class BisectCommand:
    """A command that bisects a pull request for a workload; "" is its only workload."""

    workload: str


@dataclass(frozen=True, slots=True)
class AllowCommand:
    """A command that lets runners run one commit of a fork."""

    sha: str


@dataclass(frozen=True, slots=True)
class DisallowCommand:
    """A command that lets runners run nothing more of a fork's pull request."""


@dataclass(frozen=True, slots=True)
class HelpQuestion:
    """A request for the list of commands."""


@dataclass(frozen=True, slots=True)
class InvalidCommand:
    """A command that cannot be carried out as written, and why."""

    problem: str


CommentCommand = (
    AcceptCommand
    | ApprovalCommand
    | RerunCommand
    | BisectCommand
    | AllowCommand
    | DisallowCommand
    | HelpQuestion
    | InvalidCommand
)
_SIMPLE_COMMANDS: dict[str, CommentCommand] = {
    "": HelpQuestion(),
    "help": HelpQuestion(),
    "rerun": RerunCommand(),
    "disallow": DisallowCommand(),
}


def command_line(body: str) -> str:
    """Return the line of a comment that is a command, "" if it is not one."""
    lines = body[: 2 * MAX_LINE].strip().splitlines()
    line = lines[0].rstrip()[:MAX_LINE] if lines else ""
    return line if _IS_COMMAND.match(line) else ""


def parse_command(line: str) -> CommentCommand:
    """Return the command in a line that begins with the prefix."""
    words = line.removeprefix(PREFIX).strip()
    name, _, rest = words.partition(" ")
    match name:
        case "accept" | "ignore":
            return _acceptance(rest, is_of_commit=name == "ignore")
        case "approve":
            return _approval(words)
        case "allow":
            return _permission(_unquoted_words(rest))
        case "bisect":
            return BisectCommand(_unquoted_words(rest))
        case "rerun" if rest.strip():
            return _rerun(rest.strip())
        case _:
            simple = _SIMPLE_COMMANDS.get(words)
            return simple or InvalidCommand(f"{clean(words)!r} is not a command")


def _acceptance(text: str, *, is_of_commit: bool) -> AcceptCommand | InvalidCommand:
    """Return an acceptance with its options, which may stand in any order after the workload."""
    options = list(_OPTION.finditer(text))
    parts = pairwise((*options, None))
    values = {
        option["name"]: _unquoted_words(
            text[option.end() : following.start() if following else None]
        )
        for option, following in parts
        if option
    }
    workload = _unquoted_words(text[: options[0].start()] if options else text)
    until = _day(values.get("until", ""))
    problems = (
        (is_of_commit and workload, "ignore takes no workload: it is about the whole commit"),
        (is_of_commit and "until" in values, "ignore takes no day: it is about this commit alone"),
        (not (is_of_commit or workload), "name the workload to accept"),
        (len(options) > len(values), "give each option once"),
        (not re.search(r"\w", values.get("reason", "")), "give a reason: --reason WHY"),
        ("until" in values and until is None, "give the last day as --until YYYY-MM-DD"),
    )
    for is_there, problem in problems:
        if is_there:
            return InvalidCommand(problem)
    reason = clean(values["reason"], limit=MAX_REASON)
    return AcceptCommand(workload=workload, reason=reason, until=until)


def _rerun(sha: str) -> RerunCommand | InvalidCommand:
    if SHA.fullmatch(sha):
        return RerunCommand(sha)
    return InvalidCommand("rerun takes no workload: it measures the whole check again")


def _permission(sha: str) -> AllowCommand | InvalidCommand:
    """Return the permission of one commit, by its whole hash.

    The fork's owner could make two commits whose hashes share a prefix.
    """
    if SHA.fullmatch(sha):
        return AllowCommand(sha)
    return InvalidCommand("allow takes the whole hash of the newest commit: 40 hex digits")


def _approval(words: str) -> ApprovalCommand | InvalidCommand:
    match = _APPROVAL.fullmatch(words)
    until = _day(match["until"]) if match and match["until"] else None
    if match is None or (match["until"] and until is None):
        return InvalidCommand(
            "an approval names the commit, the USD a year and, after a colon, why"
        )
    if not re.search(r"\w", match["reason"]):
        return InvalidCommand("give a reason after the colon")
    return ApprovalCommand(
        commit=match["commit"],
        usd_per_year=Decimal(match["usd"].replace(",", "")),
        covers_unpriced=match["unpriced"] is not None,
        until=until,
        reason=clean(match["reason"], limit=MAX_REASON),
    )


def _day(text: str) -> date | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _unquoted_words(text: str) -> str:
    """Return a text without the spaces, or one pair of quotes, around it."""
    word = text.strip()
    is_quoted = len(word) > 1 and word[-1] == _QUOTES.get(word[0])
    return word[1:-1].strip() if is_quoted else word
