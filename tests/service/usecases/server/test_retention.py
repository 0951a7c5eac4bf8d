"""When retention removes, and what it leaves."""

from datetime import timedelta

import pytest

from perfledger_service.store.database import write_session
from perfledger_service.store.events.tracked_events import mark_search_due
from perfledger_service.usecases.pull_requests.reorder import reorder
from perfledger_service.usecases.server.retention import run_retention
from perfledger_service.values.storage.retention import RetentionClass, RetentionPolicy, UploadPart
from tests.service.retention_history import (
    EVERYTHING,
    rows_by_class,
    sha_of,
)

pytestmark = pytest.mark.slow
UPLOAD_CLASSES = (
    RetentionClass.BUNDLES,
    RetentionClass.SAMPLES,
    RetentionClass.PULL_REQUESTS,
    RetentionClass.BRANCH,
)


def test_without_a_setting_nothing_is_removed(history, prune, removed_parts):
    (upload,) = history({"ratio": 1.0})

    report = prune(RetentionPolicy({}))

    assert removed_parts(upload) == set()
    assert all(row.removed.rows == 0 and row.kept_days is None for row in report.rows)
    assert rows_by_class(report)[RetentionClass.BUNDLES].stored.rows == 102


@pytest.mark.parametrize("kind", UPLOAD_CLASSES)
def test_what_is_younger_than_its_period_stays(history, prune, removed_parts, kind):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})

    prune(RetentionPolicy({kind: 500}))

    assert removed_parts(upload) == set()


def test_runners_whose_old_bundles_went_still_give_the_order(any_engine, history, prune):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})
    before = reorder(any_engine, upload.repository, commits=None).commits
    prune()

    after = reorder(any_engine, upload.repository, commits=None)

    assert sha_of(0) in before
    assert after.commits == before


def test_a_history_that_changes_meanwhile_is_looked_at_again(
    any_engine, history, removed_parts, now
):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})
    pauses = []

    def change_once(_):
        if not pauses:
            with write_session(any_engine) as session:
                mark_search_due(session, upload.project_id)
                session.commit()
        pauses.append(None)

    run_retention(
        any_engine,
        EVERYTHING,
        clock=lambda: now + timedelta(hours=1),
        pause=change_once,
    )

    assert removed_parts(upload) == set(UploadPart)
    assert len(pauses) > 1
