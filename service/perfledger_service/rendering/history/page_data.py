"""Returns the content of the pages of checks, series and capacity as data, in base units."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    fact,
    facts,
    name,
    table,
)
from perfledger_service.values.fleet_views import CapacityView, MeasuredUtilization
from perfledger_service.values.upload_views import (
    SeriesCommit,
    SeriesHistory,
    SeriesSummary,
    UploadView,
    VerdictView,
)


@dataclass(frozen=True, slots=True)
class _UploadVerdict:
    """A verdict and its upload."""

    upload: UploadView
    verdict: VerdictView


def uploads_document(uploads: Sequence[UploadView]) -> Document:
    """Return checks as data, in their order."""
    columns: tuple[Column[UploadView], ...] = (
        fact("check", lambda one: one.id),
        name("repository", "Project", lambda one: one.repository),
        *facts("pull_request", "base_sha", "head_sha"),
        name("head_subject", "Subject", lambda one: one.head_subject),
        name("machine_class", "Machine class", lambda one: one.machine_class),
        *facts("status", "conclusion"),
        name("headline", "Headline", lambda one: one.headline),
        name("reason", "Why", lambda one: one.reason),
        fact("measured_at", lambda one: one.created_at),
    )
    return Document(
        name="perfledger-checks", facts={}, blocks=(table(columns, uploads, key="checks"),)
    )


def verdicts_document(uploads: Sequence[UploadView]) -> Document:
    """Return the verdicts of checks as data; figures are None where nothing was measured."""
    columns: tuple[Column[_UploadVerdict], ...] = (
        fact("check", lambda one: one.upload.id),
        name("repository", "Project", lambda one: one.upload.repository),
        *facts("pull_request", "base_sha", "head_sha", of="upload"),
        name("machine_class", "Machine class", lambda one: one.upload.machine_class),
        fact("measured_at", lambda one: one.upload.created_at),
        name("workload", "Workload", lambda one: one.verdict.workload),
        name("metric", "Metric", lambda one: one.verdict.metric),
        name("unit", "Unit", lambda one: one.verdict.unit),
        *facts("worse", "outcome", "is_warning", of="verdict"),
        *facts("base", "head", "change", "low", "high", of="verdict"),
        fact("series", lambda one: one.verdict.series_id),
    )
    rows = [_UploadVerdict(upload, one) for upload in uploads for one in upload.verdicts]
    return Document(
        name="perfledger-verdicts", facts={}, blocks=(table(columns, rows, key="verdicts"),)
    )


def series_list_document(repository: str, series: Sequence[SeriesSummary]) -> Document:
    """Return series with their newest values as data."""
    columns: tuple[Column[SeriesSummary], ...] = (
        fact("series", lambda one: one.id),
        name("workload", "Workload", lambda one: one.workload),
        name("metric", "Metric", lambda one: one.metric),
        name("unit", "Unit", lambda one: one.unit),
        name("machine_class", "Machine class", lambda one: one.machine_class),
        *facts("points", "last", "measured_at"),
    )
    return Document(
        name="perfledger-series",
        facts={"repository": repository},
        blocks=(table(columns, series, key="series"),),
    )


def series_document(history: SeriesHistory) -> Document:
    """Return the commits of a series as data, in branch order; changes are facts."""
    columns: tuple[Column[SeriesCommit], ...] = (
        *facts("sha", "is_on_branch", "is_unattested", "pull_request", "distance"),
        fact("check", lambda one: one.upload_id),
        *facts("checks", "processes", "center", "low", "high", "committed_at", "measured_at"),
    )
    series = history.series
    return Document(
        name="perfledger-series-commits",
        facts={
            "series": series.id,
            "repository": series.repository,
            "workload": series.workload,
            "metric": series.metric,
            "unit": series.unit,
            "worse": series.worse,
            "machine_class": series.machine_class,
            "changes": history.changes,
            "new_machines": history.new_machines,
            "searched": history.searched,
        },
        blocks=(table(columns, history.commits, key="commits"),),
    )


def capacity_document(view: CapacityView) -> Document:
    """Return the utilization measured by checks as data."""
    columns: tuple[Column[MeasuredUtilization], ...] = (
        name("repository", "Project", lambda one: one.repository),
        name("workload", "Workload", lambda one: one.workload),
        name("machine_class", "Machine class", lambda one: one.machine_class),
        *facts("active", "low", "high", "readings", "gpu_busy"),
        *facts("device_hours_per_year", "idle_hours"),
        fact("check", lambda one: one.upload_id),
        fact("measured_at", lambda one: one.created_at),
    )
    return Document(
        name="perfledger-capacity",
        facts={},
        blocks=(table(columns, view.utilization, key="utilization"),),
    )
