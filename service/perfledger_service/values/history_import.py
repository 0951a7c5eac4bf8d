"""Holds what an import of another tool's history stores, and what it leaves out."""

from dataclasses import dataclass

from perfledger.metrics import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSeries:
    """A series of an import: how many points it has, and of how many commits."""

    workload: str
    metric: Metric
    machine_class: str
    points: int
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryImport:
    """What an import stores, or would store: its series, and what it leaves out by the reason."""

    repository: str
    tool: str
    series: tuple[ImportedSeries, ...]
    commits: int
    bundles: int
    left_out: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    has_clone: bool
    is_dry_run: bool
