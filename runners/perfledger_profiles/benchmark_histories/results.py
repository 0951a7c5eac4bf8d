"""Holds the results of another tool's history, its formats, and the error of reading one."""

import math
from dataclasses import dataclass
from enum import StrEnum

from perfledger.metrics import WorseDirection


class HistoryFileError(ValueError):
    """A history file that cannot be read: which one, why, and what to do."""


class HistoryFormat(StrEnum):
    """The formats of other tools' histories."""

    PYTEST_BENCHMARK = "pytest-benchmark"
    ASV = "asv"
    GOOGLE_BENCHMARK = "google-benchmark"
    BENCHER = "bencher"
    ACTION_BENCHMARK = "github-action-benchmark"
    MLPERF = "mlperf"
    VLLM = "vllm"
    PYTORCH = "pytorch"
    NVBENCH = "nvbench"
    LNT = "lnt"
    PERFHERDER = "perfherder"
    SKIA_PERF = "skia-perf"
    OTAVA = "otava"
    CSV = "csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkResult:
    """One value of a series; what the file does not state stays unknown.

    `value` is in `unit`, and NaN if the benchmark failed or was skipped. `worse` is None if neither
    the format nor the unit gives the direction. `commit_time` is when the commit was made and
    `time` when it was measured, both in seconds since the epoch and NaN if unknown. `place` orders
    commits across the files of one history; None if the format has no such order. `samples` are the
    raw readings behind the value.
    """

    benchmark: str
    metric: str
    value: float
    unit: str = ""
    worse: WorseDirection | None = None
    machine: str = ""
    commit: str = ""
    is_dirty: bool = False
    commit_time: float = math.nan
    time: float = math.nan
    place: float | None = None
    samples: tuple[float, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return the key of its series."""
        return (self.benchmark, self.metric, self.machine, self.unit)
