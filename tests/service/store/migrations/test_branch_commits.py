"""A database of the eighth version, upgraded: claims, and the commits that alerts name."""

from datetime import UTC, datetime

import msgspec
import pytest
from sqlalchemy import MetaData

from perfledger_service.store.branch_commits import branch_places
from perfledger_service.store.confirmation_state import alerts_of, confirmation_state_of
from perfledger_service.store.database import read_session
from perfledger_service.store.default_branch import commits_of_branch, unplaced_commits
from perfledger_service.store.projects import project_named
from perfledger_service.store.upgrade import upgrade

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
UPLOAD = {
    "id": "upload1",
    "project_id": 1,
    "bundle_sha256": "bundle1",
    "environment_hash": "machine",
    "base_sha": "a",
    "head_sha": "e",
    "head_subject": "a change",
    "status": "judged",
    "reason": "",
    "attempt": 1,
    "conclusion": "success",
    "title": "",
    "headline": "",
    "created_at": NOON,
    "measured_at": NOON,
    "judged_at": NOON,
}
MACHINE = '{"device": "cpu", "model": "Test CPU"}'
COMMITS = (("a", 0), ("pull", None), ("b", 1), ("c", 2), ("d", 3), ("e", 4))


@pytest.fixture
def eighth_version(empty_engine, upgrade_to, alert, state):
    """Give the empty database the tables of version 0008, with five commits of a branch."""
    upgrade_to("0008")
    rows = {
        "project": [
            {"id": 1, "repository": "octo/m", "repository_key": "octo/m", "created_at": NOON}
        ],
        "bundle": [{"sha256": "bundle1", "unpacked_bytes": 2, "content": b"{}"}],
        "environment": [{"hash": "machine", "device_class": "cpu:Test CPU:1", "machine": MACHINE}],
        "upload": [UPLOAD],
        "revision": [
            {"project_id": 1, "position": position, "sha": sha, "branch_position": on_branch}
            for position, (sha, on_branch) in enumerate(COMMITS)
        ],
        "alert": [
            {
                "id": 6,
                "project_id": 1,
                "upload_id": "upload1",
                "content": msgspec.msgpack.encode(alert),
            }
        ],
        "confirmation_state": [{"project_id": 1, "content": msgspec.msgpack.encode(state)}],
    }
    metadata = MetaData()
    metadata.reflect(empty_engine)
    with empty_engine.begin() as connection:
        for table, values in rows.items():
            connection.execute(metadata.tables[table].insert(), values)


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("eighth_version")
def test_what_bundles_said_of_the_branch_is_a_claim(empty_url, empty_engine, differences):
    upgrade(empty_url)

    with read_session(empty_engine) as session:
        assert not project_named(session, "octo/m").trust_runners
        assert unplaced_commits(session, 1) == ("e", "d", "c", "b", "a")
        assert commits_of_branch(session, 1) == ()
        assert branch_places(session, 1) == {}
    assert differences(empty_engine) == ()


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("eighth_version")
def test_alerts_name_their_commits_and_what_was_suspected_is_searched_again(
    empty_url, empty_engine, alert
):
    upgrade(empty_url)

    with read_session(empty_engine) as session:
        [view] = alerts_of(session, 1)
        assert confirmation_state_of(session, 1).requests == ()
    assert view.alert == alert
    assert (view.after_sha, view.last_sha) == ("b", "d")
