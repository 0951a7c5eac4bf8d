"""Two uploads of a project are compared by their ids or their commits."""

import pytest

from perfledger.records import Revision
from perfledger_service.errors import UsageError
from perfledger_service.store.database import read_session
from perfledger_service.usecases.uploads.comparison import compare_uploads


def test_a_commit_is_that_of_its_check(engine, judged, make_bundle):
    uploads = [
        judged(
            engine,
            make_bundle(ratio=ratio, head=Revision(sha=digit * 40, subject="", ref="")),
            upload_id=digit * 32,
        )
        for digit, ratio in (("b", 1.0), ("c", 1.5))
    ]
    repository = uploads[0].repository

    with read_session(engine) as session:
        comparison = compare_uploads(session, repository, base="b" * 7, head=uploads[1].id)
        with pytest.raises(UsageError, match="are the same check"):
            compare_uploads(session, repository, base="b" * 7, head=uploads[0].id)

    sides = (comparison.base.upload_id, comparison.head.upload_id)
    assert sides == (uploads[0].id, uploads[1].id)
    assert comparison.view.verdicts[0].shown_estimate.change == pytest.approx(0.5, abs=0.1)
