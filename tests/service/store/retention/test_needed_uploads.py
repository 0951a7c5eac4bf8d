"""Uploads that stay however old they are."""

import pytest

from perfledger.records import Revision
from perfledger_service.errors import GitHubError
from perfledger_service.store.comments.tables import AcceptanceRow
from perfledger_service.store.database import write_session
from perfledger_service.store.events.merges import add_merge
from perfledger_service.values.storage.retention import UploadPart
from tests.service.retention_history import (
    Open,
)

# What is needed is decided in Python; what goes, on either database by the tests of removals.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize(
        "any_engine",
        ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow(ci_only=True))],
        indirect=True,
    ),
]


@pytest.mark.parametrize(
    ("github", "expected"),
    [
        (None, set()),
        (Open(7), set()),
        (Open(error=GitHubError("GitHub answered 502")), set()),
        (Open(8), set(UploadPart)),
    ],
)
def test_the_head_of_a_pull_request_stays_while_it_may_be_open(
    history, prune, removed_parts, github, expected
):
    earlier, newest, _ = history(
        {"ratio": 1.0, "pull_request": 7, "head": Revision(sha="e" * 40)},
        {"ratio": 1.0, "pull_request": 7, "head": Revision(sha="f" * 40)},
        {"ratio": 1.0},
    )

    prune(pull_requests=github)

    assert removed_parts(newest) == expected
    assert removed_parts(earlier) == set(UploadPart)


def test_without_github_a_merged_pull_request_is_no_longer_open(
    any_engine, history, prune, removed_parts
):
    upload, _ = history(
        {"ratio": 1.0, "pull_request": 7, "head": Revision(sha="e" * 40)}, {"ratio": 1.0}
    )
    with write_session(any_engine) as session:
        add_merge(session, upload.project_id, 7, "e" * 40)
        session.commit()

    prune()

    assert removed_parts(upload) == set(UploadPart)


def test_an_accepted_regression_stays(any_engine, history, prune, removed_parts, now):
    upload, _ = history(
        {"ratio": 1.5, "pull_request": 7, "head": Revision(sha="e" * 40)}, {"ratio": 1.0}
    )
    with write_session(any_engine) as session:
        session.add(
            AcceptanceRow(
                project_id=upload.project_id,
                pull_request=7,
                head_sha="e" * 40,
                comment_id=1,
                login="ada",
                workload="gpt:step",
                reason="needed",
                accepted_at=now,
            )
        )
        session.commit()

    prune(pull_requests=Open())

    assert removed_parts(upload) == set()
