"""Holds comparisons of runs that were not measured in pairs."""

from dataclasses import dataclass
from datetime import datetime

from perfledger_baselines.judging.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """Comparison of two files' runs without pairs."""

    base: str  # names of the files
    head: str
    alpha: float
    margin: float
    floor: float
    assumed: str  # an assumption about the column's metric, "" without one
    verdicts: tuple[Verdict, ...]
    # Of a folder: series, and its baseline with the reason.
    baselines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedUpload:
    """One side of a comparison of uploads: the commit that the upload measured as its head."""

    upload_id: str
    sha: str
    subject: str  # untrusted
    device_class: str
    pull_request: int | None
    measured_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadComparison:
    """Comparison of the heads of two uploads of a project."""

    repository: str
    base: ComparedUpload
    head: ComparedUpload
    view: ComparisonView
