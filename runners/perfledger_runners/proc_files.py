"""Reads files below /proc and /sys and the host's identity; what cannot be read is "" or None."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

# /proc/cpuinfo, the longest of them, has 1.5 kB per core; what is read of it comes first.
MAX_BYTES = 2**20
# A list of cores may be "0-4294967295"; Linux is built for 8192 at most (CONFIG_NR_CPUS).
MAX_CORES = 8192
MAX_DIGITS = 20  # of a number of 64 bits


@dataclass(frozen=True, slots=True)
class ProcFiles:
    """The roots of /proc and /sys, and of the files that identify the host."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    root: Path = Path("/")

    @property
    def cores(self) -> Path:
        """Return the folder that describes the cores."""
        return self.sys / "devices/system/cpu"

    @property
    def nodes(self) -> Path:
        """Return the folder that describes the NUMA nodes."""
        return self.sys / "devices/system/node"


THIS_SYSTEM = ProcFiles()


def read_text(path: Path) -> str:
    """Return a file's text without surrounding whitespace, "" if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES).decode("utf-8", errors="replace").strip()
    except (OSError, ValueError):  # ValueError: a path with a NUL
        return ""


def read_count(path: Path) -> int | None:
    """Return the whole number in a file, None without one."""
    return count(read_text(path))


def count(text: str) -> int | None:
    """Return a whole number of at most MAX_DIGITS; None for anything else."""
    is_number = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
    return int(text) if is_number else None


def read_cores(path: Path) -> frozenset[int]:
    """Return the cores that a file lists, none if it cannot be read."""
    return parse_cores(read_text(path))


def parse_cores(text: str) -> frozenset[int]:
    """Return the cores of a list such as "0-3,8"; none if it is damaged."""
    cores: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        low, high = count(first.strip()), count((last or first).strip())
        if low is None or high is None or not low <= high < MAX_CORES:
            return frozenset()
        cores.update(range(low, high + 1))
    return frozenset(cores)


def cores_text(cores: Collection[int]) -> str:
    """Return cores as a list such as "0-3,8", which taskset(1) reads."""
    # In a run of consecutive cores, the core's number minus its place in the order is constant.
    ordered = enumerate(sorted(cores))
    runs = [
        [core for _, core in run] for _, run in groupby(ordered, lambda pair: pair[1] - pair[0])
    ]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
