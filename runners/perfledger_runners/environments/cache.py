"""Keeps built environments below the user's cache folder, shared between checks."""

import fcntl
import json
import math
import os
import secrets
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from perfledger.time_units import SECONDS_PER_DAY

# Its presence means that the entry is complete; its time is that of the last use.
COMPLETE_FILE = "complete.json"
# Its presence means that only the process that built the entry can use it.
PRIVATE_FILE = "private"
LOCK_SUFFIX = ".lock"
POLL_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentCache:
    """A folder of built environments by the hash of what they are built from.

    An entry is built and used at its final path, because a virtual environment cannot be moved. Its
    lock is exclusive while it is built or removed, and shared while it is used; for an entry that
    only one check can use, it stays exclusive.
    """

    folder: Path
    max_age_s: float = 30.0 * SECONDS_PER_DAY  # since its last use
    max_bytes: int = 20 * 2**30
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    @contextmanager
    def entry(
        self, key: str, build: Callable[[Path], bool], *, is_renewed: bool = False
    ) -> Generator[Path]:
        """Provide the newest complete entry of `key`, building it if there is none.

        A renewed entry is built in any case, and is the newest one from then on. `build` gets an
        empty folder, and returns whether others can use the entry; one that they cannot use, or
        whose build raises, is removed at the end. Meanwhile others build their own entries: both
        sides of a check may have the same key.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = _other_name(key) if is_renewed else self._newest(key)
        with self._entry(name, key, build) as path:
            yield path

    @contextmanager
    def _entry(self, name: str, key: str, build: Callable[[Path], bool]) -> Generator[Path]:
        """Provide the complete entry of this name, building it if necessary."""
        path = self.folder / name
        with EntryLock(self._lock_file(name)) as lock:
            is_locked = self._wait_for(lock, fcntl.LOCK_SH, path)
            # Changing the lock's mode is not atomic, so check again after each change.
            while is_locked and not self._is_complete(path):
                is_locked = self._wait_for(lock, fcntl.LOCK_EX, path)
                if is_locked and not self._is_complete(path) and not self._build(path, build):
                    (path / PRIVATE_FILE).touch()
                    try:
                        yield path
                    finally:
                        shutil.rmtree(path, ignore_errors=True)
                    return
                is_locked = is_locked and self._wait_for(lock, fcntl.LOCK_SH, path)
            if is_locked:
                now = self.clock()
                os.utime(path / COMPLETE_FILE, (now, now))
                yield path
                return
        own_name = _other_name(key)
        try:
            with self._entry(own_name, key, build) as own_path:
                yield own_path
        finally:
            self._lock_file(own_name).unlink(missing_ok=True)

    def clean(self) -> None:
        """Remove unused entries that are old or half-built, and the oldest beyond the size.

        Locks without an entry, which earlier versions left, go too.
        """
        uses: dict[Path, tuple[float, int]] = {}
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.is_dir():
                uses[path] = _last_use(path)
        total = sum(size for _, size in uses.values())
        for path, (used_at, size) in sorted(uses.items(), key=lambda item: item[1]):
            is_old = self.clock() - used_at > self.max_age_s
            if (is_old or total > self.max_bytes) and self._remove(path):
                total -= size
        for lock in self.folder.glob(f"*{LOCK_SUFFIX}"):
            entry = self.folder / lock.name.removesuffix(LOCK_SUFFIX)
            if not entry.exists():
                self._remove(entry)

    def _wait_for(self, lock: "EntryLock", kind: int, path: Path) -> bool:
        """Take the lock; return False if its holder uses an entry that nobody else can use."""
        while not lock.is_taken(kind):
            if (path / PRIVATE_FILE).exists():
                return False
            self.sleep(POLL_S)
        return True

    def _newest(self, key: str) -> str:
        """Return the name of the complete entry of a key that was built last, else the key."""
        paths = (self.folder / key, *self.folder.glob(f"{key}-*"))
        complete = [path for path in paths if self._is_complete(path)]
        return max(complete, key=built_at).name if complete else key

    def _is_complete(self, path: Path) -> bool:
        return (path / COMPLETE_FILE).is_file()

    def _build(self, path: Path, build: Callable[[Path], bool]) -> bool:
        """Build an entry; return whether it is complete."""
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(mode=0o700)
        try:
            is_reusable = build(path)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        if is_reusable:
            text = json.dumps({"bytes": _size(path), "built_at": self.clock()})
            (path / COMPLETE_FILE).write_text(text, encoding="utf-8")
        return is_reusable

    def _remove(self, path: Path) -> bool:
        """Remove an entry that nobody builds or uses; return whether it was removed."""
        with EntryLock(self._lock_file(path.name)) as lock:
            if not lock.is_taken(fcntl.LOCK_EX):
                return False
            (path / COMPLETE_FILE).unlink(missing_ok=True)
            shutil.rmtree(path, ignore_errors=True)
            self._lock_file(path.name).unlink(missing_ok=True)
            return True

    def _lock_file(self, key: str) -> Path:
        return self.folder / f"{key}{LOCK_SUFFIX}"


def built_at(entry: Path) -> float:
    """Return when an entry was built, by the cache's clock; infinity if only one check can use it.

    Such an entry was built for this check.
    """
    try:
        facts = json.loads((entry / COMPLETE_FILE).read_text(encoding="utf-8"))
        return float(facts["built_at"])
    except FileNotFoundError:
        return math.inf
    except (OSError, ValueError, KeyError, TypeError):  # of an earlier version
        return 0.0


def _other_name(key: str) -> str:
    """Return a new name for an entry of this key."""
    return f"{key}-{secrets.token_hex(8)}"


class EntryLock:
    """The lock of an entry: a file, which whoever removes the entry removes with it.

    A lock on a removed file excludes nobody, because others lock the new one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = self._open()

    def __enter__(self) -> Self:
        """Return the lock, which is not taken yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the lock back."""
        os.close(self._descriptor)

    def is_taken(self, kind: int) -> bool:
        """Take the lock if it is free; return whether it is held now."""
        while True:
            try:
                fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
            except OSError:
                return False
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._descriptor), self._path.stat()):
                    return True
            os.close(self._descriptor)
            self._descriptor = self._open()

    def _open(self) -> int:
        return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _last_use(path: Path) -> tuple[float, int]:
    """Return when an entry was last used, 0 for a half-built one, and its size in bytes."""
    complete = path / COMPLETE_FILE
    with suppress(OSError, ValueError, KeyError, TypeError):
        size = int(json.loads(complete.read_text(encoding="utf-8"))["bytes"])
        return complete.stat().st_mtime, size
    return 0.0, 0


def _size(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    total = 0
    for here, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += (Path(here) / name).lstat().st_size
    return total
