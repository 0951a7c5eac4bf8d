"""Holds histories read from files, their changes, and what an import stores of them."""

from dataclasses import dataclass
from itertools import pairwise

from perfledger.metrics import Metric
from perfledger_baselines.history.commits.attribution import Series
from perfledger_baselines.history.detection.changes import SeriesFindings, Suspect


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSeries:
    """A history: one value per point in order, NaN for a gap.

    `errors` are the values' standard errors and `times` when they were measured, in seconds since
    the epoch, NaN if one is unknown, empty if all are. `labels` name the points (commits, dates);
    empty without names. `epochs` are the indices at which the machine changed: no change is
    detected across them. `series` identifies the series, if known; `environments` then are the
    machine's environments by point, empty if unknown. `notes` are about this series or its
    whole history, `notes_on_others` about series of the history that have no value at all.
    """

    name: str
    unit: str  # "" where the file does not say
    values: tuple[float, ...]
    errors: tuple[float, ...] = ()
    times: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    epochs: tuple[int, ...] = ()
    series: Series | None = None
    environments: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    notes_on_others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchedSeries:
    """A history and the changes in it.

    `new_machines` are the indices of the changes at which the machine's environment changed, too.
    """

    series: MeasuredSeries
    history: SeriesFindings
    suspect: Suspect | None = None  # a deviating end with too few points for a change
    new_machines: frozenset[int] = frozenset()

    @property
    def stretches(self) -> tuple[tuple[int, int], ...]:
        """Return (first, stop) of each stretch between change points or epochs."""
        changes = (change.index for change in self.history.changes)
        bounds = sorted({0, *changes, *self.series.epochs, len(self.series.values)})
        return tuple(pairwise(bounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSeries:
    """A series of an import: its number of points, and of commits."""

    workload: str
    metric: Metric
    machine_class: str
    points: int
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryImport:
    """What an import stores, or would store: its series, and what it omits, by reason."""

    repository: str
    tool: str
    series: tuple[ImportedSeries, ...]
    commits: int
    bundles: int
    left_out: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    has_clone: bool
    is_dry_run: bool
