"""Finds Python programs that a step starts and that import installed copies of its own packages.

Programs find the side's packages through PYTHONPATH. One that does not get the variable, or ignores
it (`python -I`), imports what is installed: the same on both sides, whatever the change is.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfledger.meters import child_processes
from perfledger.package_code import LoadedPackage, SourcePackage
from perfledger.process.module_origin import INSTALL_FOLDERS

PYTHON = re.compile(r"python\d*(\.\d+)?[a-z]*")
SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
# Flags without a value, then the one whose value is a module or code.
COMMAND_FLAG = re.compile(r"-([bBdEiIOPqRsSuvx]*)([cm])(.*)", re.DOTALL)
# An object of a module (`mine.app:application`), and a statement that imports.
OBJECT = re.compile(r"([A-Za-z_][\w.]*):[A-Za-z_][\w.]*(\(.*\))?")
IMPORT = re.compile(r"\b(import|from)\s")
NO_ENVIRONMENT = frozenset({"-i", "--ignore-environment"})  # of `env`
MAX_SCRIPT_BYTES = 2**16  # the imports of a script are at its beginning
MAX_PROGRAMS = 1000  # that one step starts: the others are like these
PATH_VARIABLE = "PYTHONPATH"

Hook = Callable[[str, tuple[Any, ...]], object]


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


@dataclass(slots=True, kw_only=True)
class ProgramWatch:
    """A watch over the programs that this process starts.

    `root` is the side's checkout, `packages` are the repository's own. `environment` is the side's
    own environment, "" without one: the copies in it are the side's.
    """

    root: Path
    repository: Path
    packages: Sequence[SourcePackage]
    environment: str = ""
    search_path: Sequence[str] = field(default_factory=lambda: sys.path)
    _programs: list[StartedProgram] = field(default_factory=list[StartedProgram])

    def watch(self, add_hook: Callable[[Hook], object] = sys.addaudithook) -> None:
        """Record the programs that are started from now on, and those that run.

        Python cannot remove the hook, so this comes after the last timed step.
        """
        if self.packages:
            add_hook(self._hear)
            self._programs += _running_programs()

    def copies(self) -> tuple[LoadedPackage, ...]:
        """Return the installed packages that the programs import in place of the side's."""
        copies = {
            name: folder for program in self._programs for name, folder in self._copies_of(program)
        }
        return tuple(
            # Their files are not read.
            LoadedPackage(name=name, folder=str(folder), is_own=False, modules=1, digest="")
            for name, folder in copies.items()
        )

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in {"subprocess.Popen", "os.posix_spawn", "os.exec"}:
            return
        if len(self._programs) < MAX_PROGRAMS:
            with suppress(Exception):  # a boundary: any object may be an argument
                self._programs.append(_program_of(event, arguments))

    def _copies_of(self, program: StartedProgram) -> Iterator[tuple[str, Path]]:
        call = _python_call(program)
        if call is None or (not call.is_isolated and self._is_found_by(program)):
            return
        for name in dict.fromkeys(each.name.partition(".")[0] for each in self.packages):
            first = call.folder
            if first is not None and first.is_relative_to(self.root) and _has_package(first, name):
                continue
            is_named = re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", call.text) is not None
            folder = self._installed_copy(name) if is_named else None
            if folder is not None:
                yield name, folder

    def _is_found_by(self, program: StartedProgram) -> bool:
        """Return whether a variable leads a program to the side; its folders may be relative."""
        folders = (Path(os.path.normpath(program.folder / each)) for each in program.search_path)
        return any(folder.is_relative_to(self.root) for folder in folders)

    def _installed_copy(self, name: str) -> Path | None:
        """Return the folder that a program imports a package from; None if it is the side's."""
        sites = [
            Path(each)
            for each in self.search_path
            if any(part in INSTALL_FOLDERS for part in Path(each).parts)
        ]
        for site in sites:
            if _has_package(site, name):
                is_own = self.environment and site.is_relative_to(self.environment)
                return None if is_own else site / name
        return self.repository if any(map(self._is_editable, sites)) else None

    def _is_editable(self, site: Path) -> bool:
        """Return whether a folder of packages leads to the user's checkout."""
        place = str(self.repository).encode()
        with suppress(OSError):
            links = (*site.glob("*.pth"), *site.glob("__editable__*.py"))
            return any(place in link.read_bytes() for link in links)
        return False


def _program_of(event: str, arguments: tuple[Any, ...]) -> StartedProgram:
    """Return the program of an audit event: https://docs.python.org/3/library/audit_events.html."""
    match event, arguments:
        case "subprocess.Popen", (executable, words, folder, variables):
            pass
        case _, (executable, words, variables):
            folder = None
        case _:
            raise ValueError(event)
    texts: list[Any] = [words] if isinstance(words, str | bytes) else list(words)
    names = [os.fsdecode(each) for each in texts]
    if executable is not None and names:
        names[0] = os.fsdecode(executable)
    variables = os.environ if variables is None else variables
    return StartedProgram(
        tuple(names),
        {os.fsdecode(name): os.fsdecode(value) for name, value in dict(variables).items()},
        Path(os.fsdecode(folder or ".")).absolute(),
    )


def _running_programs() -> Iterator[StartedProgram]:
    """Yield the descendants of this process that run another program."""
    harness = _words_of("self")
    for process in child_processes.descendants() if child_processes.has_children() else ():
        words = _words_of(str(process))
        folder = child_processes.PROCESSES / str(process)
        with suppress(OSError):
            variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
            pairs = (each.partition("=") for each in variables if each)
            if words != harness:
                yield StartedProgram(
                    words, {name: value for name, _, value in pairs}, (folder / "cwd").readlink()
                )


def _words_of(process: str) -> tuple[str, ...]:
    with suppress(OSError):
        line = (child_processes.PROCESSES / process / "cmdline").read_bytes()
        return tuple(line.decode(errors="replace").rstrip("\0").split("\0"))
    return ()


def _python_call(program: StartedProgram) -> PythonCall | None:
    """Return what a command's Python interpreter runs; None if it starts none.

    A shell's command is looked into, and a script says which interpreter runs it.
    """
    words = list(program.words)
    if words and Path(words[0]).name in SHELLS and "-c" in words[:-1]:
        with suppress(ValueError):  # an open quotation
            words = shlex.split(words[words.index("-c") + 1])
    for index, word in enumerate(words):
        is_bare = not NO_ENVIRONMENT.isdisjoint(words[:index])
        if PYTHON.fullmatch(Path(word).name):
            return _call(words[index + 1 :], program.folder, is_isolated=is_bare)
        script = shutil.which(word, path=program.environment.get("PATH"))
        first_line = _beginning(Path(script)).partition("\n")[0] if script else ""
        if script and first_line.startswith("#!") and "python" in first_line:
            flags = [each for each in first_line.split()[1:] if each.startswith("-")]
            call = [*flags, script, *words[index + 1 :]]
            return _call(call, program.folder, is_isolated=is_bare)
    return None


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


def _has_package(folder: Path, name: str) -> bool:
    return (folder / name).is_dir() or (folder / f"{name}.py").is_file()
