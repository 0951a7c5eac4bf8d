"""Holds which series of imports are removed."""

from dataclasses import dataclass

from perfledger.metrics import WorseDirection


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovableSeries:
    """A series of an import, and how many points it has."""

    id: int
    workload: str
    metric: str
    unit: str
    worse: WorseDirection
    machine_class: str
    points: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRemoval:
    """Series whose points were removed, or would be, of a project."""

    repository: str
    series: tuple[RemovableSeries, ...]
    is_dry_run: bool
