"""Reads what Python runs in a command, a shell's commands and scripts included."""

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from perfledger.meters.program_starts import PATH_VARIABLE

PYTHON = re.compile(r"python\d*(\.\d+)?[a-z]*")
SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
# End a command of a shell; what follows is another one.
PUNCTUATION = "();<>|&\n"
# Flags without a value, then the one whose value is a module or code.
COMMAND_FLAG = re.compile(r"-([bBdEiIOPqRsSuvx]*)([cm])(.*)", re.DOTALL)
# An object of a module (`mine.app:application`), and a statement that imports.
OBJECT = re.compile(r"([A-Za-z_][\w.]*):[A-Za-z_][\w.]*(\(.*\))?")
IMPORT = re.compile(r"\b(import|from)\s")
# Words before a program that take its environment away (`env -i`), or give it another path.
NO_PATH = re.compile(r"-i|--ignore-environment|PYTHONPATH=(/[^$]*)?")
MAX_SCRIPT_BYTES = 2**16  # the imports of a script are at its beginning


@dataclass(frozen=True, slots=True)
class StartedProgram:
    """The words of a command, its environment and its folder."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path

    @property
    def search_path(self) -> tuple[str, ...]:
        """Return the folders that Python searches for modules because of a variable."""
        return tuple(filter(None, self.environment.get(PATH_VARIABLE, "").split(os.pathsep)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """What a Python interpreter runs: a text that may import, after modules in a folder if any.

    An isolated one ignores PYTHONPATH.
    """

    text: str
    folder: Path | None
    is_isolated: bool


def python_calls(program: StartedProgram) -> Iterator[PythonCall]:
    """Yield what the Python interpreters of a command run.

    A shell's commands are looked into, and a script says which interpreter runs it.
    """
    text = _shell_text(program)
    commands = [[*program.words]] if text is None else _commands(text)
    for words in commands:
        yield from _python_call(words, program)


def _shell_text(program: StartedProgram) -> str | None:
    """Return what a shell runs: a text, or a script; None if the program is none."""
    if not program.words:
        return None
    name, *words = program.words
    if Path(name).name in SHELLS:
        if "-c" in words[:-1]:
            return words[words.index("-c") + 1]
        names = [each for each in words if not each.startswith("-")]
        return _beginning(program.folder / names[0]) if names else ""
    if PYTHON.fullmatch(Path(name).name):  # which may itself be a script that finds an interpreter
        return None
    place = shutil.which(name, path=program.environment.get("PATH"))
    text = _beginning(program.folder / (place or name))
    first_line = text.partition("\n")[0]
    interpreters = {Path(each).name for each in first_line.removeprefix("#!").split()}
    return text if first_line.startswith("#!") and interpreters & SHELLS else None


def _commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of a shell's text."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=PUNCTUATION)
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    words: list[str] = []
    with suppress(ValueError):  # an open quotation
        for word in lexer:
            if word and set(word) <= set(PUNCTUATION):
                yield words
                words = []
            else:
                words.append(word)
    yield words


def _python_call(words: list[str], program: StartedProgram) -> Iterator[PythonCall]:
    """Yield what the Python interpreter of one command runs, if it starts one."""
    for index, word in enumerate(words):
        is_bare = any(NO_PATH.fullmatch(each) for each in words[:index])
        if PYTHON.fullmatch(Path(word).name):
            yield _call(words[index + 1 :], program.folder, is_isolated=is_bare)
            return
        script = shutil.which(word, path=program.environment.get("PATH"))
        first_line = _beginning(Path(script)).partition("\n")[0] if script else ""
        if script and first_line.startswith("#!") and "python" in first_line:
            flags = [each for each in first_line.split()[1:] if each.startswith("-")]
            call = [*flags, script, *words[index + 1 :]]
            yield _call(call, program.folder, is_isolated=is_bare)
            return


def _call(words: Sequence[str], here: Path, *, is_isolated: bool) -> PythonCall:
    """Return what an interpreter runs with these arguments in a folder."""
    flags, text, folder = "", "", here
    for index, word in enumerate(words):
        match = COMMAND_FLAG.fullmatch(word)
        if match is not None:  # -m NAME or -c CODE
            after = [*filter(None, (match[3],)), *words[index + 1 :]]
            loaded = (*after[:1], *_loaded_words(after[1:], here))
            flags, text = flags + match[1], "\n".join(loaded)
            break
        if word.startswith("-") and not word.startswith(("--", "-W", "-X")):
            flags += word[1:]
        elif not word.startswith("-") and words[index - 1 : index] not in (["-W"], ["-X"]):
            script = here / word
            loaded_words = _loaded_words(words[index + 1 :], here)
            text, folder = "\n".join((_beginning(script), *loaded_words)), script.resolve().parent
            break
    is_isolated = is_isolated or not {"I", "E"}.isdisjoint(flags)
    has_folder = {"I", "P"}.isdisjoint(flags)
    return PythonCall(text=text, folder=folder if has_folder else None, is_isolated=is_isolated)


def _loaded_words(arguments: Sequence[str], here: Path) -> Iterator[str]:
    """Yield what a program probably imports because of its arguments.

    That is a module after -m (`cProfile -m NAME`), an object of one (`gunicorn NAME:app`), code,
    and a script. A name alone may mean anything, such as a folder or a user.
    """
    for before, word in zip(("", *arguments), arguments, strict=False):
        if before == "-m" or IMPORT.search(word):
            yield word
        elif match := OBJECT.fullmatch(word):
            yield match[1]
        elif word.endswith(".py"):
            yield _beginning(here / word)


def _beginning(path: Path) -> str:
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(MAX_SCRIPT_BYTES).decode(errors="replace")
    return ""
