"""Tests `/api/v1/checks/progress` over real HTTP, and what check and page say of it."""

from collections import Counter
from datetime import timedelta

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads import machine_classes
from perfledger_service.usecases.uploads.comment_and_check import repost_reports
from perfledger_service.usecases.uploads.machine_classes import (
    PROGRESS_POST_INTERVAL,
    head_of_work,
    silent_work,
)
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.values.jobs.queued_work import MAX_LATER_ATTEMPTS
from perfledger_service.values.upload_views import SILENCE

TOKEN = "pl_0123abcd_" + "s" * 43
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
HEAD = {"pull_request": 7, "head_sha": "b" * 40}
STATE = {
    "machine_class": "cpu:Test CPU:1",
    "stage": "measuring pairs of base and head",
    "workload": "gpt:step",
    "waiting": 2,
    "pairs": 6,
    "max_pairs": 20,
    "seconds_left": 190.0,
}
SENTENCE = (
    "measuring pairs of base and head, 6 of at most 20 pairs, 2 workloads undecided, now gpt:step, "
    "at most 4 min more (2026-11-20 12:00 UTC)"
)


class Clock:
    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock(now):
    return Clock(now)


@pytest.fixture
def announced(engine, start_site, clock, received, make_bundle):
    """A service at a time that a test sets, to which a check is announced."""
    received(engine, make_bundle(pull_request=1))  # for the project
    with start_site(engine, now=clock) as site:
        document = HEAD | {"machine_classes": ["cpu:*:1"]}
        site.client.post("/api/v1/checks", json=document, headers=HEADERS).raise_for_status()
        site.jobs.checks.clear()
        yield site


def tell(site, **values):
    return site.client.post("/api/v1/checks/progress", json=HEAD | STATE | values, headers=HEADERS)


def summary_of(site, github, at_github, clock):
    """Post the check that was enqueued, as the workflow does; return its status and summary."""
    [work] = site.jobs.checks
    repost_reports(
        site.engine,
        head_of_work(site.engine, work),
        pull_requests=github,
        reports=UploadReports(build_report),
        public_url="https://ledger.example",
        now=clock.now,
    )
    [check] = at_github.checks
    site.jobs.checks.clear()
    return check["status"], check["output"]["summary"].replace("\u00a0", " ")


def test_a_check_says_how_far_it_is_and_then_that_nothing_more_is_heard(
    announced, at_github, github, clock
):
    at_github.open_pull()
    answer = tell(announced)

    assert (answer.status_code, answer.json()) == (202, {"heard_at": "2026-11-20T12:00:00Z"})
    status, summary = summary_of(announced, github, at_github, clock)
    assert status == "in_progress"
    assert SENTENCE in summary.replace("`", "")
    assert at_github.comments == []

    clock.now += SILENCE
    announced.jobs.checks += silent_work(announced.engine, now=clock.now)
    # It is attempted again if it fails.
    assert [one.attempt for one in announced.jobs.checks] == [1]
    status, summary = summary_of(announced, github, at_github, clock)
    assert status == "in_progress"
    assert "no word from the runner since 2026-11-20 12:00 UTC" in summary.replace("`", "")
    assert silent_work(announced.engine, now=clock.now) == ()


def test_a_check_is_posted_once_a_minute_and_not_again_if_that_fails(announced, clock):
    posted_at = []
    for _ in range(9):
        assert tell(announced).status_code == 202
        posted_at += [one.due_at for one in announced.jobs.checks]
        assert {one.attempt for one in announced.jobs.checks} <= {MAX_LATER_ATTEMPTS}
        announced.jobs.checks.clear()
        clock.now += PROGRESS_POST_INTERVAL / 4

    begin = clock.now - 9 * PROGRESS_POST_INTERVAL / 4
    assert posted_at == [begin + count * PROGRESS_POST_INTERVAL for count in range(3)]


def test_many_checks_at_once_leave_half_of_githubs_requests_to_results(announced, clock):
    heads = [f"{number:040x}" for number in range(40)]
    for sha in heads:
        document = HEAD | {"head_sha": sha, "machine_classes": ["cpu:*:1"]}
        url = "/api/v1/checks"
        announced.client.post(url, json=document, headers=HEADERS).raise_for_status()
    posts = []
    for _ in range(60):  # a message of each every half minute, half an hour long
        announced.jobs.checks.clear()
        for sha in heads:
            assert tell(announced, head_sha=sha).status_code == 202
        posts += [one.head_sha for one in announced.jobs.checks]
        clock.now += PROGRESS_POST_INTERVAL / 2

    first, later = posts[: len(heads)], Counter(posts)
    assert sorted(first) == heads
    assert set(later) == set(heads)
    assert 3 * len(posts) <= 5000 / 2 / 2
    assert min(later.values()) >= 8  # every three or four minutes


def test_the_page_of_a_pull_request_says_how_far_its_check_is(announced, clock):
    assert announced.get("/octo/models/pull/7").status_code == 404
    tell(announced)

    page = announced.get("/octo/models/pull/7").text.replace("\u00a0", " ")
    assert SENTENCE in page
    assert "Test CPU (cpu)" in page
    clock.now += SILENCE
    page = announced.get("/octo/models/pull/7").text
    assert "no word from the runner since 2026-11-20 12:00 UTC" in page
    clock.now += timedelta(hours=6)
    assert announced.get("/octo/models/pull/7").status_code == 404


def test_a_result_ends_the_progress_of_its_machine_class(announced, make_bundle):
    tell(announced)
    document = announced.upload(make_bundle()).json()
    assert SENTENCE in announced.get("/octo/models/pull/7").text.replace("\u00a0", " ")
    announced.judge(document["id"])

    assert "of at most" not in announced.get("/octo/models/pull/7").text


def test_hostile_text_stays_text(announced, at_github, github, clock):
    at_github.open_pull()
    tell(announced, stage="</p><script>", workload="[x](javascript:alert(1)) @octo <!--")

    assert "<script>alert" not in announced.get("/octo/models/pull/7").text
    assert "</p><script>" not in announced.get("/octo/models/pull/7").text
    _, summary = summary_of(announced, github, at_github, clock)
    html = cmarkgfm.github_flavored_markdown_to_html(summary, options=Options.CMARK_OPT_UNSAFE)
    assert "<script>" not in html
    assert "href" not in html
    assert html.count("<code>") == 5  # so that nobody is mentioned


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"head_sha": "c" * 40}, 404),  # nobody announced it
        ({"head_sha": "HEAD"}, 422),
        ({"stage": ""}, 422),
        ({"stage": "a\nb"}, 422),
        ({"workload": "x" * 301}, 422),
        ({"pairs": -1}, 422),
        ({"waiting": 2**31}, 422),
        ({"seconds_left": -1.0}, 422),
        ({"machine_class": "cpu:\n"}, 422),
        ({"unknown": 1}, 422),
    ],
)
def test_an_invalid_message_is_refused(announced, values, status):
    assert tell(announced, **values).status_code == status
    assert announced.jobs.checks == []


def test_a_message_needs_a_token(announced):
    answer = announced.client.post("/api/v1/checks/progress", json=HEAD | STATE)

    assert answer.status_code == 401


def test_only_so_many_machine_classes_say_how_far_they_are(announced, monkeypatch):
    monkeypatch.setattr(machine_classes, "MAX_CLASSES", 2)
    answers = [tell(announced, machine_class=f"cpu:{n}:1").status_code for n in range(3)]

    assert answers == [202, 202, 400]
