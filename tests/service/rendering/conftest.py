"""Example reports, what they are made with, and golden files."""

import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from perfledger.bundle import Bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.chart.picture import Chart
from perfledger_service.rendering.check.headline import headline
from perfledger_service.values.fleet_views import ImportKind, StoredImport
from perfledger_service.values.report import Report
from perfledger_service.values.upload_views import (
    SeriesChange,
    SeriesHistory,
    SeriesView,
    commits_of,
)
from tests.service.rendering.example_reports import REPORTS
from tests.service.rendering.example_values import Make
from tests.service.rendering.example_views import bundle_of, stepped_series

UPDATE = "PERFLEDGER_UPDATE_GOLDEN"
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def make() -> type[Make]:
    """Return what example reports are made with."""
    return Make


@pytest.fixture(scope="session")
def reports(make) -> Mapping[str, Report]:
    """Return the example reports by the name of what they show."""
    built = {name: build(make) for name, build in REPORTS.items()}
    return {name: replace(one, headline=headline(one)) for name, one in built.items()}


@pytest.fixture(scope="session")
def unreached(reports: Mapping[str, Report]) -> Callable[[int], Report]:
    """Return a report with this number of workloads that no pair reached, and one measured."""
    report = reports["not_measured"]
    failure = replace(report.failures[0], log_tail="", detail="the budget was spent")
    (verdict, *_) = report.verdicts_of(Outcome.NOT_MEASURED)
    (measured, *_) = reports["unchanged"].verdicts

    def of_many(number: int) -> Report:
        names = [f"bench.w{each:03}:step" for each in range(number)]
        return replace(
            report,
            failures=tuple(replace(failure, workload=name) for name in names),
            verdicts=(measured, *(replace(verdict, workload=name) for name in names)),
        )

    return of_many


@pytest.fixture(scope="session", params=REPORTS)
def named_report(request, reports) -> tuple[str, Report]:
    """Return each of the example reports with its name."""
    return request.param, reports[request.param]


@pytest.fixture(scope="session")
def bundle(reports) -> Bundle:
    """Return the bundle that the report of a regression was made of."""
    return bundle_of(reports["regressed"])


@pytest.fixture(scope="session")
def series(make) -> SeriesView:
    """Return a series that steps up, with a head of a pull request beside every third base."""
    return stepped_series(make)


@pytest.fixture(scope="session")
def history(series) -> SeriesHistory:
    """Return the series with its step, and a machine that changed twice."""
    commits = commits_of(series.points)
    branch = [one.sha for one in commits if one.is_on_branch]
    change = SeriesChange(
        sha=branch[7], after_sha=branch[6], last_sha=branch[7], change=0.146, low=0.14, high=0.15
    )
    new_machines = (branch[3], branch[9])
    return SeriesHistory(
        series=series,
        commits=commits,
        changes=(change,),
        new_machines=new_machines,
        searched=len(branch),
    )


@pytest.fixture(scope="session")
def matches_golden() -> Callable[[str, str], None]:
    """Return a function that holds a text against the golden file of that name, or writes it."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get(UPDATE) == "1":
            path.write_text(text, encoding="utf-8")

        assert text == path.read_text(encoding="utf-8"), f"run again with {UPDATE}=1 if intended"

    return check


@pytest.fixture(scope="session")
def marks_of() -> Callable[[Chart, type], list[Any]]:
    """Return a function that returns a chart's marks of one kind."""

    def marks(chart: Chart, kind: type) -> list[Any]:
        return [mark for mark in chart.marks if isinstance(mark, kind)]

    return marks


@pytest.fixture(scope="session")
def imported() -> StoredImport:
    """Return the accounting of a day."""
    return StoredImport(
        id=3,
        kind=ImportKind.USAGE,
        source="main",
        name="sacct.txt",
        sha256="1" * 64,
        since=datetime(2026, 10, 1, tzinfo=UTC),
        until=datetime(2026, 10, 2, tzinfo=UTC),
        summary="Slurm accounting: 48 device-hours",
        unpacked_bytes=100,
        created_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
    )


def rewritten(value, rewrite):
    match value:
        case Enum():
            return value
        case str():
            return rewrite(value)
        case tuple():
            items = [rewritten(item, rewrite) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        case Mapping():
            return {rewritten(k, rewrite): rewritten(v, rewrite) for k, v in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            changed = {f.name: rewritten(getattr(value, f.name), rewrite) for f in fields(value)}
            return replace(value, **changed)
        case _:
            return value


@pytest.fixture(scope="session")
def rewrite() -> Callable[[object, Callable[[str], str]], object]:
    """Return a function that puts every text of a value through another function."""
    return rewritten
