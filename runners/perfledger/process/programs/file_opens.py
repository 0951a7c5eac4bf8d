"""Notices which files any process of the machine opens, with Linux's inotify."""

import ctypes
import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

# IN_OPEN, and IN_ISDIR for a folder that is itself opened: include/uapi/linux/inotify.h. The flags
# of inotify_init1 are those of open.
OPEN, OF_FOLDER = 0x20, 0x40000000
EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows
READ_BYTES = 2**16
MAX_WATCHED = 200  # the kernel's limits are for all programs of a user


@dataclass(slots=True)
class FileOpens:
    """A watch over files, and over those in folders: which were opened, by whatever process.

    It `is_complete` unless the system could not watch a path, or a step ended the watch.
    """

    is_complete: bool = True
    _descriptor: int = -1
    _paths: dict[int, Path] = field(default_factory=dict[int, Path])

    def watch(self, paths: Iterable[Path]) -> None:
        """Watch some files and folders from now on, but not what is deeper in a folder.

        Has no effect for a path that is missing, and where the system cannot watch more.
        """
        existing = [path for path in paths if path.exists()]
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            self._descriptor = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            for path in existing[:MAX_WATCHED]:
                watch = library.inotify_add_watch(self._descriptor, os.fsencode(path), OPEN)
                if watch >= 0:
                    self._paths[watch] = path
        self.is_complete = len(self._paths) == len(set(existing))

    def opened(self) -> frozenset[Path]:
        """Return the files that were opened, and end the watch."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return frozenset()
        if not _is_watch(descriptor):
            self.is_complete = False
            return frozenset()
        content = b""
        with suppress(OSError):  # no more
            while part := os.read(descriptor, READ_BYTES):
                content += part
        with suppress(OSError):
            os.close(descriptor)
        return frozenset(self._opened_files(content))

    def _opened_files(self, events: bytes) -> Iterable[Path]:
        position = 0
        while position + EVENT.size <= len(events):
            watch, mask, _, length = EVENT.unpack_from(events, position)
            position += EVENT.size
            name = os.fsdecode(events[position : position + length].rstrip(b"\0"))
            position += length
            if watch in self._paths and not mask & OF_FOLDER:
                yield self._paths[watch] / name


def _is_watch(descriptor: int) -> bool:
    """Return whether this is still inotify's: a step may have closed it, and opened another."""
    with suppress(OSError):
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith("anon_inode:inotify")  # noqa: PTH115
    return False
