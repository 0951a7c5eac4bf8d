import gzip
from dataclasses import replace

import pytest
from sqlmodel import select

from perfledger.records import Failure, FailureReason, Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.tables import BundleRow, EnvironmentRow, UploadRow
from perfledger_service.store.uploads import (
    add_judgement,
    bundle_content,
    set_status,
    unfinished_uploads,
    upload_by_id,
    verdicts_of,
)
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.values.upload_views import UploadStatus


def test_verdicts_come_back_as_they_were_said(any_engine, judged, make_bundle):
    failure = Failure(
        workload="gpt:other", side=Side.HEAD, why=FailureReason.RAISED, detail="boom", log_tail="x"
    )
    bundle = make_bundle(failures=(failure,))
    upload = judged(any_engine, bundle)

    with read_session(any_engine) as session:
        stored = verdicts_of(session, upload.id)

    report = build_report(bundle, today=upload.judged_at.date(), is_local=False)
    assert stored == report.verdicts
    assert {verdict.outcome for verdict in stored} >= {Outcome.REGRESSED, Outcome.NOT_MEASURED}
    assert upload.headline == report.headline
    assert upload.conclusion == "failure"


def test_what_settled_a_verdict_and_what_one_on_kernels_rests_on_come_back(
    any_engine, received, make_bundle, now
):
    received(any_engine, make_bundle(), upload_id="1" * 32)
    report = build_report(make_bundle(), today=now.date(), is_local=False)
    first, *rest = report.verdicts
    verdicts = (replace(first, queued_share=0.25, profiled_pairs=12), *rest)

    with write_session(any_engine) as session:
        add_judgement(
            session,
            "1" * 32,
            verdicts,
            conclusion="success",
            title="",
            headline="",
            now=now,
        )
        session.commit()
    with read_session(any_engine) as session:
        assert verdicts_of(session, "1" * 32) == verdicts


def test_a_bundle_and_a_machine_are_stored_once(any_engine, received, make_bundle):
    received(any_engine, make_bundle(), upload_id="1" * 32)
    received(any_engine, make_bundle(), upload_id="2" * 32)
    received(any_engine, make_bundle(seed=1), upload_id="3" * 32)

    with read_session(any_engine) as session:
        assert {row.id for row in session.exec(select(UploadRow))} == {"1" * 32, "3" * 32}
        assert len(session.exec(select(BundleRow.sha256)).all()) == 2
        assert len(session.exec(select(EnvironmentRow)).all()) == 1


def test_a_bundle_comes_back_as_it_came(any_engine, received, make_bundle):
    bundle = make_bundle()
    upload = received(any_engine, bundle)

    with read_session(any_engine) as session:
        content = bundle_content(session, upload.bundle_sha256)

    assert gzip.decompress(content) == bundle.to_json().encode()


def test_unfinished_is_what_was_received_and_what_was_judged_and_not_said(
    engine, judged, received, make_bundle
):
    received(engine, make_bundle(), upload_id="1" * 32)
    judged(engine, make_bundle(seed=1), upload_id="2" * 32)
    judged(engine, make_bundle(seed=2, pull_request=None), upload_id="3" * 32)
    judged(engine, make_bundle(seed=3), upload_id="4" * 32)
    with write_session(engine) as session:
        set_status(session, "4" * 32, UploadStatus.POSTED)
        session.commit()

    with read_session(engine) as session:
        ids = [upload.id for upload in unfinished_uploads(session)]

    assert ids == ["1" * 32, "2" * 32]


def test_an_unknown_upload_is_not_found(engine):
    with read_session(engine) as session, pytest.raises(NotFoundError, match="no upload 'nothing'"):
        upload_by_id(session, "nothing")
