"""Finds programs that a step starts and that import installed copies of its own packages.

Python programs find the side's packages through PYTHONPATH. One that does not get the variable, or
ignores it (`python -I`), imports what is installed: the same on both sides, whatever the change is.
What Python and shells start is read from their commands. What other programs start, such as make,
is not known, but a copy that was opened while the step ran is.
"""

import hashlib
import json
import os
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
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
from perfledger.process.programs.installed_copies import InstalledCopies, has_package
from perfledger.process.programs.python_calls import PythonCall, StartedProgram, python_calls

COMPILED_PROGRAM = b"\x7fELF"
# A thousand programs have a tenth of it.
MAX_RECORD_BYTES = 2**22


@dataclass(slots=True, kw_only=True)
class ProgramWatch:
    """A watch over the programs that this process starts, and those that they start in turn.

    `root` is the side's checkout, `packages` are the repository's own. `environment` is the side's
    own environment, "" without one: the copies in it are the side's. After the watch,
    `has_unseen_programs` says that programs ran which may have opened copies unnoticed.
    """

    root: Path
    repository: Path
    packages: Sequence[SourcePackage]
    environment: str = ""
    caches: Sequence[Path] | None = None
    search_path: Sequence[str] = field(default_factory=lambda: sys.path)
    has_unseen_programs: bool = False
    _programs: list[StartedProgram] = field(default_factory=list[StartedProgram])
    _fork_copies: dict[str, Path] = field(default_factory=dict[str, Path])
    _record: Path | None = None  # its folder
    _installed: InstalledCopies = field(init=False)
    _faults: int = 0  # of child processes that had ended

    def __post_init__(self) -> None:
        self._installed = InstalledCopies(
            packages=self.packages,
            repository=self.repository,
            environment=self.environment,
            search_path=self.search_path,
        )

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
        self._faults = _faults_of_children()
        self._installed.watch()

    def copies(self) -> tuple[LoadedPackage, ...]:
        """Return the installed packages that the programs import in place of the side's.

        Compiled programs in a cache follow, where packages keep what they compile when they are
        first used. This ends the watch.
        """
        opened = self._installed.opened()
        self._end()
        copies = {
            name: folder for program in self._programs for name, folder in self._copies_of(program)
        } | self._fork_copies
        if self._programs or self._has_started():  # else the opening program is not the step's
            copies |= opened
            self.has_unseen_programs = self._installed.has_unwatched
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

    def _has_started(self) -> bool:
        """Return whether a child process runs or has ended, that no audit event told of."""
        return child_processes.has_children() or _faults_of_children() > self._faults

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
        for call in python_calls(program):
            if call.is_isolated or not is_found:
                yield from self._copies_in(call)

    def _copies_in_forks(self) -> Iterator[tuple[str, Path]]:
        """Yield the installed packages whose compiled modules running descendants have loaded.

        A package that only forks import is not among the modules of this process.
        """
        names = {each.name: each.name.rpartition(".")[2] for each in self.packages}
        for process in child_processes.descendants() if child_processes.has_children() else ():
            with suppress(OSError):
                maps = child_processes.PROCESSES / str(process) / "maps"
                lines = maps.read_text(errors="replace").splitlines()
                parts = {part for line in lines if ".so" in line for part in line.split("/")}
                for name in sorted(name for name, last in names.items() if last in parts):
                    folder = self._installed.copy_of(name)
                    if folder is not None and any(f"{folder}/" in line for line in lines):
                        yield name, folder

    def _copies_in(self, call: PythonCall) -> Iterator[tuple[str, Path]]:
        for name in dict.fromkeys(each.name for each in self.packages):
            first = call.folder
            if first is not None and first.is_relative_to(self.root) and has_package(first, name):
                continue
            folder = self._installed.copy_of(name) if _is_named(name, call.text) else None
            if folder is not None:
                yield name, folder

    def _is_found_by(self, program: StartedProgram) -> bool:
        """Return whether a variable leads a program to the side; its folders may be relative."""
        folders = (Path(os.path.normpath(program.folder / each)) for each in program.search_path)
        return any(folder.is_relative_to(self.root) for folder in folders)


def _is_named(package: str, code: str) -> bool:
    """Return whether code names a package; one in a namespace may be imported from that."""
    namespace, _, last = package.rpartition(".")
    if re.search(rf"(?<![\w.]){re.escape(package)}(?!\w)", code):
        return True
    line = rf"\bfrom\s+{re.escape(namespace)}\s+import\s[^\n;]*\b{re.escape(last)}\b"
    return bool(namespace) and re.search(line, code) is not None


def _faults_of_children() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt


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
