"""The page of a check whose bundle or results went: it says so, and shows nothing else."""

from datetime import timedelta

import pytest

from perfledger_service.store.database import write_session
from perfledger_service.store.retention.upload_removal import remove_part
from perfledger_service.values.storage.retention import UploadPart

NOTE = "removed on 2026-11-20 by retention of 90 days"


@pytest.fixture
def remove(site, engine, make_bundle, now):
    """Store a check of a pull request with one part removed, and return its id."""

    def remove(part):
        upload_id = site.upload(make_bundle(ratio=1.2)).json()["id"]
        site.judge(upload_id)
        site.get(f"/runs/{upload_id}")  # its page is cached
        with write_session(engine) as session:
            remove_part(session, part, [upload_id], removed_at=now, kept_days=90)
            session.commit()
        return upload_id

    return remove


@pytest.mark.slow
def test_without_its_bundle_a_check_still_shows_its_verdicts(site, remove):
    upload_id = remove(UploadPart.BUNDLE)

    answer = site.get(f"/runs/{upload_id}")

    assert answer.status_code == 200
    assert f"Causes, prices, samples and the bundle were {NOTE}." in answer.text
    assert "regressed" in answer.text
    assert "gpt:step" in answer.text


@pytest.mark.slow
def test_without_its_results_a_check_shows_what_was_concluded_and_no_number(site, remove):
    upload_id = remove(UploadPart.RESULTS)

    for path in (f"/runs/{upload_id}", "/octo/models/pull/7"):
        page = site.get(path).text
        assert f"Verdicts, causes, prices and all measurements were {NOTE}." in page
        assert "gpt:step" in page  # the headline
        assert "<table" not in page


@pytest.mark.slow
def test_without_its_samples_a_check_is_shown_as_before(site, remove):
    upload_id = remove(UploadPart.SAMPLES)

    page = site.get(f"/runs/{upload_id}").text

    assert "removed on" not in page
    assert "gpt:step" in page


@pytest.mark.slow
def test_the_bundle_itself_is_gone_and_no_error(site, remove):
    upload_id = remove(UploadPart.BUNDLE)

    answer = site.get(f"/runs/{upload_id}/bundle.json")

    assert answer.status_code == 410
    assert NOTE in answer.text


@pytest.mark.slow
def test_a_comparison_with_a_removed_check_says_why_there_is_none(site, remove, make_bundle, now):
    upload_id = remove(UploadPart.BUNDLE)
    later = now + timedelta(hours=1)
    other = site.upload(make_bundle(seed=3, created_at=later.isoformat())).json()["id"]
    site.judge(other)

    answer = site.get(f"/octo/models/compare?a={upload_id}&b={other}")

    assert answer.status_code == 410
    assert NOTE in answer.text
