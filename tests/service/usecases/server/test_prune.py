"""When retention removes, and what it leaves."""

from datetime import timedelta

import pytest

from perfledger_service.errors import SettingsError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import mark_search_due
from perfledger_service.store.people.audit import add_audit_entry, audit_entries
from perfledger_service.usecases.server.prune import run_retention
from perfledger_service.usecases.uploads.reorder import reorder
from perfledger_service.values.people.person import AuditAction
from perfledger_service.values.storage.retention import RetentionClass, RetentionPolicy, UploadPart
from tests.service.retention_history import (
    EVERYTHING,
    OPERATOR,
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


@pytest.mark.slow(ci_only=True)
def test_what_is_removed_is_in_the_audit_log(any_engine, history, prune):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})
    policy = RetentionPolicy({RetentionClass.SAMPLES: 90, RetentionClass.BUNDLES: 200})
    prune(policy, is_dry_run=True)
    prune(policy)
    prune(policy)

    with read_session(any_engine) as session:
        entries = audit_entries(session, most=9)
    removed = "bundles of 1 upload, kept for 200 days; samples of 1 upload, kept for 90 days"
    assert [(one.action, one.actor, one.repository, one.detail) for one in entries] == [
        (
            AuditAction.REMOVE_DATA,
            OPERATOR.name,
            upload.repository,
            f"retention: {removed}",
        )
    ]


def test_records_that_are_removed_are_in_the_audit_log(any_engine, prune, now):
    with write_session(any_engine) as session:
        for days in (100, 200):
            long_ago = now - timedelta(days=days)
            add_audit_entry(session, AuditAction.SIGN_IN, OPERATOR, now=long_ago)
        session.commit()
    prune(RetentionPolicy({RetentionClass.AUDIT: 90}))

    with read_session(any_engine) as session:
        [entry] = audit_entries(session, most=9)
    assert entry.detail == "retention: 2 records of audit, kept for 90 days"


@pytest.mark.parametrize(("records", "transactions"), [(500, 1), (501, 2)])
def test_a_transaction_removes_five_hundred_records(any_engine, now, records, transactions):
    with write_session(any_engine) as session:
        for _ in range(records):
            add_audit_entry(session, AuditAction.SIGN_IN, OPERATOR, now=now - timedelta(days=100))
        session.commit()
    pauses = []

    run_retention(
        any_engine,
        RetentionPolicy({RetentionClass.AUDIT: 90}),
        actor=OPERATOR,
        clock=lambda: now,
        pause=pauses.append,
    )

    assert pauses == [0.1] * transactions


@pytest.mark.parametrize("kind", UPLOAD_CLASSES)
def test_what_is_younger_than_its_period_stays(history, prune, removed_parts, kind):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})

    prune(RetentionPolicy({kind: 500}))

    assert removed_parts(upload) == set()


@pytest.mark.slow(ci_only=True)
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
        actor=OPERATOR,
        clock=lambda: now + timedelta(hours=1),
        pause=change_once,
    )

    assert removed_parts(upload) == set(UploadPart)
    assert len(pauses) > 1


def test_a_project_keeps_what_its_own_periods_say(any_engine, history, prune, removed_parts):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})
    of_all = {RetentionClass.SAMPLES: 90, RetentionClass.BUNDLES: 90}
    own = {RetentionClass.SAMPLES: 200, RetentionClass.BUNDLES: None}
    policy = RetentionPolicy(of_all, {upload.repository.lower(): own})

    would_go = rows_by_class(prune(policy, is_dry_run=True))
    went = rows_by_class(prune(policy))

    assert removed_parts(upload) == {UploadPart.SAMPLES}
    for kind in RetentionClass.SAMPLES, RetentionClass.BUNDLES:
        assert would_go[kind].removed.rows == went[kind].removed.rows
    with read_session(any_engine) as session:
        [entry] = audit_entries(session, most=9)
    assert entry.detail == "retention: samples of 1 upload, kept for 200 days"


def test_a_project_has_periods_where_all_others_are_kept_for_ever(history, prune, removed_parts):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})
    policy = RetentionPolicy({}, {upload.repository.lower(): {RetentionClass.BUNDLES: 90}})

    report = prune(policy)

    assert removed_parts(upload) == {UploadPart.BUNDLE}
    assert rows_by_class(report)[RetentionClass.BUNDLES].removed.rows == 1
    assert not policy.is_for_ever


def test_nothing_is_removed_while_a_project_with_own_periods_has_another_name(
    history, prune, removed_parts
):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})
    old_name = RetentionPolicy(
        {RetentionClass.BUNDLES: 90}, {"octo/old-name": {RetentionClass.BUNDLES: None}}
    )
    for is_dry_run in (True, False):
        with pytest.raises(SettingsError, match="octo/old-name, which is not a project here"):
            prune(old_name, is_dry_run=is_dry_run)

    assert removed_parts(upload) == set()
