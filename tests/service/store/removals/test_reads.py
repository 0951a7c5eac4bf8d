"""What is known of an upload after its parts went."""

import pytest

from perfledger_service.errors import RemovedError
from perfledger_service.store.database import read_session
from perfledger_service.store.tables import (
    ObservationRow,
    PairSpreadRow,
    VerdictRow,
)
from perfledger_service.store.uploads import bundle_content, upload_by_id
from perfledger_service.values.storage.retention import UploadPart

pytestmark = pytest.mark.slow


@pytest.mark.slow(ci_only=True)
def test_an_old_result_goes_with_its_bundle_and_the_upload_says_when_and_why(
    any_engine, history, prune, removed_parts, count
):
    upload, _ = history({"ratio": 1.0}, {"ratio": 1.0})

    prune()

    assert removed_parts(upload) == set(UploadPart)
    assert count(ObservationRow, upload) == count(VerdictRow, upload) == 0
    assert count(PairSpreadRow, upload) > 0  # priors read so few
    with read_session(any_engine) as session:
        kept_stored_upload = upload_by_id(session, upload.id)
        assert (kept_stored_upload.title, kept_stored_upload.headline) == (
            upload.title,
            upload.headline,
        )
        with pytest.raises(RemovedError, match="removed on 2026-11-20 by retention of 90 days"):
            bundle_content(session, upload.bundle_sha256)
