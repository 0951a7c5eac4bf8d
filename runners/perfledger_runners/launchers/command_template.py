"""Fills in the words of a command template; no shell here reads the values."""

import re
import shlex
from dataclasses import dataclass
from typing import Self

from perfledger_runners.launchers.launcher import LauncherError, Submission

MAX_TEMPLATE_WORDS = 200
MAX_TEMPLATE_WORD = 10_000  # characters per word
COMMAND_WORD = "{command}"
QUOTED_COMMAND = "{shell_command}"
PLACEHOLDERS = (COMMAND_WORD, QUOTED_COMMAND, "{name}", "{folder}", "{bundle}", "{log}")
_PLACEHOLDER = re.compile(r"\{[a-z_]+\}")


@dataclass(frozen=True, slots=True)
class CommandTemplate:
    """Words of a command, with placeholders for what to run."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, words: tuple[str, ...], *, name: str = "command") -> Self:
        """Return the template of these words; raise LauncherError if it runs nothing."""
        _check_words(words, name)
        if not any(COMMAND_WORD in words or QUOTED_COMMAND in word for word in words):
            msg = (
                f"`{name}` does not say where the check's command goes: add {COMMAND_WORD} as a "
                f"word of its own, or {QUOTED_COMMAND} for a program that passes it to a shell"
            )
            raise LauncherError(msg)
        return cls(words)

    @classmethod
    def of_cancel(cls, words: tuple[str, ...]) -> Self:
        """Return the template of the cancelling command, which knows only the name."""
        _check_words(words, "cancel", placeholders=("{name}",))
        return cls(words)

    def fill(self, submission: Submission) -> list[str]:
        """Return the argument list that runs a submission."""
        values = {
            QUOTED_COMMAND: shlex.join(submission.command),
            "{name}": submission.name,
            "{folder}": str(submission.folder),
            "{bundle}": str(submission.bundle),
            "{log}": str(submission.log),
        }
        filled: list[str] = []
        for word in self.words:
            filled += submission.command if word == COMMAND_WORD else (_fill(word, values),)
        return filled

    def fill_name(self, name: str) -> list[str]:
        """Return the argument list for the submission with this name."""
        return [_fill(word, {"{name}": name}) for word in self.words]


def _fill(word: str, values: dict[str, str]) -> str:
    """Replace all placeholders at once, so that inserted text is not filled in again."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[0], match[0]), word)


def _check_words(
    words: tuple[str, ...], name: str, placeholders: tuple[str, ...] = PLACEHOLDERS
) -> None:
    if not words or not words[0]:
        msg = f"`{name}` names no program: write a list of words"
        raise LauncherError(msg)
    if len(words) > MAX_TEMPLATE_WORDS or any(len(word) > MAX_TEMPLATE_WORD for word in words):
        msg = (
            f"`{name}` may have {MAX_TEMPLATE_WORDS} words of {MAX_TEMPLATE_WORD} characters: put "
            "a longer command into a script"
        )
        raise LauncherError(msg)
    for word in words:
        if "\0" in word:
            msg = f"`{name}` has a NUL character in {word[:40]!r}: remove it"
            raise LauncherError(msg)
        for placeholder in _PLACEHOLDER.findall(word):
            if placeholder not in placeholders:
                choices = ", ".join(placeholders)
                msg = f"`{name}` has an unknown {placeholder}: it may contain {choices}"
                raise LauncherError(msg)
            if placeholder == COMMAND_WORD and word != COMMAND_WORD:
                msg = (
                    f"{COMMAND_WORD} stands for several words, so it cannot be a part of "
                    f"{word[:40]!r}: use {QUOTED_COMMAND} there"
                )
                raise LauncherError(msg)
