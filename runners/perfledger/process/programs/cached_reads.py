"""Notices which files of other processes a step reads in caches and temporary folders.

Both sides of a check share these folders, so a step may find there what another process computed.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfledger.meters.program_starts import Hook
from perfledger.package_code import LoadedPackage
from perfledger.process.loaded_packages import cache_folders, is_in_cache

OPEN, CONNECT = "open", "sqlite3.connect"
MAX_OPENED = 1000  # the first files that a step opens
MAX_FILES = 20


@dataclass(slots=True, kw_only=True)
class CachedReads:
    """The files that this process opens to read while it is watched, and did not write itself.

    What lies below `own_folders` is the side's own. What was written since `began`, by time.time(),
    is probably this process's; not so a database, in which other processes write as well.
    """

    own_folders: Sequence[Path]
    began: float
    caches: Sequence[Path] | None = None
    _opened: dict[str, str] = field(default_factory=dict[str, str])  # with the event
    _is_watching: bool = False

    def watch(self, add_hook: Callable[[Hook], object] = sys.addaudithook) -> None:
        """Notice what is opened from now on; Python cannot remove the hook."""
        self._is_watching = True
        add_hook(self._hear)

    def files(self) -> tuple[LoadedPackage, ...]:
        """Return the files in caches that were opened, the first of each name; end the watch."""
        self._is_watching = False
        files = {file.name: file for file in self._cached_files()}
        return tuple(files.values())[:MAX_FILES]

    def _hear(self, event: str, arguments: "tuple[Any, ...]") -> None:
        if not self._is_watching or event not in {OPEN, CONNECT} or len(self._opened) >= MAX_OPENED:
            return
        with suppress(Exception):  # a boundary: any object may be an argument
            is_read = event == CONNECT or arguments[2] & os.O_ACCMODE != os.O_WRONLY
            if is_read and not isinstance(arguments[0], int):
                name = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100 - faster
                self._opened.setdefault(name, event)

    def _cached_files(self) -> Iterator[LoadedPackage]:
        caches = self.caches if self.caches is not None else cache_folders(os.environ)
        own_folders = [Path(os.path.realpath(each)) for each in self.own_folders]
        foreign = [Path(sys.prefix), Path(sys.base_prefix), *own_folders]
        for name, event in self._opened.items():
            path = Path(name)
            if not is_in_cache(name, caches, foreign, is_any_size=True):
                continue
            write_time = _write_time(path)
            if write_time is not None and (event == CONNECT or write_time < self.began):
                # Its content is not read: it may be large.
                yield LoadedPackage(
                    name=path.name, folder=str(path.parent), is_own=False, modules=1, digest=""
                )


def _write_time(path: Path) -> float | None:
    """Return when a file was written last; None if it is gone, unreadable or no file."""
    with suppress(OSError, ValueError):
        status = path.stat()
        return status.st_mtime if stat.S_ISREG(status.st_mode) else None
    return None
