"""Finds files of a commit whose content a checkout lacks, and which of them are used.

Of a file in Git LFS the clone may have the pointer alone, and a sparse checkout leaves files out.
"""

import os
import stat
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from perfledger.process.programs.file_opens import FileOpens
from perfledger.records import Run, Side
from perfledger_runners.checkouts.package_layout import ASIDE, is_within
from perfledger_runners.checkouts.source_tree import first_few
from perfledger_runners.safe_text import clean_text

# The first line of a pointer, as Git LFS writes it and did before it had this name:
# https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md, `v1Aliases` in lfs/pointer.go.
POINTERS = (
    b"version https://git-lfs.github.com/spec/v1\n",
    b"version https://hawser.github.com/spec/v1\n",
    b"version http://git-media.io/v/2\n",
)
MAX_POINTER_BYTES = 1024  # by the specification, a pointer is no larger
ATTRIBUTES = ".gitattributes"
LFS_ADVICE = "`git lfs install` and `git lfs pull` in this clone get the content"


@dataclass(frozen=True, slots=True)
class MissingContent:
    """Files of a commit that a checkout has as pointers of Git LFS, and those that it leaves out.

    A step would work on the pointers, or without the files.
    """

    pointers: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()

    def notes(self) -> tuple[str, ...]:
        """Return the notes on both, with what gets the content."""
        notes: list[str] = []
        if self.pointers:
            notes.append(
                f"{_names_of(self.pointers)}: in Git LFS, and the checkouts have only the "
                f"pointers: {LFS_ADVICE}"
            )
        if self.left_out:
            notes.append(
                f"{_names_of(self.left_out)}: left out, because this clone is a sparse checkout: "
                "both sides ran without them; `git sparse-checkout add` gets a folder"
            )
        return tuple(notes)


@dataclass(slots=True, kw_only=True)
class PointerWatch:
    """A watch over the files that two checkouts have as pointers of Git LFS.

    `roots` are the checkouts, and `pointers` the files of each. What the system cannot watch
    (Linux's inotify), and what is in more folders than a few hundred, is not noticed.
    """

    roots: Mapping[Side, Path] = field(default_factory=dict[Side, Path])
    pointers: Mapping[Side, frozenset[str]] = field(default_factory=dict[Side, frozenset[str]])
    _opens: dict[Side, FileOpens] = field(default_factory=dict[Side, FileOpens])
    _opened: dict[tuple[Side, int, str], set[str]] = field(
        default_factory=dict[tuple[Side, int, str], set[str]]
    )

    @contextmanager
    def watching(self) -> Generator[None]:
        """Watch the pointers inside, and end the watch."""
        self._opens = {side: self._watch(side) for side in self.pointers if self.pointers[side]}
        try:
            yield
        finally:
            for opens in self._opens.values():
                opens.opened()
            self._opens = {}
            self._opened = {}

    def fault(self, run: Run, changed: Collection[str]) -> str:
        """Return why a run used a file whose content is unknown, or may have; "" if it did not.

        It may if the file is one of the `changed` ones, or a pointer on one side alone. It has if
        any process opened the pointer since the last call, or in an earlier run of its process that
        is of the same file of workloads: its import is that of both. Files aside, as of
        documentation, matter only then.
        """
        module = run.workload.partition(":")[0]
        opened = self._opened.setdefault((run.side, run.process, module), set())
        opened |= self._newly_opened(run.side)
        base, head = (self.pointers.get(each, frozenset()) for each in Side)
        changed_pointers = _product_files(base.union(head) & {*changed})
        on_one_side = _product_files(base ^ head)
        if changed_pointers:
            what = f"{first_few(changed_pointers)} changed in Git LFS, and the checkouts have only"
        elif on_one_side:
            what = (
                f"one side's {ATTRIBUTES} does not declare the filter of {first_few(on_one_side)}, "
                "or a download failed: it has only"
            )
        elif opened:
            what = (
                f"a process opened {first_few(sorted(opened))} while this file of workloads ran, "
                "and the checkouts have only"
            )
        else:
            return ""
        return (
            f"{what} the pointers, so it is unknown what a step does with the content: {LFS_ADVICE}"
        )

    def _newly_opened(self, side: Side) -> frozenset[str]:
        earlier = self._opens.get(side)
        if earlier is None:
            return frozenset()
        self._opens[side] = self._watch(side)  # first, so that nothing goes unseen between
        root = self.roots[side]
        # A set-up may get the content: then the file is larger.
        opened = {str(path.relative_to(root)) for path in earlier.opened() if _may_be_pointer(path)}
        return self.pointers[side] & opened

    def _watch(self, side: Side) -> FileOpens:
        """Begin to watch the folders of a side's pointers: files are more than can be watched."""
        opens = FileOpens()
        root = self.roots[side]
        opens.watch(sorted({(root / path).parent for path in self.pointers[side]}))
        return opens


def missing_content(checkout: Path, paths: Collection[str]) -> MissingContent:
    """Return which files of a commit, its `paths`, a checkout lacks.

    A pointer is one although no file of attributes says so: a commit may lose that by mistake.
    """
    return MissingContent(
        pointers=frozenset(path for path in paths if _is_pointer(checkout / path)),
        left_out=frozenset(path for path in paths if not os.path.lexists(checkout / path)),
    )


def _names_of(paths: Collection[str]) -> str:
    return first_few([clean_text(path) for path in sorted(paths)])


def _product_files(paths: Iterable[str]) -> list[str]:
    return sorted(path for path in paths if not is_within(path, ASIDE))


def _may_be_pointer(path: Path) -> bool:
    """Return whether this is a file of the size of a pointer; False for a link or a folder."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= MAX_POINTER_BYTES


def _is_pointer(path: Path) -> bool:
    """Return whether a file of the commit is a pointer."""
    try:
        return _may_be_pointer(path) and path.read_bytes().startswith(POINTERS)
    except OSError:
        return False
