import pytest

from perfledger_service.errors import GitHubError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.request_counts import RequestCounts, RequestOutcome, outcome_of
from perfledger_service.github.session import token_auth


def test_requests_are_counted_by_method_and_outcome():
    counts = RequestCounts()
    counts.note_request("GET", RequestOutcome.DONE)
    counts.note_request("GET", RequestOutcome.DONE)
    counts.note_request("POST", RequestOutcome.DONE)

    assert counts.numbers() == {
        ("GET", RequestOutcome.DONE): 2,
        ("POST", RequestOutcome.DONE): 1,
    }
    assert counts.rate_limits == 0


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (302, RequestOutcome.REFUSED),
        (499, RequestOutcome.REFUSED),
        (500, RequestOutcome.FAILED),
        (503, RequestOutcome.FAILED),
    ],
)
def test_what_a_status_means(status, outcome):
    assert outcome_of(status) is outcome


def test_the_api_counts_what_it_sends(stand_in, at_github):
    api = GitHubApi(stand_in.url, write_interval_s=0.0, sleep=lambda _: None)
    path = f"repos/{at_github.name}"
    auth = token_auth("t")
    api.request("GET", path, auth=auth)
    for fault in ({"status": 404}, {"status": 429, "headers": {"Retry-After": "60"}}):
        at_github.fail_next(**fault)
        with pytest.raises(GitHubError):
            api.request("POST", f"{path}/issues/7/comments", auth=auth, json={"body": "x"})
    with pytest.raises(GitHubError, match="rate limit is used up"):
        api.request("GET", path, auth=auth)  # which is not sent, and not counted
    api.close()

    assert api.counts.numbers() == {
        ("GET", RequestOutcome.DONE): 1,
        ("POST", RequestOutcome.REFUSED): 2,
    }
    assert api.counts.rate_limits == 1


def test_an_answer_that_does_not_come_is_counted():
    api = GitHubApi("http://127.0.0.1:9", sleep=lambda _: None)
    with pytest.raises(GitHubError):
        api.request("POST", "user", auth=token_auth("t"), json={})
    api.close()

    assert api.counts.numbers() == {("POST", RequestOutcome.NO_ANSWER): 1}
