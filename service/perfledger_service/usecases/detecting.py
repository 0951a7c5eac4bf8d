"""A path in, the histories there with all that is found in them out."""

from pathlib import Path

from perfledger_baselines.history.detect import detect, detect_many
from perfledger_service.usecases.histories import read_histories
from perfledger_service.usecases.translating import translated
from perfledger_service.views import SearchedSeries


def search(
    path: Path, *, column: str | None = None, epoch: str | None = None, error: str | None = None
) -> tuple[SearchedSeries, ...]:
    """Read and search the histories at `path`; raises NotFoundError, TooLargeError, UsageError.

    `epoch` is the column whose changes split a file's series, `error` the one with the values'
    standard errors.
    """
    histories = read_histories(path, column=column, epoch=epoch, error=error)
    with translated():
        if epoch is None:
            errors = [series.errors for series in histories]
            found = detect_many([series.values for series in histories], errors=errors)
        else:
            found = tuple(
                detect(series.values, errors=series.errors, epochs=series.epochs)
                for series in histories
            )
    return tuple(map(SearchedSeries, histories, found))
