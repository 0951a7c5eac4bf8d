"""How much is stored of each class, and how much of it would go."""

import pytest

from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.projects import project_for
from perfledger_service.store.retention import stored_amounts
from perfledger_service.store.retention.stored_amounts import amount_of
from perfledger_service.store.tables import UploadRow
from perfledger_service.usecases.server.prune import run_retention
from perfledger_service.values.storage.retention import (
    RetentionClass,
    RetentionPolicy,
    StoredAmount,
    UploadPart,
)
from tests.service.retention_history import (
    EVERYTHING,
    KEPT_DAYS,
    OPERATOR,
    rows_by_class,
)

pytestmark = pytest.mark.slow


@pytest.mark.slow(ci_only=True)
def test_a_dry_run_tells_what_would_go_and_removes_nothing(history, prune, removed_parts):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})

    would_go = prune(is_dry_run=True)

    assert removed_parts(upload) == set()
    went = prune()
    for before, after in zip(would_go.rows, went.rows, strict=True):
        assert before.stored == after.stored
        assert before.kept_days == after.kept_days == KEPT_DAYS
    of_branch = rows_by_class(would_go)[RetentionClass.BRANCH]
    assert of_branch.removed == rows_by_class(went)[RetentionClass.BRANCH].removed
    assert of_branch.removed.rows > 0
    assert removed_parts(upload) == set(UploadPart)
    assert all(row.removed.rows == 0 for row in prune(is_dry_run=True).rows)


@pytest.mark.slow(ci_only=True)
def test_a_dry_run_tells_what_goes_with_the_results(history, prune):
    history({"ratio": 1.0}, {"ratio": 1.0})
    of_branch = RetentionPolicy({RetentionClass.BRANCH: KEPT_DAYS})

    would_go = prune(of_branch, is_dry_run=True)
    went = prune(of_branch)

    assert [row.removed for row in would_go.rows] == [row.removed for row in went.rows]
    assert rows_by_class(went)[RetentionClass.BUNDLES].removed.rows == 1


def test_a_bundle_of_two_uploads_goes_once_with_both(any_engine, history, monkeypatch, now):
    monkeypatch.setattr(stored_amounts, "IDS_AT_A_TIME", 1)
    first, second = history(*[{"ratio": 1.0}] * 2)
    with write_session(any_engine) as session:
        other = project_for(session, "octo/other", now=now)
        row = session.get_one(UploadRow, second.id)
        row.bundle_sha256, row.project_id = first.bundle_sha256, other.id
        session.add(row)
        session.commit()

    with read_session(any_engine) as session:
        of_one, of_both = (
            amount_of(session, RetentionClass.BUNDLES, ids)
            for ids in ([second.id], [second.id, first.id])
        )

    assert of_one == StoredAmount()
    assert (of_both.rows, of_both.oldest) == (1, first.created_at)
    assert of_both.bytes > 0


@pytest.mark.slow(ci_only=True)
def test_what_arrives_meanwhile_is_not_subtracted_from_what_was_removed(  # noqa: PLR0917
    any_engine, history, prune, judged, make_bundle, now
):
    history({"ratio": 1.0}, {"ratio": 1.0})
    would_go = prune(is_dry_run=True)
    arrivals = iter((make_bundle(seed=70, pairs=4), make_bundle(seed=71, pairs=4)))

    def receive(_):
        for number, bundle in enumerate(arrivals):
            judged(any_engine, bundle, upload_id=f"{number + 70:032x}", now=now)

    went = run_retention(any_engine, EVERYTHING, actor=OPERATOR, clock=lambda: now, pause=receive)

    assert [row.removed for row in would_go.rows] == [row.removed for row in went.rows]
