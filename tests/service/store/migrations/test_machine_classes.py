"""A database of the sixth version, upgraded: when uploads were measured, and what was posted."""

import gzip
import json
from datetime import UTC, datetime

import pytest
from sqlalchemy import MetaData

from perfledger_service.store.database import read_session
from perfledger_service.store.expected_classes import expected_classes
from perfledger_service.store.github_posts import posted_ids
from perfledger_service.store.heads.uploads import uploads_of_head
from perfledger_service.store.upgrade import upgrade
from perfledger_service.store.uploads import upload_by_id

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
BUNDLE = gzip.compress(json.dumps({"created_at": "2026-11-20T09:30:00+00:00"}).encode())


def upload_row(number):
    return {
        "id": f"upload{number}",
        "project_id": 1,
        "bundle_sha256": f"bundle{number}",
        "environment_hash": "machine",
        "pull_request": 7,
        "base_sha": "a",
        "head_sha": "b",
        "head_subject": "a change",
        "status": "posted",
        "reason": "",
        "attempt": 1,
        "conclusion": "success",
        "title": "",
        "headline": "",
        "created_at": NOON,
        "judged_at": NOON,
    }


SIXTH_VERSION = {
    "project": [{"id": 1, "repository": "octo/m", "repository_key": "octo/m", "created_at": NOON}],
    "bundle": [
        {"sha256": "bundle1", "unpacked_bytes": 2, "content": BUNDLE},
        {"sha256": "bundle2", "unpacked_bytes": 2, "content": b"not a bundle"},
    ],
    "environment": [{"hash": "machine", "device_class": "cpu:Test CPU:1", "machine": "{}"}],
    "upload": [upload_row(1), upload_row(2)],
    "github_post": [
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
}


@pytest.fixture
def sixth_version(empty_engine, upgrade_to):
    """Give the empty database the tables of version 0006, with rows."""
    upgrade_to("0006")
    metadata = MetaData()
    metadata.reflect(empty_engine)
    with empty_engine.begin() as connection:
        for table, rows in SIXTH_VERSION.items():
            for row in rows:
                connection.execute(metadata.tables[table].insert().values(**row))


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("sixth_version")
def test_uploads_know_when_they_were_measured_and_posts_stay(empty_url, empty_engine, differences):
    upgrade(empty_url)

    with read_session(empty_engine) as session:
        measured = upload_by_id(session, "upload1")
        head = measured.head
        assert measured.measured_at == datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
        assert upload_by_id(session, "upload2").measured_at == NOON
        assert [one.id for one in uploads_of_head(session, head)] == ["upload2", "upload1"]
        assert posted_ids(session, head).check_run_id == 12
        assert expected_classes(session, head) == ()
    assert differences(empty_engine) == ()
