from datetime import UTC, datetime, timedelta

from perfledger_service.values.storage.retention import (
    Removal,
    RetentionClass,
    RetentionPolicy,
    StoredAmount,
    UploadPart,
)

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def test_a_removal_says_when_and_by_which_period():
    removal = Removal(UploadPart.BUNDLE, removed_at=NOW, kept_days=90)

    assert removal.sentence == "removed on 2026-11-28 by retention of 90 days"


def test_a_class_without_days_is_kept_for_ever():
    policy = RetentionPolicy({RetentionClass.SAMPLES: 30})

    assert policy.cutoff(RetentionClass.SAMPLES, NOW) == NOW - timedelta(days=30)
    assert policy.cutoff(RetentionClass.BUNDLES, NOW) is None


def test_what_is_left_has_the_rest_of_the_rows_and_bytes():
    stored = StoredAmount(rows=5, bytes=100, oldest=NOW)

    assert stored.without(StoredAmount(rows=2, bytes=30)) == StoredAmount(
        rows=3, bytes=70, oldest=NOW
    )
    assert stored.without(stored) == StoredAmount()


def test_the_oldest_of_what_went_is_unknown_where_an_older_one_is_left():
    stored = StoredAmount(rows=5, bytes=100, oldest=NOW)

    assert stored.without(StoredAmount(rows=2, bytes=30, oldest=NOW)).oldest is None
    left = StoredAmount(rows=2, bytes=30, oldest=NOW + timedelta(days=1))
    assert stored.without(left).oldest == NOW
