import json

import pytest

from perfledger_service.errors import UsageError
from perfledger_service.usecases.uploads.retry import defer_upload


@pytest.fixture
def retry(run, database_url):
    def retry(*words):
        return run("server", "retry", *words, PERFLEDGER_DATABASE_URL=database_url)

    return retry


def test_what_waits_is_shown_with_its_reason_and_retried_once(
    engine, judged, make_bundle, now, retry
):
    upload = judged(engine, make_bundle())
    defer_upload(engine, upload.id, "GitHub answered 502", None, now=now)

    text = " ".join(retry().split())

    assert upload.id[:8] in text
    assert "GitHub answered 502" in text
    (again,) = json.loads(retry("--json"))["uploads"]  # it waits for the service now
    assert (again["upload_id"], again["pull_request"], again["reason"]) == (upload.id, 7, "")


def test_where_nothing_waits_it_says_so(retry):
    assert retry().strip() == "No upload failed, and none is waiting."
    assert json.loads(retry("--json"))["uploads"] == []


def test_an_upload_that_is_done_is_not_retried(engine, judged, make_bundle, retry):
    upload = judged(engine, make_bundle())

    with pytest.raises(UsageError, match="only one that failed or waits"):
        retry(upload.id)
