"""Parts of uploads that go, and results that the history still needs."""

import pytest
from sqlalchemy import delete, insert
from sqlmodel import col, select

from perfledger.records import Revision
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.retention.upload_removal import remove_part, superseded_spreads
from perfledger_service.store.tables import (
    BundleRow,
    ObservationRow,
    PairSpreadRow,
    UploadRow,
)
from perfledger_service.store.uploads import bundle_content, set_status
from perfledger_service.values.storage.retention import (
    RetentionClass,
    RetentionPolicy,
    StoredAmount,
    UploadPart,
)
from perfledger_service.values.upload_views import UploadStatus
from tests.service.retention_history import KEPT_DAYS, add_newer_checks, rows_by_class

pytestmark = pytest.mark.slow
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43


@pytest.mark.slow(ci_only=True)
def test_samples_go_alone_and_centers_stay(any_engine, history, prune, removed_parts, count):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})
    observations = count(ObservationRow, upload)

    report = prune(RetentionPolicy({RetentionClass.SAMPLES: KEPT_DAYS}))

    assert removed_parts(upload) == {UploadPart.SAMPLES}
    assert count(ObservationRow, upload) == observations
    assert rows_by_class(report)[RetentionClass.SAMPLES].removed.rows == observations
    with read_session(any_engine) as session:
        rows = session.exec(select(ObservationRow).where(ObservationRow.upload_id == upload.id))
        assert all(row.samples == b"" and row.center > 0 for row in rows)


@pytest.mark.slow(ci_only=True)
def test_results_stay_while_the_search_reads_their_commits(history, prune, removed_parts):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0}, newer_commits=False)

    prune()

    assert removed_parts(upload) == {UploadPart.BUNDLE, UploadPart.SAMPLES}


@pytest.mark.slow(ci_only=True)
def test_results_stay_until_it_is_known_whether_their_commits_are_on_the_branch(
    history, prune, removed_parts
):
    nowhere = {"base": Revision(sha="1" * 40), "head": Revision(sha="2" * 40)}
    upload, _ = history({"ratio": 1.0, **nowhere}, {"ratio": 1.0})

    prune()

    assert removed_parts(upload) == {UploadPart.BUNDLE, UploadPart.SAMPLES}


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("status", [UploadStatus.RECEIVED, UploadStatus.FAILED])
def test_an_upload_that_is_to_be_tried_again_stays(
    any_engine, history, prune, removed_parts, status
):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})
    with write_session(any_engine) as session:
        set_status(session, upload.id, status)
        session.commit()

    prune()

    assert removed_parts(upload) == set()


@pytest.mark.slow(ci_only=True)
def test_a_bundle_that_another_project_keeps_is_removed_for_one_of_them_alone(  # noqa: PLR0917
    any_engine, history, prune, removed_parts, received, make_bundle, now
):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})
    with read_session(any_engine) as session:
        content = bundle_content(session, upload.bundle_sha256)
    second = copy_to_other_project(any_engine, upload, received, make_bundle, now)

    of_one = {upload.repository.lower(): {RetentionClass.BUNDLES: KEPT_DAYS}}
    policies = RetentionPolicy({RetentionClass.BUNDLES: KEPT_DAYS}), RetentionPolicy({}, of_one)
    would_go = [prune(policy, is_dry_run=True) for policy in policies]
    went = prune(policies[1])

    for report in (*would_go, went):
        assert rows_by_class(report)[RetentionClass.BUNDLES].removed == StoredAmount()
    assert removed_parts(upload) == {UploadPart.BUNDLE}
    assert removed_parts(second) == set()
    with read_session(any_engine) as session:
        assert bundle_content(session, upload.bundle_sha256) == content


def copy_to_other_project(engine, upload, received, make_bundle, now):
    """Store another project's young upload with the same bundle, as after a transfer."""
    other = received(
        engine,
        make_bundle(seed=77, repository="octo/other"),
        upload_id="7" * 32,
        token=OTHER_TOKEN,
        now=now,
    )
    with write_session(engine) as session:
        row = session.get_one(UploadRow, other.id)
        row.bundle_sha256 = upload.bundle_sha256
        session.add(row)
        session.commit()
    return other


def test_a_bundle_that_comes_again_for_another_project_is_there_again(
    any_engine, received, make_bundle, now
):
    bundle = make_bundle(seed=77, repository="octo/other")
    packed = {"token": OTHER_TOKEN, "now": now}
    other = received(any_engine, bundle, upload_id="7" * 32, **packed)
    with write_session(any_engine) as session:
        row = session.get_one(BundleRow, other.bundle_sha256)
        content, row.content = row.content, b""  # as if its only upload until now had lost it
        session.add(row)
        session.exec(delete(UploadRow).where(col(UploadRow.id) == other.id))
        session.commit()

    received(any_engine, bundle, upload_id="8" * 32, **packed)

    with read_session(any_engine) as session:
        assert bundle_content(session, other.bundle_sha256) == content


def test_differences_stay_while_fewer_than_two_hundred_newer_uploads_have_some(
    any_engine, judged, make_bundle, now
):
    upload = judged(any_engine, make_bundle(pairs=4), upload_id="1" * 32, now=now)
    add_newer_checks(any_engine, upload, since=now, count=200)
    with write_session(any_engine) as session:
        of_upload = PairSpreadRow.upload_id == upload.id
        oldest = session.exec(select(PairSpreadRow).where(of_upload)).first()
        newer = {"series_id": oldest.series_id, "differences": oldest.differences}
        ids = [f"f{number:031x}" for number in range(200)]
        session.execute(insert(PairSpreadRow), [newer | {"upload_id": each} for each in ids])
        for upload_id in (upload.id, *ids[:2]):
            remove_part(
                session, UploadPart.RESULTS, [upload_id], removed_at=now, kept_days=KEPT_DAYS
            )
        session.commit()

        assert superseded_spreads(session, upload.project_id, most=9) == (oldest.id,)
