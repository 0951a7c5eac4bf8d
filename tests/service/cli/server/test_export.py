"""Tests that an export read again equals what the API's reads return, and what it refuses."""

import csv
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import partial
from hashlib import file_digest

import pytest
from pyarrow import parquet
from sqlalchemy import update

from perfledger.records import Device, Machine
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventUpdate,
    TrackedEvent,
)
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.rendering.exports.csv_table import csv_table
from perfledger_service.store.api_reads.runs import runs_page, verdicts_page
from perfledger_service.store.api_reads.series import points_page, series_page
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import save_event
from perfledger_service.store.tables import VerdictRow
from perfledger_service.usecases.server import export as export_module, export_rows
from perfledger_service.values.backups.manifest import ColumnKind
from perfledger_service.values.storage.export_tables import (
    EVENT_SERIES,
    EVENTS,
    EXPORT_TABLES,
    POINTS,
    RUNS,
    SERIES,
    VERDICTS,
)
from tests.service.conftest import OTHER_TOKEN

HOSTILE = '=HYPERLINK("https://evil.example","a")'
PARSERS: dict[ColumnKind, Callable[[str], object]] = {
    ColumnKind.TEXT: lambda cell: cell.removeprefix("'"),
    ColumnKind.INTEGER: int,
    ColumnKind.FLOAT: float,
    ColumnKind.BOOLEAN: {"true": True, "false": False}.__getitem__,
    ColumnKind.TIME: datetime.fromisoformat,
    ColumnKind.DATE: date.fromisoformat,
}
MOST = 1000
EVENT = TrackedEvent(
    harm=Harm.WORSE,
    state=EventState.EXPECTED,
    reason="-safer math",
    owner="alice",
    until=date(2026, 12, 24),
    pull_request=7,
    measured_series=(
        ChangedSeries(
            workload="gpt:step",
            metric="step_time_p50",
            machine_class="cpu",
            before=1.0,
            after=2.0,
            change=1.0,
            low=0.5,
            high=float("inf"),
        ),
    ),
)


@pytest.fixture
def export(run, database_url):
    def export(*words):
        return run("server", "export", *words, PERFLEDGER_DATABASE_URL=database_url)

    return export


@pytest.fixture
def measured(engine, judged, make_bundle):
    """Two projects, the first with two judged runs, hostile names and an event."""
    first = judged(engine, make_bundle(pairs=4, workloads=("gpt:step", HOSTILE)))
    judged(engine, make_bundle(pairs=4, seed=1, pull_request=None), upload_id="2" * 32)
    judged(
        engine,
        make_bundle(
            pairs=4,
            seed=2,
            repository="octo/other",
            machine=Machine(device=Device.CPU, model="=Other"),
        ),
        upload_id="3" * 32,
        token=OTHER_TOKEN,
    )
    with write_session(engine) as session:
        save_event(
            session,
            first.project_id,
            EventUpdate(EVENT, "set"),
            now=datetime(2026, 11, 21, tzinfo=UTC),
        )
        session.commit()
    return first.project_id


def csv_rows(folder, table):
    with (folder / f"{table.name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def cell_value(column, cell):
    return None if not cell and column.is_optional else PARSERS[column.kind](cell)


def read_csv(folder, table):
    """Return the rows of a file as its page tells to read it."""
    header, *rows = csv_rows(folder, table)
    assert header == [column.name for column in table.columns]
    return [
        {one.name: cell_value(one, cell) for one, cell in zip(table.columns, row, strict=True)}
        for row in rows
    ]


def read_parquet(folder, table):
    return parquet.read_table(folder / f"{table.name}.parquet").to_pylist()


READERS = {"csv": read_csv, "parquet": read_parquet}


@pytest.fixture
def stored_rows(engine, measured, monkeypatch):
    """Return the first project's rows as the API's reads return them, in an export of few rows."""
    monkeypatch.setattr(export_rows, "PAGE_ROWS", 1)
    monkeypatch.setattr(export_module, "ROWS_AT_A_TIME", 3)

    def stored_rows(table):
        with read_session(engine) as session:
            rows = [{"repository": "octo/models"} | row for row in _rows(session, measured, table)]
        return [{one.name: row[one.name] for one in table.columns} for row in rows]

    return stored_rows


def _rows(session, project_id, table):
    series = series_page(session, project_id, most=MOST).items
    if table is POINTS:
        return [
            fields_of(one) | {"series_id": one.id} | fields_of(point)
            for one in series
            for point in points_page(session, project_id, one.id, most=MOST).items
        ]
    rows = {
        SERIES.name: lambda: series,
        RUNS.name: lambda: runs_page(session, project_id, most=MOST).items,
        VERDICTS.name: lambda: verdicts_page(session, project_id, most=MOST).items,
    }[table.name]()
    return [fields_of(one) for one in rows]


def fields_of(value):
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("file_format", list(READERS))
@pytest.mark.parametrize("table", [SERIES, POINTS, RUNS, VERDICTS], ids=lambda table: table.name)
def test_an_export_that_is_read_again_has_what_the_api_returns(
    export, stored_rows, tmp_path, *, file_format, table
):
    export(tmp_path / "out", "--repository", "Octo/Models", "--files", file_format)
    rows = stored_rows(table)

    assert len(rows) > 1
    assert READERS[file_format](tmp_path / "out", table) == rows


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("file_format", list(READERS))
@pytest.mark.usefixtures("measured")
def test_an_event_is_exported_with_its_series(export, tmp_path, file_format):
    export(tmp_path / "out", "--files", file_format)
    read = partial(READERS[file_format], tmp_path / "out")
    event = next(one for one in read(EVENTS) if one["owner"] == "alice")
    series = [one for one in read(EVENT_SERIES) if one["event_id"] == event["id"]]

    assert (event["reason"], event["until"]) == ("-safer math", date(2026, 12, 24))
    assert (event["harm"], event["state"], event["pull_request"]) == ("worse", "expected", 7)
    assert event["opened_at"] == datetime(2026, 11, 21, tzinfo=UTC)
    assert [(one["change"], one["low"], one["high"]) for one in series] == [
        (1.0, 0.5, float("inf"))
    ]


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("measured")
def test_without_a_name_all_projects_are_exported(export, tmp_path):
    document = json.loads(export(tmp_path / "out", "--json"))

    assert document["repositories"] == ["octo/models", "octo/other"]
    for table in (SERIES, POINTS, RUNS, VERDICTS):
        rows = read_csv(tmp_path / "out", table)
        assert {row["repository"] for row in rows} == {"octo/models", "octo/other"}


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("measured")
def test_no_cell_is_a_formula(export, tmp_path):
    export(tmp_path / "out")
    cells = [
        cell for table in EXPORT_TABLES for row in csv_rows(tmp_path / "out", table) for cell in row
    ]

    assert f"'{HOSTILE}" in cells
    assert not [one for one in cells if one.startswith(("=", "+", "@"))]


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("measured")
def test_a_folder_is_its_owners_and_says_what_is_in_it(export, tmp_path):
    text = export(tmp_path / "out")
    package = json.loads((tmp_path / "out" / "datapackage.json").read_text())

    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700
    assert "2 projects" in text
    for one, table in zip(package["resources"], EXPORT_TABLES, strict=True):
        assert one["rows"] == len(read_csv(tmp_path / "out", table))
        path = tmp_path / "out" / one["path"]
        with path.open("rb") as file:
            assert one["hash"] == f"sha256:{file_digest(file, 'sha256').hexdigest()}"
        assert one["bytes"] == path.stat().st_size


def test_a_database_without_projects_has_tables_without_rows(export, tmp_path):
    export(tmp_path / "out")

    assert [read_csv(tmp_path / "out", table) for table in EXPORT_TABLES] == [[]] * 6


def test_what_is_there_stays_as_it_is(export, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("empty", "file", "link"):
        with pytest.raises(UsageError, match="exists: name a new folder"):
            export(tmp_path / name)

    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_a_project_that_is_not_there_leaves_nothing_behind(export, tmp_path):
    before = set(tmp_path.iterdir())
    with pytest.raises(NotFoundError, match="octo/nothing"):
        export(tmp_path / "out", "--repository", "octo/nothing")

    assert set(tmp_path.iterdir()) == before


def test_a_folder_that_is_missing_is_named(export, tmp_path):
    with pytest.raises(UsageError, match=r"cannot write .*: No such file or directory"):
        export(tmp_path / "none" / "out")


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    ("error", "raised"),
    [(OSError(28, "No space left on device"), UsageError), (ValueError("a bug"), ValueError)],
)
@pytest.mark.usefixtures("measured")
def test_an_export_that_fails_leaves_nothing_behind(export, tmp_path, monkeypatch, error, raised):
    before = set(tmp_path.iterdir())

    def failing(file, table):
        if table is VERDICTS:
            raise error
        return csv_table(file, table)

    monkeypatch.setitem(export_module._WRITERS, "csv", failing)
    with pytest.raises(raised):
        export(tmp_path / "out")

    assert set(tmp_path.iterdir()) == before


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("measured")
def test_the_files_show_one_moment(export, engine, tmp_path, monkeypatch):
    def writing(file, table):
        with write_session(engine) as session:
            session.exec(update(VerdictRow).values(reason="later"))
            session.commit()
        return csv_table(file, table)

    monkeypatch.setitem(export_module._WRITERS, "csv", writing)
    export(tmp_path / "out")

    assert "later" not in {row["reason"] for row in read_csv(tmp_path / "out", VERDICTS)}
