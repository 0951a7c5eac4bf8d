from datetime import UTC, date, datetime

import msgspec
import pytest
from sqlalchemy import MetaData, select
from sqlmodel import select as select_model

from perfledger_baselines.history.commits.confirmation_state import Alert
from perfledger_service.store.comments.approvals import approvals_of
from perfledger_service.store.database import read_session
from perfledger_service.store.fleet.imports import import_content
from perfledger_service.store.github_posts import posted_ids
from perfledger_service.store.tables import AlertRow, StoreRow
from perfledger_service.store.upgrade import upgrade
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.values.upload_views import UploadStatus

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
CPU = "cpu:Test CPU:1"
OLD_SERIES = {
    "workload": "m:f",
    "metric": {
        "name": "step_time_p50",
        "unit": "s",
        "worse": "higher",
        "kind": "speed",
        "scale": "log",
    },
    "machine_class": CPU,
}
OLD_SUSPICION = {
    "series": OLD_SERIES,
    "good": 0,
    "bad": 4,
    "newest": 4,
    "change": 0.1,
    "strength": 8.0,
    "pair_seconds": 2.0,
    "devices": [],
}
OLD_CHANGE = {
    "suspicion": OLD_SUSPICION,
    "estimate": {
        "base": 1.0,
        "head": 1.1,
        "change": 0.1,
        "low": 0.09,
        "high": 0.11,
        "narrow_low": 0.09,
        "narrow_high": 0.11,
        "pairs": 8,
        "p_value": 0.001,
        "smallest_detectable": 0.02,
    },
    "leaning": 0.5,
}
OLD_REQUEST = {
    "workload": "m:f",
    "machine_class": CPU,
    "base": 0,
    "head": 4,
    "max_pairs": 8,
    "purpose": "confirm",
    "priority": 0.5,
    "window": "2026-11-20",
}
OLD_DOCKET = {
    "trials": [{"request": OLD_REQUEST, "suspicions": [OLD_SUSPICION]}],
    "searches": [
        {
            "workload": "m:f",
            "machine_class": CPU,
            "suspected": {"first": 1, "last": 4},
            "good": 0,
            "bad": 4,
            "changes": [OLD_CHANGE],
            "pairs": 8,
            "skipped": [],
            "tries": 0,
            "request": None,
        }
    ],
    "settled": [
        {
            "series": OLD_SERIES,
            "harm": "worse",
            "commits": {"first": 1, "last": 1},
            "newest": 1,
            "strength": float("inf"),
            "is_confirmed": False,
        }
    ],
    "window": "2026-11-20",
    "pairs": 8,
}
OLD_ALERT = {
    "workload": "m:f",
    "machine_class": CPU,
    "suspected": {"first": 1, "last": 4},
    "commits": {"first": 2, "last": 3},
    "changes": [OLD_CHANGE],
    "narrowing": "being narrowed down",
    "pairs": 8,
}
# New names by those of version 0005.
TABLES = {
    "env": "environment",
    "spread": "pair_spread",
    "said": "github_post",
    "docket": "confirmation_state",
    "imported": "imported_file",
}
COLUMNS = {
    ("upload", "env_hash"): "environment_hash",
    ("revision", "pos"): "position",
    ("revision", "place"): "branch_position",
    ("observation", "pos"): "position",
    ("verdict", "place"): "position",
    ("approval", "said_at"): "approved_at",
}


def upload_row(number, status, **values):
    return {
        "id": f"upload{number}",
        "project_id": 1,
        "bundle_sha256": f"bundle{number}",
        "env_hash": "machine",
        "pull_request": 7,
        "base_sha": "a",
        "head_sha": "b",
        "head_subject": "a change",
        "status": status,
        "reason": "",
        "attempt": 1,
        "conclusion": "",
        "title": "",
        "headline": "",
        "created_at": NOON,
        **values,
    }


FIFTH_VERSION = {
    "project": [{"id": 1, "repository": "octo/m", "repository_key": "octo/m", "created_at": NOON}],
    "token": [{"id": 1, "project_id": 1, "prefix": "pl_0", "sha256": "s", "created_at": NOON}],
    "bundle": [
        {"sha256": f"bundle{number}", "unpacked_bytes": 2, "content": b"{}"} for number in (1, 2, 3)
    ],
    "env": [{"hash": "machine", "device_class": "cpu:Test CPU:1", "machine": "{}"}],
    "upload": [
        upload_row(1, "said", judged_at=NOON, conclusion="success"),
        upload_row(2, "judged"),
        upload_row(3, "failed", reason="nothing was said"),
    ],
    "revision": [
        {"project_id": 1, "pos": 0, "sha": "a", "place": 0},
        {"project_id": 1, "pos": 1, "sha": "b", "place": None},
    ],
    "series": [
        {
            "id": 5,
            "project_id": 1,
            "key": "k",
            "workload": "m:f",
            "metric": "step_time_p50",
            "unit": "s",
            "worse": "higher",
            "device_class": "cpu:Test CPU:1",
            "sample_type": "f4",
        }
    ],
    "observation": [
        {
            "series_id": 5,
            "pos": 1,
            "upload_id": "upload1",
            "side": "head",
            "processes": 4,
            "center": 1.5,
            "low": 1.0,
            "high": 2.0,
            "samples": b"\x00\x00\x80?",
        }
    ],
    "spread": [{"id": 9, "series_id": 5, "upload_id": "upload1", "differences": b"\x00" * 4}],
    "verdict": [
        {
            "upload_id": "upload1",
            "place": 3,
            "workload": "m:f",
            "metric": "step_time_p50",
            "unit": "s",
            "worse": "higher",
            "kind": "speed",
            "scale": "log",
            "outcome": "undecided",
            "adjusted_p": 1.0,
            "is_warning": False,
            "reason": "few pairs",
            "spread_source": "history",
        }
    ],
    "said": [
        {
            "id": 4,
            "project_id": 1,
            "pull_request": 7,
            "head_sha": "b",
            "upload_id": "upload1",
            "comment_id": 2**40,
            "check_run_id": 12,
            "updated_at": NOON,
        }
    ],
    "approval": [
        {
            "id": 2,
            "project_id": 1,
            "pull_request": 7,
            "head_sha": "b",
            "comment_id": 2**40,
            "login": "ann",
            "is_author": False,
            "usd_per_year": "12400.50",
            "covers_unpriced": True,
            "reason": "a larger batch",
            "said_at": NOON,
            "until": date(2026, 12, 31),
        }
    ],
    "docket": [{"project_id": 1, "content": msgspec.msgpack.encode(OLD_DOCKET)}],
    "alert": [
        {
            "id": 6,
            "project_id": 1,
            "upload_id": "upload1",
            "content": msgspec.msgpack.encode(OLD_ALERT),
        }
    ],
    "imported": [
        {
            "id": 8,
            "kind": "usage",
            "source": "cluster",
            "name": "sacct.csv",
            "sha256": "f",
            "since": NOON,
            "until": None,
            "summary": "sacct: 3 device-hours",
            "unpacked_bytes": 3,
            "created_at": NOON,
            "content": b"gz",
        }
    ],
}


def reflected(engine):
    metadata = MetaData()
    metadata.reflect(engine)
    return metadata


def rows_by_key(connection, table):
    return connection.execute(select(table).order_by(*table.primary_key)).mappings()


def stored_rows(engine):
    """Return every table's rows, whatever version the tables are of."""
    with engine.connect() as connection:
        return {
            table.name: [dict(row) for row in rows_by_key(connection, table)]
            for table in reflected(engine).sorted_tables
            if table.name != "alembic_version"
        }


@pytest.fixture
def fifth_version(empty_engine, upgrade_to):
    """Return a database of version 0005 with rows in every table."""
    upgrade_to("0005")
    metadata = reflected(empty_engine)
    with empty_engine.begin() as connection:
        for table, rows in FIFTH_VERSION.items():
            for row in rows:
                connection.execute(metadata.tables[table].insert().values(**row))
    return stored_rows(empty_engine)


def test_the_sixth_version_renames_tables_and_columns_and_keeps_every_row(
    upgrade_to, empty_engine, fifth_version, state, alert
):
    assert all(fifth_version.values())

    upgrade_to("0006")

    expected = {
        TABLES.get(table, table): [
            {COLUMNS.get((table, column), column): value for column, value in row.items()}
            for row in rows
        ]
        for table, rows in fifth_version.items()
    }
    expected["upload"][0]["status"] = "posted"
    expected["confirmation_state"][0]["content"] = msgspec.msgpack.encode(state)
    expected["alert"][0]["content"] = msgspec.msgpack.encode(alert)
    assert stored_rows(empty_engine) == expected


@pytest.mark.usefixtures("fifth_version")
def test_the_sixth_version_has_the_tables_of_the_code(empty_url, empty_engine, differences):
    upgrade(empty_url)

    assert differences(empty_engine) == ()


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("fifth_version")
def test_the_store_reads_what_the_fifth_version_wrote(empty_url, empty_engine, alert):
    upgrade(empty_url)

    with read_session(empty_engine) as session:
        upload = upload_by_id(session, "upload1")
        posts = posted_ids(session, upload.head)
        (approval,) = approvals_of(session, upload.head, today=NOON.date())
        content = session.exec(select_model(AlertRow.content)).one()
        assert import_content(session, 8) == b"gz"
    assert upload.status is UploadStatus.POSTED
    assert (posts.comment_id, posts.check_run_id) == (2**40, 12)
    assert approval.approved_at.date() == NOON.date()
    assert msgspec.msgpack.decode(content, type=Alert) == alert


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("fifth_version")
def test_constraints_are_named_after_the_tables_of_the_sixth_version(empty_url, empty_engine):
    upgrade(empty_url)

    tables = reflected(empty_engine).tables
    for table in StoreRow.metadata.sorted_tables:
        expected = names_in(table)
        if (
            empty_engine.dialect.name == "sqlite"
            and table.dialect_options["sqlite"]["autoincrement"]
        ):
            # SQLite takes no name for the key of a table whose numbers only grow.
            expected = expected - {table.primary_key.name} | {None}
        assert names_in(tables[table.name]) == expected


def names_in(table):
    return {part.name for part in (*table.constraints, *table.indexes)}


@pytest.mark.slow(ci_only=True)
def test_the_sixth_version_numbers_new_rows_after_the_old_ones(
    empty_url, empty_engine, fifth_version
):
    if empty_engine.dialect.name == "postgresql":  # as inserting without an id counts
        with empty_engine.begin() as connection:
            connection.exec_driver_sql("select setval('said_id_seq', 4)")

    upgrade(empty_url)

    posts = reflected(empty_engine).tables["github_post"]
    row = {key: value for key, value in fifth_version["said"][0].items() if key != "id"}
    with empty_engine.begin() as connection:
        connection.execute(posts.insert().values(**row | {"head_sha": "c"}))
    assert [post["id"] for post in stored_rows(empty_engine)["github_post"]] == [4, 5]
