"""Answers as GitHub gives them, and answers of something else."""

import io
import sys
from datetime import UTC, datetime

import pytest
import requests

from perfledger_service.errors import GitHubError
from perfledger_service.github.documents import (
    CHECK_RUNS,
    COMMENTS,
    CREATED,
    INSTALLATION_TOKEN,
    PULL_REQUEST,
    CreatedResource,
    decode_answer,
)


@pytest.fixture
def answer():
    """Return a function that makes an answer of these bytes."""

    def answer(content):
        response = requests.Response()
        response.raw = io.BytesIO(content)
        return response

    return answer


def test_fields_that_are_not_read_may_be_anything(answer):
    content = b'{"id": 7, "url": null, "user": [], "new": {"deep": [1, {"er": 2}]}}'

    assert decode_answer(answer(content), CREATED) == CreatedResource(id=7)


def test_an_account_that_is_deleted_and_an_app_that_is_unknown_are_none(answer):
    (comment,) = decode_answer(answer(b'[{"id": 1, "user": null}]'), COMMENTS)
    checks = decode_answer(answer(b'{"check_runs": [{"id": 1, "name": "x"}]}'), CHECK_RUNS)

    assert (comment.user, comment.body) == (None, None)
    assert checks.check_runs[0].app is None


def test_a_tokens_expiry_is_a_time_with_its_zone(answer):
    content = b'{"token": "t", "expires_at": "2026-11-20T13:00:00Z"}'

    token = decode_answer(answer(content), INSTALLATION_TOKEN)

    assert token.expires_at == datetime(2026, 11, 20, 13, tzinfo=UTC)


@pytest.mark.parametrize("expires_at", ["2026-11-20T13:00:00", "soon", "", "2026-11-20T25:00:00Z"])
def test_a_tokens_expiry_that_is_no_time_is_our_error(answer, expires_at):
    content = f'{{"token": "ghs_canary", "expires_at": "{expires_at}"}}'.encode()

    with pytest.raises(GitHubError, match="not from GitHub's API") as caught:
        decode_answer(answer(content), INSTALLATION_TOKEN)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<html>", id="no JSON"),
        pytest.param(b"[]", id="another type"),
        pytest.param(b'{"state": "open"}', id="a field is missing"),
        pytest.param(b'{"state": 3, "head": {"sha": "b"}}', id="a field of another type"),
        pytest.param(b'{"state": "\xff", "head": {"sha": "b"}}', id="not UTF-8"),
        pytest.param(b'{"new": ' + b"[" * 100_000, id="too deep and without an end"),
        pytest.param(
            b'{"state": "open", "head": {"sha": "b"}, "new": '
            + b"[" * 100_000
            + b"]" * 100_000
            + b"}",
            id="too deep",
            marks=pytest.mark.skipif(
                sys.version_info >= (3, 14), reason="skipped over at any depth: nothing reads it"
            ),
        ),
    ],
)
def test_an_answer_that_is_not_githubs_is_our_error_and_names_the_setting(answer, content):
    with pytest.raises(GitHubError, match="check PERFLEDGER_GITHUB_API_URL") as caught:
        decode_answer(answer(content), PULL_REQUEST)
    assert len(str(caught.value)) < 300


def test_an_answer_of_another_service_at_the_root_reaches_who_asked_as_our_error(github, at_github):
    at_github.open_pull()
    at_github.state["pulls"]["7"] = {"state": "open"}

    with pytest.raises(GitHubError, match="check PERFLEDGER_GITHUB_API_URL"):
        github.pull_request("octo/models", 7)
