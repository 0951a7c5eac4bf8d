from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.fleet.imports import (
    NewImport,
    add_import,
    import_content,
    imports,
    lock_imports,
    remove_import,
)
from perfledger_service.values.fleet_views import ImportKind

OCTOBER = datetime(2026, 10, 1, tzinfo=UTC)
NEW = NewImport(
    kind=ImportKind.USAGE,
    source="main",
    name="sacct.txt",
    sha256="1" * 64,
    since=OCTOBER,
    until=OCTOBER + timedelta(days=31),
    summary="Slurm accounting: 96 device-hours",
    unpacked_bytes=1000,
    content=b"gz",
)


@pytest.fixture
def add(any_engine, now):
    """Store a file with these values, as unlike any other as its number says."""

    def add(number=1, **values):
        new = replace(NEW, sha256=str(number) * 64, **values)
        with write_session(any_engine) as session:
            lock_imports(session)
            add_import(session, new, now=now)
            session.commit()

    return add


@pytest.fixture
def stored(any_engine):
    def stored(*arguments, **options):
        with read_session(any_engine) as session:
            return imports(session, *arguments, **options)

    return stored


def test_a_file_comes_back_with_its_content(any_engine, add, stored, now):
    add()

    (one,) = stored()
    with read_session(any_engine) as session:
        content = import_content(session, one.id)
    assert (one.kind, one.source, one.name, one.sha256) == (
        ImportKind.USAGE,
        "main",
        NEW.name,
        NEW.sha256,
    )
    assert (one.since, one.until, one.created_at) == (NEW.since, NEW.until, now)
    assert (one.summary, one.unpacked_bytes, content) == (NEW.summary, 1000, b"gz")


def test_a_file_is_stored_once_for_each_kind_and_source(add, stored):
    add()
    add(name="the same under another name")
    add(source="west")
    add(kind=ImportKind.ACTIVITY)

    assert [(one.kind, one.source, one.name) for one in stored()] == [
        (ImportKind.ACTIVITY, "main", "sacct.txt"),
        (ImportKind.USAGE, "main", "sacct.txt"),
        (ImportKind.USAGE, "west", "sacct.txt"),
    ]


def test_files_of_one_source_are_in_the_order_of_their_time_or_of_their_coming(add, stored):
    add(1, name="later", since=OCTOBER + timedelta(days=31))
    add(2, name="without times", since=None, until=None)
    add(3, name="earlier")

    assert [one.name for one in stored(ImportKind.USAGE)] == ["earlier", "later", "without times"]


def test_sources_are_found_by_a_glob_and_kinds_by_their_name(add, stored):
    add(1, source="west-1")
    add(2, source="west-2", kind=ImportKind.JOBS)
    add(3, source="East")

    assert [one.source for one in stored(source="west-*")] == ["west-2", "west-1"]
    assert [one.source for one in stored(ImportKind.USAGE, source="west-*")] == ["west-1"]
    assert stored(source="east") == ()


def test_a_list_of_files_never_reads_their_content(any_engine, add, stored, record_statements):
    add()
    statements = record_statements(any_engine)

    stored()

    assert statements
    assert not any("content" in statement for statement, _ in statements)


def test_what_was_imported_is_forgotten_by_its_number(any_engine, add, stored):
    add(1)
    add(2)
    first, second = stored()

    with write_session(any_engine) as session:
        remove_import(session, first.id)
        session.commit()

    assert stored() == (second,)
    with read_session(any_engine) as session:
        with pytest.raises(NotFoundError, match=f"no import {first.id}: "):
            import_content(session, first.id)
        with pytest.raises(NotFoundError, match="`perfledger server import list` shows all"):
            remove_import(session, first.id)
