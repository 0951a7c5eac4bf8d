"""Detects a history's format by its content, and reads it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from perfledger_profiles.benchmark_histories.action_benchmark import (
    is_action_benchmark,
    read_action_benchmark,
)
from perfledger_profiles.benchmark_histories.asv import is_asv, read_asv
from perfledger_profiles.benchmark_histories.bencher import is_bencher, read_bencher
from perfledger_profiles.benchmark_histories.google_benchmark import (
    is_google_benchmark,
    read_google_benchmark,
)
from perfledger_profiles.benchmark_histories.lnt import is_lnt, read_lnt
from perfledger_profiles.benchmark_histories.mlperf import is_mlperf, read_mlperf
from perfledger_profiles.benchmark_histories.nvbench import is_nvbench, read_nvbench
from perfledger_profiles.benchmark_histories.otava_csv import is_otava_csv, read_otava_csv
from perfledger_profiles.benchmark_histories.perfherder import is_perfherder, read_perfherder
from perfledger_profiles.benchmark_histories.plain_csv import is_plain_csv, read_plain_csv
from perfledger_profiles.benchmark_histories.pytest_benchmark import (
    is_pytest_benchmark,
    read_pytest_benchmark,
)
from perfledger_profiles.benchmark_histories.pytorch_benchmark import (
    is_pytorch_benchmark,
    read_pytorch_benchmark,
)
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFileError,
    HistoryFormat,
)
from perfledger_profiles.benchmark_histories.skia_perf import is_skia_perf, read_skia_perf
from perfledger_profiles.benchmark_histories.text import HistoryText
from perfledger_profiles.benchmark_histories.vllm import is_vllm, read_vllm_history

# Several years of a project's series.
MAX_RESULTS = 4_000_000


class _Reader(NamedTuple):
    """How a format's files are recognised and read."""

    is_one: Callable[[HistoryText], bool]
    read: Callable[[Sequence[HistoryText]], Iterator[BenchmarkResult]]


def _for_each(
    read: Callable[[HistoryText], Iterator[BenchmarkResult]],
) -> Callable[[Sequence[HistoryText]], Iterator[BenchmarkResult]]:
    """Return a reader of several files, given the reader of one."""

    def read_all(files: Sequence[HistoryText]) -> Iterator[BenchmarkResult]:
        for file in files:
            yield from read(file)

    return read_all


# Tried in this order. Bencher's metric format comes last because it is just an object of objects.
_READERS: Mapping[HistoryFormat, _Reader] = {
    HistoryFormat.MLPERF: _Reader(is_mlperf, _for_each(read_mlperf)),
    HistoryFormat.PERFHERDER: _Reader(is_perfherder, _for_each(read_perfherder)),
    HistoryFormat.PYTEST_BENCHMARK: _Reader(is_pytest_benchmark, _for_each(read_pytest_benchmark)),
    HistoryFormat.ASV: _Reader(is_asv, read_asv),
    HistoryFormat.GOOGLE_BENCHMARK: _Reader(is_google_benchmark, _for_each(read_google_benchmark)),
    HistoryFormat.NVBENCH: _Reader(is_nvbench, _for_each(read_nvbench)),
    HistoryFormat.LNT: _Reader(is_lnt, _for_each(read_lnt)),
    HistoryFormat.SKIA_PERF: _Reader(is_skia_perf, _for_each(read_skia_perf)),
    HistoryFormat.PYTORCH: _Reader(is_pytorch_benchmark, _for_each(read_pytorch_benchmark)),
    HistoryFormat.VLLM: _Reader(is_vllm, _for_each(read_vllm_history)),
    HistoryFormat.ACTION_BENCHMARK: _Reader(is_action_benchmark, _for_each(read_action_benchmark)),
    HistoryFormat.BENCHER: _Reader(is_bencher, _for_each(read_bencher)),
    HistoryFormat.CSV: _Reader(is_plain_csv, _for_each(read_plain_csv)),
    HistoryFormat.OTAVA: _Reader(is_otava_csv, _for_each(read_otava_csv)),
}

# Formats whose files may be lists of objects.
_OF_LISTS = (HistoryFormat.PYTORCH,)


def history_format(file: HistoryText) -> HistoryFormat | None:
    """Return a file's format by its content, or None if unknown.

    A list of objects is a plain table, whatever its columns are called, unless its records are
    nested.
    """
    is_list = any(isinstance(document, list) for document in file.documents)
    formats = _OF_LISTS if is_list else _READERS
    return next((format_ for format_ in formats if _READERS[format_].is_one(file)), None)


def read_results(files: Sequence[HistoryText], format_: HistoryFormat) -> list[BenchmarkResult]:
    """Return the results in files of one format; raise HistoryFileError.

    Files are read as this format even if they lack its signature; they fail where they deviate.
    """
    results: list[BenchmarkResult] = []
    for result in _READERS[format_].read(files):
        results.append(result)
        if len(results) > MAX_RESULTS:
            msg = f"the history has more than {MAX_RESULTS:,} results: give a shorter time"
            raise HistoryFileError(msg)
    if not results:
        sources = ", ".join(file.source for file in files[:3])
        msg = f"no result of {format_} in {sources}: give the files as the tool writes them"
        raise HistoryFileError(msg)
    return results
