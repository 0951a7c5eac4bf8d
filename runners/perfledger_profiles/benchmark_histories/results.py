"""Holds the results in a history of another tool, its formats, and the error of reading one."""

import math
from dataclasses import dataclass
from enum import StrEnum

from perfledger.metrics import WorseDirection


class HistoryFileError(ValueError):
    """A file of a history that cannot be read: which one, why, and what to do."""


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
    """One value of a series, with what its file states and nothing else.

    `value` is in `unit`, and NaN where the benchmark failed or was skipped. `worse` is None where
    neither the format nor the unit tells the direction. `commit_time` is the commit's own, `time`
    that of measuring, both in seconds since the epoch and NaN if unknown. `place` orders commits
    across the files of one history; None if the format has no such order. `samples` are the raw
    readings behind the value.
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
        """Return what identifies its series."""
        return (self.benchmark, self.metric, self.machine, self.unit)
