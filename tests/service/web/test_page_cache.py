from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger_service.values.upload_views import UploadStatus, UploadView
from perfledger_service.web.page_cache import PageCache

UPLOAD = UploadView(
    id="1" * 32,
    repository="octo/models",
    pull_request=7,
    base_sha="a" * 40,
    head_sha="b" * 40,
    head_subject="after",
    machine_class="cpu:Test CPU:1",
    status=UploadStatus.JUDGED,
    reason="",
    conclusion="success",
    headline="fine",
    created_at=datetime(2026, 11, 20, tzinfo=UTC),
)


@pytest.fixture
def cache():
    return PageCache(max_pages=2)


def test_a_page_is_made_once_for_what_is_stored(cache):
    assert cache.page(UPLOAD, lambda: "first") == "first"
    assert cache.page(replace(UPLOAD), lambda: "second") == "first"


def test_a_page_is_made_again_when_its_upload_has_come_further(cache):
    cache.page(UPLOAD, lambda: "judged")

    assert cache.page(replace(UPLOAD, status=UploadStatus.POSTED), lambda: "said") == "said"


def test_the_page_that_nobody_asked_for_the_longest_goes_first(cache):
    first, second, third = (replace(UPLOAD, id=str(number) * 32) for number in range(3))
    for upload in (first, second, first, third):
        cache.page(upload, lambda: "old")

    assert cache.page(first, lambda: "new") == "old"
    assert cache.page(second, lambda: "new") == "new"


def test_what_cannot_be_made_is_not_kept(cache):
    def fail():
        raise LookupError

    with pytest.raises(LookupError):
        cache.page(UPLOAD, fail)

    assert cache.page(UPLOAD, lambda: "made") == "made"
