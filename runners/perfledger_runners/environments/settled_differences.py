"""Remembers which differences between the environments of two sides the change has made."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from perfledger.time_units import SECONDS_PER_DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledDifferences:
    """A folder with a file for each pair of package sets that one check built at the same time.

    Requirements without exact versions resolve to other packages tomorrow. Two environments that
    were resolved together differ by what they were resolved from, so later checks of the same
    requirements may use both again, whenever they were built.
    """

    folder: Path
    max_age_s: float = 30.0 * SECONDS_PER_DAY  # since the last use
    clock: Callable[[], float] = time.time

    def is_settled(self, key: str) -> bool:
        """Return whether a check has built this pair; if so, keep the record of it for longer."""
        path = self.folder / key
        if not path.is_file():
            return False
        self._touch(path)
        return True

    def settle(self, key: str) -> None:
        """Remember this pair, and forget those not used for long."""
        with suppress(OSError):  # then the next check builds again
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for path in self.folder.iterdir():
                if self.clock() - path.stat().st_mtime > self.max_age_s:
                    path.unlink()
            self._touch(self.folder / key)

    def _touch(self, path: Path) -> None:
        with suppress(OSError):
            path.touch()


def pair_key(*sides: tuple[Iterable[object], Mapping[str, str]]) -> str:
    """Return the name of a pair: of what each side declares, and the packages that it has."""
    facts = [[[repr(each) for each in declared], dict(packages)] for declared, packages in sides]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
