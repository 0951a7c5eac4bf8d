"""Checks that the code that ran is the code of its side."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from perfledger.package_code import LoadedPackage
from perfledger.process.module_origin import INSTALL_FOLDERS
from perfledger.records import Failure, FailureReason, Run, Side
from perfledger_runners.checkouts.missing_content import PointerWatch
from perfledger_runners.checkouts.package_layout import ASIDE, is_within
from perfledger_runners.checkouts.shared_files import SharedFiles, blob_of
from perfledger_runners.checkouts.source_tree import (
    PackageFolder,
    SourceTree,
    changed_dependencies,
    changed_paths,
    first_few,
    is_below,
    is_compiled_source,
)
from perfledger_runners.safe_text import MAX_DETAIL

BUILD_ADVICE = "set `build` in perfledger.toml or run with --isolated"
DEPENDENCY_ADVICE = "set `build` in perfledger.toml to a command that installs them"
UNSEEN_PROGRAMS = (
    "steps of {} start programs, and this system does not show whether these import an installed "
    "copy in place of a side's code: Linux's inotify would, with enough fs.inotify.max_user_watches"
)
# git's hash of an empty file, which every package has.
EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
ABSENT = "none"
# Installed files that are looked for in older commits: one is enough, and each is a call of git.
MAX_OLDER_FILES = 20
# Sources whose code is compared: a comment is corrected in a few, and each is two calls of git.
MAX_COMPARED_SOURCES = 20
CACHE_DEPTH = 2  # folders around a compiled library that may have the name of its package


def _has_none(digest: str) -> bool:  # noqa: ARG001 - without a clone, no commit is known
    return False


def _is_never_same(path: str, base: str, head: str) -> bool:  # noqa: ARG001 - as above
    return False


@dataclass(slots=True, kw_only=True)
class CodeOriginCheck:
    """A check of the code that runs loaded, against what differs between the two revisions.

    `is_built` means that each side has its own environment; `installed` are the files whose
    dependencies it has. `pointers` are files in Git LFS without content, watched in pairs.
    `has_object` says whether any commit contains a file with this hash, `is_mentioned` whether a
    checkout's text has this word, and `has_same_code` whether a path's two hashes are sources that
    differ only in comments.
    """

    base: SourceTree
    head: SourceTree
    is_built: bool = False
    installed: Collection[str] = ()
    pointers: PointerWatch = field(default_factory=PointerWatch)
    has_object: Callable[[str], bool] = field(default=_has_none)
    repository: Path = Path("/")  # the user's checkout
    is_mentioned: Callable[[str], bool] = field(default=_has_none)
    has_same_code: Callable[[str, str, str], bool] = field(default=_is_never_same)
    _changed: tuple[str, ...] = field(init=False)
    _changed_code: tuple[str, ...] = field(init=False)  # of these, without sources of the same code
    _shared: SharedFiles = field(init=False)
    _own_folders: dict[tuple[str, str, Side], str] = field(
        default_factory=dict[tuple[str, str, Side], str]
    )
    _notes: dict[str, None] = field(default_factory=dict[str, None])
    _compiled_by: set[Side] = field(default_factory=set[Side])
    _libraries: dict[tuple[str, str, Side], LoadedPackage] = field(
        default_factory=dict[tuple[str, str, Side], LoadedPackage]
    )
    _compiled: dict[tuple[str, Side], dict[str, set[str]]] = field(
        default_factory=dict[tuple[str, Side], dict[str, set[str]]]
    )

    def __post_init__(self) -> None:
        self._changed = changed_paths(self.base, self.head)
        commented = self._commented_sources()
        self._changed_code = tuple(path for path in self._changed if path not in commented)
        self._shared = SharedFiles(
            hashes={Side.BASE: self.base.hashes, Side.HEAD: self.head.hashes},
            changed=self._changed,
            has_object=self.has_object,
        )

    @property
    def changed(self) -> tuple[str, ...]:
        """Return the files that differ in git between the sides, as they are checked out."""
        return self._changed

    @property
    def began(self) -> float:
        """Return when the check began, by time.time(): what was written since is its own."""
        return self._shared.began

    def resume(self, *, began: float) -> None:
        """Go on with a check that began earlier."""
        self._shared.began = began

    def failure(self, run: Run) -> Failure | None:
        """Return why a run measured other code than its side's, None if it did not."""
        pointer_fault = self.pointers.fault(run, self._changed)
        for package in run.packages:
            if package.is_own and package.compiled:
                self._compiled_by.add(run.side)
            folders = () if package.is_own else self._folders(package)
            files = _relevant(self._changed_code, package, folders)
            if not folders:
                continue
            if files:
                return _failure(run, self._installed_detail(package, files))
            self._note(
                f"{package.name} ran from its installed copy at {package.folder} on both sides; "
                "its code is the same in base and head"
            )
        if run.evidence.has_unseen_programs and self._changed_code:
            self._note(UNSEEN_PROGRAMS.format(run.workload))
        for note in self._shared.notes(run):
            self._note(note)
        shared_fault = self._shared.fault(run)
        return (
            (_failure(run, shared_fault) if shared_fault else None)
            or self._other_folder(run)
            or self._unseen_submodule(run)
            or (_failure(run, pointer_fault) if pointer_fault else None)
            or self._stale_dependencies(run)
            or self._shared_library(run)
            or (None if self.is_built else self._stale_binary(run))
        )

    def notes(self) -> tuple[str, ...]:
        """Return notes on installed copies that ran, and on sources that nobody compiled."""
        sources = [path for path in self._changed_code if is_compiled_source(path)]
        # A side that loaded its own compiled code compiled it itself, as torch does.
        if not sources or self.is_built or self._compiled_by == set(Side):
            return tuple(self._notes)
        note = (
            f"compiled sources changed ({first_few(sources)}); both sides ran with what is "
            f"installed: {BUILD_ADVICE}"
        )
        return (note, *self._notes)

    def _commented_sources(self) -> frozenset[str]:
        """Return the compiled sources that changed only in comments; none if many changed."""
        hashes = {
            path: (self.base.hashes[path], self.head.hashes[path])
            for path in self._changed
            if is_compiled_source(path) and path in self.base.hashes and path in self.head.hashes
        }
        if len(hashes) > MAX_COMPARED_SOURCES:
            return frozenset()
        return frozenset(
            path for path, (base, head) in hashes.items() if self.has_same_code(path, base, head)
        )

    def _note(self, text: str) -> None:
        self._notes[text] = None

    def _folders(self, package: LoadedPackage) -> tuple[PackageFolder, ...]:
        """Return the folders of a loaded package; if its name is a guess, only with evidence."""
        folders = [
            folder
            for tree in (self.base, self.head)
            for folder in tree.packages
            if folder.name == package.name
        ]
        sure = tuple(folder for folder in folders if folder.root)
        if not sure and not package.is_own:
            sure = tuple(each for each in folders if self._is_copy(Path(package.folder), each))
        if not sure and package.name in self.base.extensions | self.head.extensions:
            sure = (PackageFolder(name=package.name, root="", folder="", project="."),)
        return tuple(dict.fromkeys(sure))

    def _is_copy(self, installed: Path, package: PackageFolder) -> bool:
        """Return whether an installed file is the same as in base, head or an older commit."""
        trees = (self.base, self.head)
        paths = {path for tree in trees for path in tree.hashes if is_below(path, package.folder)}
        older: list[str] = []
        for path in sorted(paths):
            blob = blob_of(installed / path.removeprefix(f"{package.folder}/"))
            if blob in {"", EMPTY_BLOB}:
                continue
            if any(tree.hashes.get(path) == blob for tree in trees):
                return True
            older.append(blob)
        return any(map(self.has_object, older[:MAX_OLDER_FILES]))

    def _installed_detail(self, package: LoadedPackage, files: Iterable[str]) -> str:
        copy = f"the installed copy of {package.name} at {package.folder} ran, not this commit"
        advice = "let `build` install the package" if self.is_built else BUILD_ADVICE
        return f"{copy} ({first_few(tuple(files))} changed): {advice}"

    def _other_folder(self, run: Run) -> Failure | None:
        """Return a failure if head ran a package from elsewhere in its checkout than base did.

        It moved if head no longer has base's folder. Else what changed there did not run.
        """
        for package in (each for each in run.packages if each.is_own):
            self._own_folders[run.workload, package.name, run.side] = package.folder
            base, head = (
                self._own_folders.get((run.workload, package.name, side)) for side in Side
            )
            if base is None or head is None or base == head or "." in (base, head):
                continue
            unseen = [
                path
                for path in self._changed
                if path in self.base.hashes and path in self.head.hashes and is_below(path, base)
            ]
            if unseen:
                detail = (
                    f"head ran {package.name} from {head}, and base from {base}, which head still "
                    f"has: what changed there ({first_few(unseen)}) did not run on head; remove "
                    "the folder that is not used, or leave the import path as it was"
                )
                return _failure(run, detail)
        return None

    def _unseen_submodule(self, run: Run) -> Failure | None:
        """Return a failure if a submodule changed and its files are not in the clone."""
        missing = self.base.missing_submodules | self.head.missing_submodules
        paths = [path for path in self._changed if path in missing and not is_within(path, ASIDE)]
        if not paths:
            return None
        detail = (
            f"submodule {first_few(paths)} changed, and a commit of it is not in this clone, so "
            "it is unknown what ran: git submodule update --init --recursive, with its history, "
            "gets it"
        )
        return _failure(run, detail)

    def _shared_library(self, run: Run) -> Failure | None:
        """Return a failure if both sides used a library of neither, and sources changed."""
        sources = [path for path in self._changed_code if is_compiled_source(path)]
        for package in run.packages:
            if not _is_library(package):
                continue
            self._libraries[run.workload, package.name, run.side] = package
            same = self._libraries.get((run.workload, package.name, run.side.facing))
            is_same = same is not None and same.digest == package.digest
            if sources and is_same and self._is_of_repository(package):
                detail = (
                    f"both sides used {package.name} from {package.folder}, which is in "
                    f"neither checkout, although {first_few(sources)} changed: load it from a path "
                    "below the file that loads it, and let `build` in perfledger.toml make it"
                )
                return _failure(run, detail)
        return None

    def _is_of_repository(self, library: LoadedPackage) -> bool:
        """Return whether the repository may have compiled a library: it names it, or has it.

        So has a folder of a cache that has the name of one of its packages. Any other library in a
        cache is another project's.
        """
        if Path(library.folder).is_relative_to(self.repository):
            return True
        packages = {folder.name for tree in (self.base, self.head) for folder in tree.packages}
        if packages.intersection(Path(library.folder).parts[-CACHE_DEPTH:]):
            return True
        name = library.name.removeprefix("lib")
        stems = {
            PurePosixPath(path).stem
            for tree in (self.base, self.head)
            for path in tree.hashes
            if is_compiled_source(path)
        }
        return name in stems or self.is_mentioned(library.name)

    def _stale_dependencies(self, run: Run) -> Failure | None:
        """Return a failure if a project's requirements changed and were not installed."""
        missing = [
            path
            for path in changed_dependencies(self.base, self.head)
            if path not in self.installed
        ]
        projects = {".", *(each.project for one in run.packages for each in self._folders(one))}
        files = [
            path
            for path in missing
            if {tree.project_of(path) for tree in (self.base, self.head)} & projects
        ]
        if not files:
            return None
        detail = (
            f"dependencies changed ({first_few(files)}), but both sides ran with what is "
            f"installed: {DEPENDENCY_ADVICE}"
        )
        return _failure(run, detail)

    def _stale_binary(self, run: Run) -> Failure | None:
        """Return a failure if sources changed but a project's compiled modules did not."""
        binaries = self._compiled.setdefault((run.workload, run.side), {})
        beside = _sources_beside(run.packages)
        for package in run.packages:
            for folder in self._folders(package):
                digests = binaries.setdefault(folder.project, set())
                digests |= {module.digest for module in package.compiled}
        for project, digests in self._compiled.get((run.workload, run.side.facing), {}).items():
            sources = [
                path
                for path in self._changed_code
                if (is_compiled_source(path) or path in beside) and is_below(path, project)
            ]
            if sources and digests and digests == binaries.get(project):
                detail = (
                    f"the same compiled modules ran on both sides although {first_few(sources)} "
                    f"changed: {BUILD_ADVICE}"
                )
                return _failure(run, detail)
        return None


def distribution_notes(base: Mapping[str, str], head: Mapping[str, str]) -> tuple[str, ...]:
    """Return a note that names the distributions that differ between the sides, if any do."""
    versions = (
        (name, base.get(name, ABSENT), head.get(name, ABSENT))
        for name in sorted(base.keys() | head.keys())
    )
    changes = [
        f"{name} {before} \N{RIGHTWARDS ARROW} {after}"
        for name, before, after in versions
        if before != after
    ]
    if not changes:
        return ()
    return (f"installed packages differ on head: {', '.join(changes)}"[:MAX_DETAIL],)


def _relevant(
    changed: Iterable[str], package: LoadedPackage, folders: Iterable[PackageFolder]
) -> tuple[str, ...]:
    """Return the changed files of the package, with compiled sources if it has compiled modules."""
    return tuple(
        path for path in changed if any(_is_part(path, package, folder) for folder in folders)
    )


def _is_part(path: str, package: LoadedPackage, folder: PackageFolder) -> bool:
    if folder.folder and is_below(path, folder.folder):
        return True
    return bool(package.compiled) and is_compiled_source(path) and is_below(path, folder.project)


def _sources_beside(packages: Iterable[LoadedPackage]) -> frozenset[str]:
    """Return the Python files that compiled modules of the checkout replace, if there are any.

    Python imports `fast.cpython-314.so` rather than `fast.py` beside it, as mypyc makes them.
    """
    modules = (
        PurePosixPath(each.path)
        for package in packages
        for each in package.compiled
        if package.is_own
    )
    return frozenset(
        str(module.with_name(f"{module.name.partition('.')[0]}.py")) for module in modules
    )


def _is_library(package: LoadedPackage) -> bool:
    """Return whether this is a shared library from outside the side's folders and not installed."""
    is_installed = any(part in INSTALL_FOLDERS for part in Path(package.folder).parts)
    return bool(package.compiled) and not (package.is_own or is_installed)


def _failure(run: Run, detail: str) -> Failure:
    """Return a failure of head if what is installed is base's code, not the change's."""
    return Failure(
        workload=run.workload,
        side=Side.HEAD,
        why=FailureReason.WRONG_CODE,
        detail=detail[:MAX_DETAIL],
        pair=run.pair,
    )
