"""Forty faults of GitHub: whatever it does, there is one comment, one check, and nothing is lost.

The steps of an upload run as the workflow runs them, by a clock that only they move.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from perfledger_service.errors import GitHubError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.authentication import TokenAuthentication
from perfledger_service.github.client import GitHub
from perfledger_service.store.database import read_session
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads.comment_and_check import post_report
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.retry import (
    defer_upload,
    due_work,
    retry_uploads,
)
from perfledger_service.usecases.uploads.uploads import fail_upload, unfinished_work
from perfledger_service.values.upload_views import UploadStatus

pytestmark = pytest.mark.slow

MAX_ATTEMPTS = 30
PAGE = "<html><h1>The proxy is tired</h1></html>"
NOON = 1_763_640_000  # seconds since 1970
DATE = "Thu, 20 Nov 2025 12:00:00 GMT"
LATER = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(NOON + 900)}
KINDS: dict[str, dict[str, object]] = {
    "a token that GitHub no longer takes": {"status": 401},
    "a repository that cannot be seen": {"status": 404},
    "a right that is missing": {"status": 403},
    "a limit with a time": {"status": 403, "headers": {"Retry-After": "90"}},
    "a limit without a time": {
        "status": 403,
        "text": '{"message": "You have exceeded a secondary rate limit"}',
    },
    "a limit until its reset": {"status": 403, "headers": LATER | {"Date": DATE}},
    "a reset that is over by its date": {
        "status": 403,
        "headers": LATER | {"Date": "Thu, 20 Nov 2025 13:00:00 GMT"},
    },
    "a reset hours ahead of its date": {
        "status": 429,
        "headers": LATER | {"Date": "Thu, 20 Nov 2025 00:00:00 GMT"},
    },
    "too many requests": {"status": 429, "headers": {"Retry-After": "120"}},
    "a failure of GitHub's": {"status": 500},
    "a proxy's page with its failure": {"status": 502, "text": PAGE},
    "GitHub away": {"status": 503, "headers": {"Retry-After": "5"}},
    "a gateway that waited in vain": {"status": 504},
    "a proxy's page in place of an answer": {"status": 200, "text": PAGE},
    "a redirect": {"status": 302},
    "hanging up before the write": {"drop": "before"},
    "hanging up after the write": {"drop": "after"},
    "a write after the client gave up": {"drop": "late"},
}
POSTS = ("POST /comments", "POST /check-runs")
FAULTS: list[tuple[str, str, int]] = [
    *((what, kind, 2) for what in POSTS for kind in KINDS),
    ("GET /pulls", "a proxy's page in place of an answer", 6),
    ("GET /comments", "a failure of GitHub's", 6),
    ("PATCH /comments", "hanging up after the write", 6),
    ("PATCH /check-runs", "a gateway that waited in vain", 6),
]


@dataclass
class Clock:
    """Time that passes only when somebody waits."""

    now: datetime
    elapsed_s: float = 0.0

    def sleep(self, seconds):
        self.now += timedelta(seconds=seconds)
        self.elapsed_s += seconds

    def monotonic(self):
        return self.elapsed_s


class Office:
    """The service's steps on one upload after the other, with the stand-in beside it."""

    def __init__(self, engine, server, clock):
        self.engine, self.server, self.clock = engine, server, clock
        self.reports = UploadReports(build_report)
        api = GitHubApi(server.url, sleep=clock.sleep, monotonic=clock.monotonic)
        self.github = GitHub(api, TokenAuthentication(api, "ghp_x"))
        self.waits: list[str] = []

    def post(self, upload_id, after_failure=lambda: None):
        """Post an upload, in as many attempts as it takes, and return it."""
        for _ in range(MAX_ATTEMPTS):
            assert [work.upload_id for work in unfinished_work(self.engine)] == [upload_id]
            try:
                post_report(
                    self.engine,
                    upload_id,
                    pull_requests=self.github,
                    reports=self.reports,
                    public_url="https://ledger.example",
                    now=self.clock.now,
                )
            except GitHubError as error:
                self.wait(upload_id, error)
                after_failure()
            else:
                break
        return self.upload(upload_id)

    def wait(self, upload_id, error):
        """Wait as the service does, or as the operator, who mends a right and retries."""
        self.waits.append(str(error))
        if error.is_transient:
            work = defer_upload(
                self.engine, upload_id, str(error), error.wait_s, now=self.clock.now
            )
            assert work is not None
            assert work.due_at is not None
            waited_s = (work.due_at - self.clock.now).total_seconds()
            assert waited_s >= max(60.0, error.wait_s or 0.0)
            self.clock.sleep(waited_s)
            due = due_work(self.engine, now=self.clock.now)
            assert [work.upload_id for work in due] == [upload_id]
        else:
            fail_upload(self.engine, upload_id, str(error))
            retry_uploads(self.engine, (upload_id,), now=self.clock.now)

    def upload(self, upload_id):
        with read_session(self.engine) as session:
            return upload_by_id(session, upload_id)


@pytest.fixture
def office(engine, stand_in, now):
    office = Office(engine, stand_in, Clock(now))
    yield office
    office.github.close()


@pytest.fixture
def check(office, judged, make_bundle):
    """Judge a check of the same head; one with a higher number was measured later."""

    def check(number, **values):
        moment = f"2026-11-20T11:{number:02d}:00+00:00"
        bundle = make_bundle(seed=number, created_at=moment, **values)
        return judged(office.engine, bundle, upload_id=f"{number:032x}")

    return check


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(
            fault, id=str(fault), marks=pytest.mark.slow(ci_only=True) if place % 4 else ()
        )
        for place, fault in enumerate(FAULTS)
    ],
)
def test_whatever_github_does_there_is_one_comment_and_one_check(office, at_github, check, fault):
    where, kind, count = fault
    at_github.open_pull()
    first = check(1, ratio=1.2)
    if where.startswith("PATCH"):
        office.post(first.id)
    method, path = where.split()
    at_github.fail_next(method=method, path=path, count=count, **KINDS[kind])
    if not where.startswith("PATCH"):
        posted = office.post(first.id, after_failure=lambda: at_github.tell("late", {}))
        assert posted.status is UploadStatus.POSTED
    second = check(2, ratio=1.0)
    posted = office.post(second.id, after_failure=lambda: at_github.tell("late", {}))

    assert posted.status is UploadStatus.POSTED
    assert office.waits
    [comment], [check] = at_github.comments, at_github.checks
    assert "Unchanged: `gpt:step`" in comment["body"]
    assert check["conclusion"] == "success"
    assert due_work(office.engine, now=office.clock.now + timedelta(days=2)) == ()


@pytest.mark.parametrize("where", POSTS)
def test_a_write_that_comes_after_the_next_attempt_is_pruned_or_says_the_same(
    office, at_github, check, where
):
    at_github.open_pull()
    first = check(1, ratio=1.2)
    method, path = where.split()
    at_github.fail_next(method=method, path=path, drop="late")
    office.post(first.id)
    at_github.tell("late", {})
    office.post(check(2, ratio=1.0).id)

    assert len(at_github.comments) == 1
    assert {check["conclusion"] for check in at_github.checks} == {"success"}


def test_there_are_forty_faults():
    assert len(FAULTS) == 40
