"""Runs the command-line programs of engines, within limits of time and output."""

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfledger.rounding import integer
from perfledger_runners.launchers.launcher import LauncherError
from perfledger_runners.safe_text import tail_of_text

# A busy controller answers after tens of seconds.
TOOL_TIMEOUT_S = 60.0
MAX_TOOL_ANSWER_BYTES = 4 * 2**20
MAX_TOOL_ERROR = 500  # characters of a failing program's message


class ToolTimeoutError(LauncherError):
    """A program that did not answer in time."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A program's answer and its exit status."""

    status: int
    output: bytes
    error: str

    @property
    def text(self) -> str:
        """Return the answer as text; bytes that are not UTF-8 are marked."""
        return self.output.decode(errors="replace")


def ask_tool(
    words: Sequence[str],
    *,
    text: bytes = b"",
    environment: Mapping[str, str] | None = None,
    max_error: int = MAX_TOOL_ERROR,
) -> ToolAnswer:
    """Run a program with `text` as its input, and return its answer whatever its exit status.

    Raises LauncherError if it does not start, does not end, or exceeds the limit of its answer.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(  # noqa: S603 - an argument list, and none is ever a shell's
                list(words),
                input=text,
                stdout=output,
                stderr=errors,
                env=None if environment is None else dict(environment),
                timeout=TOOL_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            msg = f"{words[0]} did not answer within {integer(TOOL_TIMEOUT_S)} s"
            raise ToolTimeoutError(msg) from None
        except (OSError, ValueError) as error:
            msg = f"{words[0]} does not start: {error}"
            raise LauncherError(msg) from error
        output.seek(0)
        answer = output.read(MAX_TOOL_ANSWER_BYTES + 1)
        if len(answer) > MAX_TOOL_ANSWER_BYTES:
            msg = f"{words[0]} answered with more than {MAX_TOOL_ANSWER_BYTES} bytes"
            raise LauncherError(msg)
        errors.seek(0)
        complaint = errors.read(MAX_TOOL_ANSWER_BYTES).decode(errors="replace")
    return ToolAnswer(done.returncode, answer, tail_of_text(complaint.strip(), max_error))


def run_tool(
    words: Sequence[str], *, text: bytes = b"", environment: Mapping[str, str] | None = None
) -> ToolAnswer:
    """Run a program and return its answer; raise LauncherError, with its message, if it fails."""
    answer = ask_tool(words, text=text, environment=environment)
    if answer.status != 0:
        why = answer.error or f"exit status {answer.status}"
        msg = f"{words[0]} failed: {why}"
        raise LauncherError(msg)
    return answer
