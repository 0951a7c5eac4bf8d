"""Finds Python programs that a step starts and that import installed copies of its own packages.

Programs find the side's packages through PYTHONPATH. One that does not get the variable, or ignores
it (`python -I`), imports what is installed: the same on both sides, whatever the change is.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from perfledger.meters import child_processes
from perfledger.meters.program_starts import (
    PATH_VARIABLE,
    STARTS,
    Hook,
    listener,
    sitecustomize,
)
from perfledger.package_code import CompiledModule, LoadedPackage, SourcePackage
from perfledger.process.loaded_packages import cache_folders, is_in_cache
from perfledger.process.module_origin import INSTALL_FOLDERS

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
COMPILED_PROGRAM = b"\x7fELF"
# A thousand programs have a tenth of it.
MAX_RECORD_BYTES = 2**22


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
    """A watch over the programs that this process starts, and those that they start in turn.

    `root` is the side's checkout, `packages` are the repository's own. `environment` is the side's
    own environment, "" without one: the copies in it are the side's.
    """

    root: Path
    repository: Path
    packages: Sequence[SourcePackage]
    environment: str = ""
    caches: Sequence[Path] | None = None
    search_path: Sequence[str] = field(default_factory=lambda: sys.path)
    _programs: list[StartedProgram] = field(default_factory=list[StartedProgram])
    _fork_copies: dict[str, Path] = field(default_factory=dict[str, Path])
    _record: Path | None = None  # its folder

    def watch(self, add_hook: Callable[[Hook], object] = sys.addaudithook) -> None:
        """Record the programs that are started from now on, and those that run.

        Python cannot remove the hook, so this comes after the last timed step. Python programs that
        are started with this process's variables record, too.
        """
        if not self.packages:
            return
        self._record = Path(tempfile.mkdtemp(prefix="perfledger-"))
        (self._record / STARTS).touch()
        text = sitecustomize(str(self._record))
        (self._record / "sitecustomize.py").write_text(text, encoding="utf-8")
        add_hook(listener(str(self._record)))
        self._programs += _running_programs()
        self._fork_copies = dict(self._copies_in_forks())
        path = os.environ.get(PATH_VARIABLE, "")
        os.environ[PATH_VARIABLE] = os.pathsep.join(filter(None, (str(self._record), path)))

    def copies(self) -> tuple[LoadedPackage, ...]:
        """Return the installed packages that the programs import in place of the side's.

        Compiled programs in a cache follow, where packages keep what they compile when they are
        first used. This ends the watch.
        """
        self._end()
        copies = {
            name: folder for program in self._programs for name, folder in self._copies_of(program)
        } | self._fork_copies
        return (
            *(
                # Their files are not read.
                LoadedPackage(name=name, folder=str(folder), is_own=False, modules=1, digest="")
                for name, folder in copies.items()
            ),
            *self._programs_in_caches(),
        )

    def _end(self) -> None:
        """Take the record, and undo what made programs find it."""
        if self._record is None:
            return
        path = os.environ.pop(PATH_VARIABLE, "").split(os.pathsep)
        if folders := os.pathsep.join(each for each in path if each != str(self._record)):
            os.environ[PATH_VARIABLE] = folders
        self._programs += _recorded_programs(self._record / STARTS)
        shutil.rmtree(self._record, ignore_errors=True)
        self._record = None

    def _programs_in_caches(self) -> Iterator[LoadedPackage]:
        own_folders = [
            Path(os.path.realpath(each)) for each in (self.root, self.environment) if each
        ]
        caches = self.caches if self.caches is not None else cache_folders(os.environ)
        installed = [Path(sys.prefix), Path(sys.base_prefix), *own_folders]
        paths = (_path_of(program) for program in self._programs if program.words)
        for path in dict.fromkeys(paths):
            with suppress(OSError):
                is_program = is_in_cache(path, caches, installed)
                content = Path(path).read_bytes() if is_program else b""
                if content.startswith(COMPILED_PROGRAM):
                    digest = hashlib.sha256(content).hexdigest()
                    module = CompiledModule(path=path, size_bytes=len(content), digest=digest)
                    yield LoadedPackage(
                        name=Path(path).stem,
                        folder=str(Path(path).parent),
                        is_own=False,
                        modules=1,
                        digest=digest,
                        compiled=(module,),
                    )

    def _copies_of(self, program: StartedProgram) -> Iterator[tuple[str, Path]]:
        is_found = self._is_found_by(program)
        for call in _python_calls(program):
            if call.is_isolated or not is_found:
                yield from self._copies_in(call)

    def _copies_in_forks(self) -> Iterator[tuple[str, Path]]:
        """Yield the installed packages whose compiled modules running descendants have loaded.

        A package that only forks import is not among the modules of this process.
        """
        names = {each.name.partition(".")[0] for each in self.packages}
        for process in child_processes.descendants() if child_processes.has_children() else ():
            with suppress(OSError):
                maps = child_processes.PROCESSES / str(process) / "maps"
                lines = maps.read_text(errors="replace").splitlines()
                parts = {part for line in lines if ".so" in line for part in line.split("/")}
                for name in sorted(names & parts):
                    folder = self._installed_copy(name)
                    if folder is not None and any(f"{folder}/" in line for line in lines):
                        yield name, folder

    def _copies_in(self, call: PythonCall) -> Iterator[tuple[str, Path]]:
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


def _path_of(program: StartedProgram) -> str:
    place = shutil.which(program.words[0], path=program.environment.get("PATH"))
    return os.path.realpath(program.folder / (place or program.words[0]))


def _recorded_programs(path: Path) -> Iterator[StartedProgram]:
    with suppress(OSError), path.open("rb") as file:
        for line in file.read(MAX_RECORD_BYTES).splitlines():
            with suppress(ValueError, TypeError):  # a line that was cut off
                words, variables, folder = json.loads(line)
                yield StartedProgram(tuple(words), variables, Path(folder))


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


def _python_calls(program: StartedProgram) -> Iterator[PythonCall]:
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


def _has_package(folder: Path, name: str) -> bool:
    return (folder / name).is_dir() or (folder / f"{name}.py").is_file()
