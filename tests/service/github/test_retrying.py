import logging
import socket

import pytest

from perfledger_service.errors import GitHubError
from perfledger_service.github.api import LOST_POST_WAIT_S, GitHubApi
from perfledger_service.github.authentication import TokenAuthentication
from perfledger_service.github.client import GitHub

REPOSITORY = "octo/models"
CANARY = "ghp_canaryCanaryCanaryCanaryCanary012345"


@pytest.fixture
def slept():
    return []


@pytest.fixture
def patient(stand_in, slept):
    """A client whose sleeping is written down."""
    api = GitHubApi(stand_in.url, write_interval_s=0.0, sleep=slept.append)
    yield GitHub(api, TokenAuthentication(api, CANARY))
    api.close()


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_reading_is_tried_again_after_a_servers_error(patient, at_github, slept, status):
    at_github.open_pull()
    at_github.fail_next(count=3, status=status)

    assert patient.pull_request(REPOSITORY, 7).is_open
    assert slept == [0.5, 1.0, 2.0]


def test_a_servers_error_that_stays_is_said_and_may_pass(patient, at_github, slept):
    at_github.fail_next(count=4, status=502)

    with pytest.raises(GitHubError, match="GitHub answered 502 to GET") as caught:
        patient.pull_request(REPOSITORY, 7)
    assert caught.value.is_transient
    assert caught.value.github_status == 502
    assert len(slept) == 3


def test_a_comment_is_not_posted_again_after_a_servers_error(patient, at_github, slept):
    at_github.open_pull()
    at_github.fail_next(method="POST", status=502)

    with pytest.raises(GitHubError) as caught:
        patient.create_comment(REPOSITORY, 7, "text")
    assert (caught.value.is_transient, caught.value.wait_s) == (True, LOST_POST_WAIT_S)
    assert slept == []


@pytest.mark.parametrize("status", [403, 429])
def test_a_limit_is_not_slept_in_a_thread_and_says_how_long_it_lasts(
    patient, at_github, slept, status
):
    at_github.open_pull()
    at_github.fail_next(method="POST", status=status, headers={"Retry-After": "7"})

    with pytest.raises(GitHubError) as caught:
        patient.create_comment(REPOSITORY, 7, "text")
    assert (caught.value.is_transient, caught.value.wait_s) == (True, 7.0)
    assert slept == []


def test_a_servers_error_with_a_time_is_left_to_the_workflow(patient, at_github, slept):
    at_github.fail_next(status=503, headers={"Retry-After": "120"})

    with pytest.raises(GitHubError) as caught:
        patient.pull_request(REPOSITORY, 7)
    assert (caught.value.is_transient, caught.value.wait_s) == (True, 120.0)
    assert slept == []


def test_what_is_forbidden_stays_forbidden(patient, at_github, slept):
    at_github.open_pull()
    at_github.fail_next(method="POST", status=403)

    with pytest.raises(GitHubError, match=r"403 to POST .*: made to fail") as caught:
        patient.create_comment(REPOSITORY, 7, "text")
    assert not caught.value.is_transient
    assert slept == []


def test_a_lost_answer_to_a_post_is_not_followed_by_another_post(patient, at_github, slept):
    at_github.open_pull()
    at_github.fail_next(method="POST", drop="after")

    with pytest.raises(GitHubError, match="did not answer POST") as caught:
        patient.create_comment(REPOSITORY, 7, "text")
    assert (caught.value.is_transient, caught.value.wait_s) == (True, LOST_POST_WAIT_S)
    assert len(at_github.comments) == 1
    assert slept == []


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_a_lost_answer_to_anything_else_is_asked_for_again(patient, at_github, slept, method):
    at_github.open_pull()
    comment = patient.create_comment(REPOSITORY, 7, "text")
    at_github.fail_next(method=method, drop="after")

    if method == "GET":
        assert len(patient.comments(REPOSITORY, 7)) == 1
    elif method == "PATCH":
        assert patient.update_comment(REPOSITORY, comment, "new")
    else:
        patient.delete_comment(REPOSITORY, comment)
        assert at_github.comments == []
    assert slept == [0.5]


def test_a_server_that_is_not_there_is_said_so(slept):
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", 0))  # and never listens
        api = GitHubApi(f"http://127.0.0.1:{taken_socket.getsockname()[1]}", sleep=slept.append)
        client = GitHub(api, TokenAuthentication(api, CANARY))
        with pytest.raises(GitHubError, match="did not answer GET /user: ConnectionError"):
            client.me()
        api.close()


def test_a_moved_repository_is_not_followed(patient, at_github, slept):
    at_github.fail_next(status=301)

    with pytest.raises(GitHubError, match="GitHub answered 301"):
        patient.pull_request(REPOSITORY, 7)
    assert slept == []


def test_no_error_and_no_log_line_holds_the_token(patient, at_github, caplog):
    caplog.set_level(logging.DEBUG)
    at_github.open_pull()
    messages = []
    for fault in ({"status": 500, "count": 4}, {"drop": "after", "count": 4}, {"status": 401}):
        at_github.fail_next(**fault)
        with pytest.raises(GitHubError) as caught:
            patient.pull_request(REPOSITORY, 7)
        messages.append(str(caught.value))
    patient.create_comment(REPOSITORY, 7, "a secret body")

    assert CANARY not in caplog.text + "".join(messages)
    assert "a secret body" not in caplog.text
    assert logging.getLogger("github3").level == logging.INFO
