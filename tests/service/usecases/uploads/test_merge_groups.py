"""Merge groups get a check run on their head, by the same rules, and no comment."""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger.records import Device, Machine, Revision
from perfledger_service.errors import GitHubError, RefusedError
from perfledger_service.github.actions_tokens import ActionsRun
from perfledger_service.store.comments.acceptances import add_acceptance
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.heads.merge_groups import MergeGroup, merge_group
from perfledger_service.store.uploads import MERGE_GROUP, CheckedHead
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.server.project import add_project
from perfledger_service.usecases.uploads.comment_and_check import post_report, repost_reports
from perfledger_service.usecases.uploads.machine_classes import (
    announce_classes,
    head_of_work,
)
from perfledger_service.usecases.uploads.merge_groups import (
    check_announced_group,
    group_of,
    later_checks,
    receive_group,
)
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.values.acceptance import Acceptance
from tests.cases import case

BASE_SHA, GROUP_SHA, OTHER_SHA = "a" * 40, "d" * 40, "e" * 40
QUEUE = "gh-readonly-queue/main"
BRANCH = f"{QUEUE}/pr-7-{BASE_SHA}"
REF = f"refs/heads/{BRANCH}"
GROUP = MergeGroup(head_sha=GROUP_SHA, base_sha=BASE_SHA, pull_request=7)
H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3")
HEAD = CheckedHead(
    project_id=1, repository="octo/models", pull_request=MERGE_GROUP, head_sha=GROUP_SHA
)
TOKEN = "pl_0123abcd_" + "s" * 43
HOUR = timedelta(hours=1)


class Site:
    """A merge group on which machines report, and what GitHub shows of it."""

    def __init__(self, engine, judged, make_bundle, github, *, now):
        self.engine, self.judged, self.make_bundle = engine, judged, make_bundle
        self.at_github, self.github = github
        self.now = now
        self.reports = UploadReports(build_report)
        self.uploads = 0
        add_project(engine, "octo/models", token=TOKEN, now=now)

    def announce(self, group=GROUP, at=None):
        """Receive GitHub's delivery about a group, and post its check."""
        at = at or self.now
        head, reason = receive_group(self.engine, "octo/models", 1, group, now=at)
        if head is not None:
            self.post(head, at)
        return reason

    def report(self, *, ratio=1.0, at=None, **values):
        """Judge a check of the group, and post what is due then."""
        self.uploads += 1
        values = {"pull_request": None, "head": Revision(sha=GROUP_SHA)} | values
        bundle = self.make_bundle(ratio=ratio, seed=self.uploads, **values)
        upload = self.judged(
            self.engine, bundle, upload_id=f"{self.uploads:032x}", now=at or self.now
        )
        post_report(self.engine, upload.id, **self.posting(upload.created_at))
        for check in later_checks(self.engine, upload.id, now=upload.created_at):
            if check.due_at == upload.created_at:
                self.post(head_of_work(self.engine, check), check.due_at)
        return upload

    def post(self, head, at):
        repost_reports(self.engine, head, **self.posting(at))

    def posting(self, at):
        return {
            "pull_requests": self.github,
            "reports": self.reports,
            "public_url": "https://ledger.example",
            "now": at,
        }

    @property
    def check(self):
        """Status, conclusion and title of the only check run."""
        [check] = self.at_github.checks
        assert check["head_sha"] == GROUP_SHA
        return check["status"], check.get("conclusion"), check["output"]["title"]


@pytest.fixture
def sides(at_github, github):
    return at_github, github


@pytest.fixture
def site(engine, judged, make_bundle, sides, now):
    return Site(engine, judged, make_bundle, sides, now=now)


def test_a_group_that_github_asks_for_is_in_progress_and_then_has_its_verdict(site):
    assert site.announce() == ""
    assert site.check == ("in_progress", None, "Pending on any machine class")

    upload = site.report(ratio=1.2)

    assert site.check == ("completed", "failure", upload.title)
    [check] = site.at_github.checks
    assert check["details_url"] == f"https://ledger.example/runs/{upload.id}"
    assert "regressed" in check["output"]["summary"]
    assert site.at_github.comments == []


def test_an_unchanged_group_may_be_merged(site):
    site.announce()
    site.report()

    assert site.check == ("completed", "success", "Performance unchanged")


def test_a_group_that_nobody_measures_fails_at_its_deadline(site):
    site.announce()
    site.post(HEAD, site.now + 6 * HOUR)

    assert site.check == ("completed", "failure", "Not measured on any machine class")


def test_a_class_that_a_runner_announced_keeps_a_green_group_in_progress(site):
    site.announce()
    announce_classes(site.engine, HEAD, ("cuda:*A100*:1",), deadline=site.now + HOUR, now=site.now)
    site.report(machine=H100)

    assert site.check == ("in_progress", None, "Pending on *A100* (cuda), 1 of 2 machine classes")


@pytest.mark.parametrize(
    ("ending", "conclusion"),
    [("merged", "neutral"), ("dequeued", "cancelled"), ("invalidated", "cancelled")],
)
def test_a_group_that_ends_first_is_neither_red_nor_green(site, ending, conclusion):
    site.announce()
    site.announce(replace(GROUP, ending=ending))
    title = f"The merge group was {ending} before it was measured"

    assert site.check == ("completed", conclusion, title)

    site.post(HEAD, site.now + 6 * HOUR)

    assert site.check == ("completed", conclusion, title)


def test_a_verdict_after_the_end_counts(site):
    site.announce()
    site.announce(replace(GROUP, ending="merged"))
    upload = site.report(ratio=1.2)

    assert site.check == ("completed", "failure", upload.title)


def test_a_late_delivery_does_not_begin_an_ended_group_again(site):
    assert site.announce(replace(GROUP, ending="merged")) != ""
    assert site.announce() == "the merge group was merged"
    assert site.at_github.checks == []


def test_an_upload_before_the_webhook_is_posted_with_it(site):
    site.report(ratio=1.2)
    assert site.at_github.checks == []

    site.announce()

    assert site.check[:2] == ("completed", "failure")


def test_a_group_without_a_webhook_is_found_by_its_branch(site):
    site.at_github.tell("branches", {"name": "topic", "sha": GROUP_SHA})
    site.at_github.tell("branches", {"name": BRANCH, "sha": GROUP_SHA})
    site.report()

    assert site.check == ("completed", "success", "Performance unchanged")
    with read_session(site.engine) as session:
        assert merge_group(session, 1, GROUP_SHA) == GROUP


def test_a_commit_of_another_branch_gets_no_check(site):
    site.at_github.tell("branches", {"name": "topic", "sha": GROUP_SHA})
    site.report(ratio=1.2)

    assert site.at_github.checks == []


def test_nothing_is_asked_about_what_is_no_group(site):
    site.report(base=Revision(sha=GROUP_SHA))  # a check of the gate
    site.at_github.open_pull(8, head_sha=OTHER_SHA)
    site.report(pull_request=8, head=Revision(sha=OTHER_SHA))

    assert not any("branches-where-head" in one for one in site.at_github.requests)


def test_a_branch_that_cannot_be_asked_for_is_an_error_that_passes(site):
    site.at_github.fail_next(path="/branches-where-head", status=503, count=4)
    with pytest.raises(GitHubError) as error:
        site.report()

    assert error.value.is_transient


def test_another_base_than_the_groups_does_not_make_it_green(site):
    site.announce()
    site.report(base=Revision(sha=OTHER_SHA))
    site.report(base=Revision(sha=GROUP_SHA))

    assert site.check[0] == "in_progress"


def test_several_pull_requests_in_one_group_have_one_check(site):
    site.announce()
    site.announce(replace(GROUP, pull_request=9))
    site.report(ratio=1.2)

    assert site.check[:2] == ("completed", "failure")
    assert site.at_github.comments == []


def accept(site, *, pull_request=7, head_sha="b" * 40, until=None, after=HOUR):
    acceptance = Acceptance(
        pull_request=pull_request,
        head_sha=head_sha,
        login="alice",
        workload="gpt:step",
        reason="intended",
        accepted_at=site.now + after,
        until=until,
    )
    with write_session(site.engine) as session:
        assert add_acceptance(session, 1, acceptance, comment_id=pull_request)
        session.commit()


def measured_pull_request(site, *, ratio=1.2):
    site.at_github.open_pull()
    site.report(ratio=ratio, pull_request=7, head=Revision(sha="b" * 40))
    site.at_github.state["check_runs"].clear()
    site.at_github.state["comments"].clear()


def test_what_was_accepted_of_the_queued_commit_is_accepted_of_its_group(site):
    measured_pull_request(site)
    accept(site)
    site.announce(at=site.now + 2 * HOUR)
    site.report(ratio=1.2, at=site.now + 2 * HOUR)

    assert site.check == ("completed", "neutral", "Performance regressed, accepted")


@pytest.mark.parametrize(
    "values", [{"pull_request": 8}, {"head_sha": OTHER_SHA}], ids=["another one's", "before a push"]
)
def test_what_was_accepted_of_something_else_fails_the_group(site, values):
    measured_pull_request(site)
    accept(site, **values)
    site.announce(at=site.now + 2 * HOUR)
    site.report(ratio=1.2, at=site.now + 2 * HOUR)

    assert site.check[:2] == ("completed", "failure")


def test_a_group_that_is_slower_than_what_was_accepted_fails(site):
    measured_pull_request(site)
    accept(site)
    site.announce(at=site.now + 2 * HOUR)
    site.report(ratio=1.6, at=site.now + 2 * HOUR)

    assert site.check[:2] == ("completed", "failure")


def a_run(**values):
    run = ActionsRun(
        repository="octo/models",
        repository_id=1,
        repository_owner_id=2,
        event_name="merge_group",
        ref=REF,
        sha=GROUP_SHA,
        jti="1",
        exp=0.0,
    )
    return replace(run, **values)


def test_a_run_of_a_merge_group_is_believed_without_asking(site):
    check_announced_group(site.engine, 1, a_run(), GROUP_SHA, now=site.now)
    site.report()

    assert site.check == ("completed", "success", "Performance unchanged")
    assert not any("branches-where-head" in one for one in site.at_github.requests)


def test_a_run_of_anything_else_announces_no_merge_group(site):
    others = (
        {"event_name": "push"},
        {"event_name": "workflow_dispatch"},
        {"ref": "refs/heads/topic"},
        {"sha": OTHER_SHA},
    )
    for values in others:
        with case(values=values), pytest.raises(RefusedError, match="not of a merge group"):
            check_announced_group(site.engine, 1, a_run(**values), GROUP_SHA, now=site.now)
    with read_session(site.engine) as session:
        assert merge_group(session, 1, GROUP_SHA) is None


@pytest.mark.parametrize(
    "ref",
    [
        "refs/heads/main",
        f"refs/heads/{QUEUE}/pr-7",
        f"refs/heads/{QUEUE}/pr-0-{BASE_SHA}",
        f"refs/heads/{QUEUE}/pr-{2**31}-{BASE_SHA}",
        f"refs/heads/{QUEUE}/pr-7-{BASE_SHA}\n",
        f"refs/tags/{QUEUE}/pr-7-{BASE_SHA}",
        BRANCH,
    ],
)
def test_a_branch_of_another_name_is_no_group(ref):
    assert group_of(ref, GROUP_SHA) is None


def test_the_branch_tells_base_and_pull_request():
    assert group_of(REF, GROUP_SHA) == GROUP
    assert group_of(REF, "main") is None
    deep = group_of(f"refs/heads/gh-readonly-queue/release/2.x/pr-7-{BASE_SHA}", GROUP_SHA)
    assert deep == GROUP
