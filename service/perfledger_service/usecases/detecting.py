"""A path in, the histories there with all that is found in them out."""

from pathlib import Path

from perfledger_baselines.history.detect import detect_many
from perfledger_service.usecases.histories import read_histories
from perfledger_service.usecases.translating import translated
from perfledger_service.views import SearchedSeries


def search(path: Path, *, column: str | None = None) -> tuple[SearchedSeries, ...]:
    """Read and search the histories at `path`; raises NotFoundError, TooLargeError, UsageError."""
    histories = read_histories(path, column=column)
    with translated():
        found = detect_many([series.values for series in histories])
    return tuple(map(SearchedSeries, histories, found))
