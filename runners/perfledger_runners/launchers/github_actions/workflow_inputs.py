"""Turns a job's command into the inputs of a workflow.

The workflow itself names the program, perfledger, so inputs cannot start another one. Paths on the
runner's machine become paths below the folder that the workflow keeps as its artifact.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from perfledger_runners.checkouts.repository import SHA
from perfledger_runners.launchers.launcher import LauncherError, Submission

# In the workflow's workspace; also the name of its artifact.
RESULT_FOLDER = "perfledger-job"
BUNDLE_FILE, SPREADS_FILE = "bundle.json", "spreads.json"
# GitHub's limit for the inputs of one dispatch, in characters of JSON.
MAX_INPUTS = 65_535
COMMANDS = ("check", "history")  # perfledger's commands that are jobs
_BUNDLE, _HEAD, _SPREADS = "--save-bundle=", "--head=", "--spreads="
_MAX_PAIRS = "PERFLEDGER_MAX_PAIRS="  # a setting, which stands before the program


def workflow_inputs(submission: Submission) -> dict[str, str]:
    """Return the inputs of the run that does a submission's command.

    Spreads that would make them too long are left out; the check then takes more pairs. Raises
    LauncherError for a command that no workflow can run.
    """
    words = submission.command
    start = next((index for index, word in enumerate(words) if word in COMMANDS), len(words))
    arguments = words[start:]
    if not arguments:
        msg = (
            f"a workflow can only run {' or '.join(COMMANDS)} of perfledger, and the job is neither"
        )
        raise LauncherError(msg)
    spreads = _spreads(arguments)
    for text in (spreads, ""):
        inputs = {
            "name": submission.name,
            "head": _head(arguments),
            "arguments": json.dumps(_arguments_there(arguments, has_spreads=bool(text))),
            "max_pairs": _value(words[:start], _MAX_PAIRS),
            "spreads": text,
        }
        if len(json.dumps(inputs)) <= MAX_INPUTS:
            return inputs
    msg = f"the job names more workloads than fit into GitHub's {MAX_INPUTS} characters of inputs"
    raise LauncherError(msg)


def _head(arguments: Sequence[str]) -> str:
    """Return the commit that the workflow checks out."""
    head = _value(_options(arguments), _HEAD) or arguments[-1]
    if not SHA.fullmatch(head):
        msg = f"the job names no commit to check out: {head[:40]!r} is not a hash of 40 hex digits"
        raise LauncherError(msg)
    return head


def _spreads(arguments: Sequence[str]) -> str:
    """Return the text of the file of spreads, "" if there is none to send."""
    path = _value(_options(arguments), _SPREADS)
    if not path:
        return ""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_INPUTS + 1)
        return data.decode() if len(data) <= MAX_INPUTS else ""
    except (OSError, UnicodeDecodeError):  # a check goes on without them
        return ""


def _arguments_there(arguments: Sequence[str], *, has_spreads: bool) -> list[str]:
    """Return perfledger's arguments, with paths translated to the workflow's."""
    options = _options(arguments)
    there: list[str] = []
    for word in options:
        if word.startswith(_BUNDLE):
            there.append(f"{_BUNDLE}{RESULT_FOLDER}/{BUNDLE_FILE}")
        elif not word.startswith(_SPREADS):
            there.append(word)
        elif has_spreads:
            there.append(f"{_SPREADS}{RESULT_FOLDER}/{SPREADS_FILE}")
    return [*there, *arguments[len(options) :]]


def _options(arguments: Sequence[str]) -> Sequence[str]:
    """Return the words before "--"; those after it are not options, whatever they look like."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _value(words: Sequence[str], prefix: str) -> str:
    """Return the rest of the first word that has a prefix, "" if there is none."""
    return next((word.removeprefix(prefix) for word in words if word.startswith(prefix)), "")
