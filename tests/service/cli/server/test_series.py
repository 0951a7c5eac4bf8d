"""Tests that series of an import can be removed, and nothing that a check measured."""

import json

import pytest
from sqlmodel import col, func, select

from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.store.api_reads.series import series_page
from perfledger_service.store.database import read_session
from perfledger_service.store.events.events import history_changes
from perfledger_service.store.people.audit import audit_entries
from perfledger_service.store.tables import ObservationRow, SeriesRow
from perfledger_service.usecases.server.series import MAX_SERIES
from perfledger_service.values.people.person import AuditAction
from tests.service.imported_bundle import imported


@pytest.fixture
def remove(run, database_url):
    def remove(*words):
        return run("server", "series", "remove", *words, PERFLEDGER_DATABASE_URL=database_url)

    return remove


@pytest.fixture
def series(engine, judged, make_bundle):
    """Store a check and an import, and return the numbers of their series."""
    check = make_bundle(pairs=1, samples=1)
    judged(engine, check)
    judged(engine, imported(check), upload_id="2" * 32)
    with read_session(engine) as session:
        rows = session.exec(select(SeriesRow).order_by(col(SeriesRow.id))).all()
    measured = [row.id for row in rows if not row.machine_class.startswith("imported:")]
    [of_import] = [row.id for row in rows if row.machine_class.startswith("imported:")]
    return measured[0], of_import


def points_of(engine, series_id):
    of_series = ObservationRow.series_id == series_id
    with read_session(engine) as session:
        return session.exec(select(func.count()).select_from(ObservationRow).where(of_series)).one()


def test_a_dry_run_shows_what_would_go(remove, engine, series):
    document = json.loads(remove("octo/models", series[1], "--dry-run", "--json"))

    assert [(one["id"], one["points"]) for one in document["series"]] == [(series[1], 1)]
    assert points_of(engine, series[1]) == 1
    with read_session(engine) as session:
        assert audit_entries(session, most=9) == ()


def test_the_points_of_an_import_are_removed_and_its_history_is_searched_again(
    remove, engine, series
):
    with read_session(engine) as session:
        changes = history_changes(session, 1)
    text = remove("Octo/models", series[1], series[1])

    assert "Removed: 1 point." in text
    assert [points_of(engine, one) for one in series] == [2, 0]
    with read_session(engine) as session:
        assert history_changes(session, 1) == changes + 1
        [entry] = audit_entries(session, most=9)
    assert (entry.action, entry.repository) == (AuditAction.REMOVE_DATA, "octo/models")
    assert entry.detail == f"1 point of the imported series {series[1]}"


@pytest.fixture
def newer_series(engine, judged, make_bundle, series):
    """Store a check of another workload, whose series are newer than the import's."""
    newer = make_bundle(pairs=1, samples=1, workloads=("other:step",), seed=5)
    judged(engine, newer, upload_id="3" * 32)
    return series


def test_the_name_of_a_removed_series_is_in_no_list(remove, engine, newer_series):
    remove("octo/models", newer_series[1])

    with read_session(engine) as session:
        assert session.get(SeriesRow, newer_series[1]) is None
        listed = [one.id for one in series_page(session, 1, most=99).items]
    assert newer_series[0] in listed
    assert newer_series[1] not in listed
    with pytest.raises(UsageError, match="no imported series"):
        remove("octo/models", newer_series[1])


def test_the_newest_number_is_not_free_for_another_series(remove, engine, series):
    remove("octo/models", series[1])

    with read_session(engine) as session:
        assert session.get(SeriesRow, series[1]) is not None
    assert points_of(engine, series[1]) == 0


@pytest.mark.parametrize("number", [-(10**30), -1, 99, 10**30])
def test_a_series_that_is_not_there_is_named(remove, engine, series, number):
    with pytest.raises(UsageError, match=f"{number}: no imported series of octo/models"):
        remove("octo/models", series[1], "--", number)

    assert points_of(engine, series[1]) == 1


def test_what_a_check_measured_is_not_removed(remove, engine, series):
    with pytest.raises(UsageError, match="what checks measured stays"):
        remove("octo/models", *series)

    assert [points_of(engine, one) for one in series] == [2, 1]


def test_too_many_are_refused(remove):
    with pytest.raises(UsageError, match="remove some at a time"):
        remove("octo/models", *range(1, MAX_SERIES + 2))


@pytest.mark.usefixtures("series")
def test_another_projects_series_are_not_there(remove):
    with pytest.raises(NotFoundError, match="octo/nothing"):
        remove("octo/nothing", 1)
