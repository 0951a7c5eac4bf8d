"""Checks what runs found in caches and temporary folders, which both sides of a check share."""

import hashlib
import time
import zipfile
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from perfledger.package_code import LoadedPackage
from perfledger.records import Run, Side

MAX_ARCHIVED_BYTES = 2**24  # of a module in an archive
PYTHON = ".py"


@dataclass(slots=True, kw_only=True)
class SharedFiles:
    """The files in caches that runs of a check loaded or read.

    `hashes` are those of each side's checkout by path, of which `changed` differ. `has_object` says
    whether any commit contains a file with this hash. The check `began`, by time.time().
    """

    hashes: Mapping[Side, Mapping[str, str]]
    changed: Collection[str]
    has_object: Callable[[str], bool]
    began: float = field(default_factory=time.time)
    _readers: dict[tuple[str, str], set[tuple[Side, int]]] = field(
        default_factory=dict[tuple[str, str], set[tuple[Side, int]]]
    )

    def fault(self, run: Run) -> str:
        """Return why what a run found is not its side's own, "" if nothing shows that."""
        for package in run.packages:
            path = Path(package.folder, package.name)
            if not _is_shared(package):
                continue
            if package.digest:
                source = self._copied_source(path, run.side)
                if source:
                    return (
                        f"{path} ran, which is in neither checkout and is {source} of another "
                        f"commit than this side's, although {source} changed: import it from the "
                        "checkout, or copy it to a folder of its own for each version"
                    )
                continue
            readers = self._readers.setdefault((run.workload, str(path)), set())
            readers.add((run.side, run.pair))
            if len(readers) > 1 and self._is_new(path):
                return (
                    f"its steps read {path}, which another process of this check wrote: what base "
                    "computed may be what head finds. Keep it below the checkout; what is no "
                    "result but data can be read in the set-up"
                )
        return ""

    def notes(self, run: Run) -> tuple[str, ...]:
        """Return notes on files that steps read and that were there before the check."""
        paths = [
            Path(each.folder, each.name)
            for each in run.packages
            if _is_shared(each) and not each.digest
        ]
        return tuple(
            f"steps read {path}, which was there before this check: if it holds results, they hide "
            "changes of the code that computes them"
            for path in paths
            if not self._is_new(path)
        )

    def _is_new(self, path: Path) -> bool:
        with suppress(OSError):
            return path.stat().st_mtime >= self.began
        return False

    def _copied_source(self, path: Path, side: Side) -> str:
        """Return the changed file of which this is a copy of another commit, "" if of none."""
        blob = blob_of(path)
        own_hashes, facing_hashes = self.hashes[side], self.hashes[side.facing]
        for source in self.changed:
            if not blob or own_hashes.get(source) == blob:
                continue
            is_older = PurePosixPath(source).name == path.name and self.has_object(blob)
            if facing_hashes.get(source) == blob or is_older:
                return source
        return ""


def blob_of(path: Path) -> str:
    """Return git's hash of a file, also of one in an archive; "" if it cannot be read."""
    try:
        content = path.read_bytes() if path.is_file() else _archive_member(path)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return ""
    head = f"blob {len(content)}\0".encode()
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


def _archive_member(path: Path) -> bytes:
    """Return a file of a ZIP archive that Python imports from.

    Raises OSError, KeyError or BadZipFile if there is none.
    """
    archive = next((parent for parent in path.parents if parent.is_file()), path)
    name = path.relative_to(archive).as_posix()
    with zipfile.ZipFile(archive) as opened, opened.open(name) as file:
        return file.read(MAX_ARCHIVED_BYTES)


def _is_shared(package: LoadedPackage) -> bool:
    """Return whether this is a file in a cache: code with a digest, or what a step read."""
    if package.is_own or package.compiled:
        return False
    is_read = not package.digest and Path(package.folder, package.name).is_file()
    return is_read or (bool(package.digest) and package.name.endswith(PYTHON))
