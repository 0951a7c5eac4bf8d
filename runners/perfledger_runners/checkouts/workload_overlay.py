"""Overlays the workload files of one revision or folder on other revisions.

The files are replaced in git's index, never in a work tree: a link in an old revision cannot
redirect a write out of its checkout, and git itself refuses names such as `..` and `.git`.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from perfledger.bundle import LaidOverFiles
from perfledger.records import short_sha
from perfledger.rounding import integer
from perfledger_runners.checkouts.git import GitFailedError, RepositoryError, git
from perfledger_runners.checkouts.repository import Repository, UnknownRevisionError
from perfledger_runners.private_folder import private_folder
from perfledger_runners.safe_text import clean_text

MAX_FILES = 2000  # that `--workloads-from` lays over both sides
MAX_BYTES = 50_000_000  # of the files that `--workloads-from` lays over both sides
MAX_PATH = 300  # characters; it is a key of the bundle
# Files that Python, git and environments leave in a folder.
LEFT_OUT = frozenset({"__pycache__", ".git", ".venv"})
NO_BLOB = "0" * 40
FILES_AT_ONCE = 500  # per call of git


@dataclass(frozen=True, slots=True)
class OverlayFile:
    """A file to overlay: git's mode and the hash of its content in the user's repository."""

    mode: str
    blob: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOverlay:
    """Files that replace everything at `paths`, and the name of their source."""

    source: str
    paths: tuple[str, ...]
    files: Mapping[str, OverlayFile]

    @property
    def record(self) -> LaidOverFiles:
        """Return the bundle's record of the overlay."""
        blobs = {path: file.blob for path, file in self.files.items()}
        return LaidOverFiles(source=clean_text(self.source)[:MAX_PATH], files=blobs)

    def lay_over(self, repository: Repository, sha: str) -> str:
        """Return a commit with the files of `sha` and, at its paths, those of the overlay.

        It is a loose object without a ref. Raises RepositoryError.
        """
        root = repository.root
        old_paths = _entries(repository, sha, self.paths)
        lines = [f"0 {NO_BLOB}\t{path}" for path in old_paths]
        lines += [f"{file.mode} {file.blob}\t{path}" for path, file in self.files.items()]
        content = "\0".join([*lines, ""]).encode("utf-8", "surrogateescape")
        with private_folder() as folder:
            environment = {"GIT_INDEX_FILE": str(folder / "index")}
            git(root, "read-tree", sha, environment=environment)
            update = ("update-index", "--replace", "-z", "--index-info")
            git(root, *update, environment=environment, standard_input=content)
            tree = git(root, "write-tree", environment=environment).decode().strip()
        message = f"{short_sha(sha)} with the workloads of {self.source}"
        return repository.commit_tree(tree, parent=sha, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlaidChanges:
    """Files that differ between two revisions: those that an overlay replaces, and the others."""

    replaced_paths: tuple[str, ...]
    other_paths: tuple[str, ...]


class WorkloadSource(Protocol):
    """A revision or a folder with a configuration and workloads."""

    @property
    def name(self) -> str:
        """Return the name of the revision or the folder."""
        ...

    def read_file(self, path: str, *, max_bytes: int) -> bytes | None:
        """Return a file's content, None if there is none."""
        ...

    def paths(self) -> tuple[str, ...]:
        """Return the paths of all files."""
        ...

    def files_with(self, word: str) -> tuple[str, ...]:
        """Return the paths of Python files that may have this word."""
        ...

    def overlay(self, paths: Sequence[str]) -> WorkloadOverlay:
        """Return the files at `paths`. Raises RepositoryError if they cannot be overlaid."""
        ...


def find_workload_source(repository: Repository, name: str, *, folder: Path) -> WorkloadSource:
    """Return the revision with this name, else the folder, relative to `folder`.

    `./NAME` is a folder even if a revision has the same name. Raises UnknownRevisionError.
    """
    try:
        revision = repository.resolve(name)
    except UnknownRevisionError as error:
        source = folder / name
        if not source.is_dir():
            msg = f"{name!r} is neither a revision of {repository.root} nor a folder"
            raise UnknownRevisionError(msg) from error
        return _FolderSource(repository, source.resolve(), name)
    return _RevisionSource(repository, revision.sha, short_sha(revision.sha))


def overlaid_changes(
    repository: Repository, overlay: WorkloadOverlay, *, base: str, head: str
) -> OverlaidChanges:
    """Return which changes between two commits an overlay hides. Raises RepositoryError."""
    options = ("--name-only", "-z", "--no-renames", "--no-ext-diff")
    listing = git(repository.root, "diff", *options, base, head, "--")
    changed = [os.fsdecode(name) for name in listing.split(b"\0") if name]
    is_replaced = {
        path: any(PurePosixPath(path).is_relative_to(top) for top in overlay.paths)
        for path in changed
    }
    return OverlaidChanges(
        replaced_paths=tuple(path for path in changed if is_replaced[path]),
        other_paths=tuple(path for path in changed if not is_replaced[path]),
    )


@dataclass(frozen=True, slots=True)
class _RevisionSource:
    """The files of a commit."""

    repository: Repository
    sha: str
    name: str

    def read_file(self, path: str, *, max_bytes: int) -> bytes | None:
        return self.repository.read_file(self.sha, path, max_bytes=max_bytes)

    def paths(self) -> tuple[str, ...]:
        return tuple(_entries(self.repository, self.sha, ()))

    def files_with(self, word: str) -> tuple[str, ...]:
        try:
            listing = git(self.repository.root, "grep", "-lzIwF", "-e", word, self.sha, "--")
        except GitFailedError as error:
            if error.status != 1:
                raise
            return ()  # no file matches
        paths = (os.fsdecode(each).partition(":")[2] for each in listing.split(b"\0"))
        return tuple(path for path in paths if path.endswith(".py"))

    def overlay(self, paths: Sequence[str]) -> WorkloadOverlay:
        tops = _checked_tops(paths)
        entries = _entries(self.repository, self.sha, tops)
        sizes = [entry.size for entry in entries.values()]
        _check(self.name, tops, {path: entry.mode for path, entry in entries.items()}, sizes)
        files = {path: OverlayFile(entry.mode, entry.blob) for path, entry in entries.items()}
        return WorkloadOverlay(source=self.name, paths=tops, files=files)


@dataclass(frozen=True, slots=True)
class _FolderSource:
    """The files of a folder laid out like a checkout; `root` contains no links."""

    repository: Repository
    root: Path
    name: str

    def read_file(self, path: str, *, max_bytes: int) -> bytes | None:
        file = self.root / path
        if not file.exists():
            return None
        if file.is_symlink() or not file.is_file():
            msg = f"{path} in {self.name} is not a regular file: put the file itself there"
            raise RepositoryError(msg)
        with file.open("rb") as opened:
            content = opened.read(max_bytes + 1)
        if len(content) > max_bytes:
            msg = f"{path} in {self.name} is larger than {max_bytes} bytes"
            raise RepositoryError(msg)
        return content

    def paths(self) -> tuple[str, ...]:
        return tuple(self._below("."))

    def files_with(self, word: str) -> tuple[str, ...]:
        return tuple(
            path
            for path in self.paths()
            if path.endswith(".py") and word.encode() in self._content(path)
        )

    def overlay(self, paths: Sequence[str]) -> WorkloadOverlay:
        tops = _checked_tops(paths)
        facts = {path: (self.root / path).lstat() for top in tops for path in self._below(top)}
        modes = {path: _git_mode(fact.st_mode) for path, fact in facts.items()}
        _check(self.name, tops, modes, [fact.st_size for fact in facts.values()])
        blobs = self._store_files(tuple(modes))
        files = {path: OverlayFile(modes[path], blobs[path]) for path in modes}
        return WorkloadOverlay(source=self.name, paths=tops, files=files)

    def _content(self, path: str) -> bytes:
        """Return a regular file's content, or nothing: reading a pipe would never end."""
        file = self.root / path
        try:
            return file.read_bytes() if stat.S_ISREG(file.lstat().st_mode) else b""
        except OSError as error:
            self._refuse(error)
            return b""

    def _below(self, top: str) -> Iterator[str]:
        """Yield the files at or below a path, and links in their place."""
        start = self.root / top
        if start.parent.resolve() != start.parent:
            msg = f"{top} in {self.name} lies behind a link: name a folder without links"
            raise RepositoryError(msg)
        if start.is_symlink() or start.is_file():
            yield top
        for here, folders, names in os.walk(start, onerror=self._refuse):
            parent = Path(here)
            links = [name for name in folders if (parent / name).is_symlink()]
            folders[:] = sorted(set(folders) - LEFT_OUT)
            for name in sorted((*names, *links)):
                if not name.endswith(".pyc"):
                    yield (parent / name).relative_to(self.root).as_posix()

    def _refuse(self, error: OSError) -> None:
        """Raise RepositoryError for what cannot be read: its workloads would be lost."""
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            msg = f"{error.filename} in {self.name} cannot be read: {error.strerror}"
            raise RepositoryError(msg) from error

    def _store_files(self, paths: Sequence[str]) -> dict[str, str]:
        """Store files in the user's repository; return the hash of each."""
        blobs: list[str] = []
        for start in range(0, len(paths), FILES_AT_ONCE):
            files = [str(self.root / path) for path in paths[start : start + FILES_AT_ONCE]]
            stored = git(self.repository.root, "hash-object", "-w", "--no-filters", "--", *files)
            blobs += stored.decode().split()
        return dict(zip(paths, blobs, strict=True))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file of a commit's tree."""

    mode: str
    blob: str
    size: int


def _entries(repository: Repository, sha: str, paths: Sequence[str]) -> dict[str, _Entry]:
    """Return a commit's files at or below the paths, including submodules and links as such."""
    listing = git(repository.root, "ls-tree", "-r", "-z", "-l", "--full-tree", sha, "--", *paths)
    entries: dict[str, _Entry] = {}
    for line in listing.decode(errors="surrogateescape").split("\0"):
        facts, _, path = line.partition("\t")
        if path:
            mode, _, blob, size = facts.split()
            entries[path] = _Entry(mode, blob, int(size) if size.isdigit() else 0)
    return entries


def _checked_tops(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths in their shortest form; raise RepositoryError for one that leads outside."""
    tops: list[str] = []
    for path in paths:
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts or not pure.parts:
            msg = (
                f"the workload path {path!r} cannot be laid over another revision: `paths` must "
                "name files or folders below the checkout"
            )
            raise RepositoryError(msg)
        tops.append(str(pure))
    return tuple(dict.fromkeys(tops))


def _check(
    source: str, tops: Sequence[str], modes: Mapping[str, str], sizes: Sequence[int]
) -> None:
    """Raise RepositoryError unless there are files, all regular, and not too many of them."""
    listed = ", ".join(tops)
    if not modes:
        msg = f"{source} has no file at {listed}: set `paths` there to where its workloads are"
        raise RepositoryError(msg)
    for path, mode in modes.items():
        if mode not in {"100644", "100755"}:
            msg = f"{path!r} in {source} is not a regular file: only files can be laid over"
            raise RepositoryError(msg)
        if len(path) > MAX_PATH or not path.isprintable():
            msg = f"{path[:80]!r} in {source} is too long or has invalid characters: rename it"
            raise RepositoryError(msg)
    if len(modes) > MAX_FILES or sum(sizes) > MAX_BYTES:
        msg = (
            f"{listed} in {source} has {len(modes)} files of {integer(sum(sizes) / 1e6)} MB: at "
            f"most {MAX_FILES} of {integer(MAX_BYTES / 1e6)} MB can be laid over"
        )
        raise RepositoryError(msg)


def _git_mode(mode: int) -> str:
    """Return git's mode of a file, "" if it is not a regular one."""
    if not stat.S_ISREG(mode):
        return ""
    return "100755" if mode & stat.S_IXUSR else "100644"
