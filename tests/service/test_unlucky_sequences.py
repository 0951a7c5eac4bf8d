"""Unlucky sequences of events at GitHub and on runners: nothing is lost, false or said twice.

The steps of an upload run as the workflow runs them, by a clock that only a test moves.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger.records import Revision
from perfledger_service.errors import GitHubError, RefusedError
from perfledger_service.store.database import read_session
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.server.project import (
    add_project,
    let_actions_upload,
    list_projects,
    rename_project,
)
from perfledger_service.usecases.uploads.comment_and_check import post_report, repost_reports
from perfledger_service.usecases.uploads.machine_classes import (
    announce_classes,
    head_of_work,
    work_at,
)
from perfledger_service.usecases.uploads.pushes import receive_push
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.uploads import (
    is_waiting,
    judge_upload,
    receive_bundle,
    work_on,
)
from perfledger_service.values.upload_views import UploadStatus
from tests.service.conftest import NOW, Repository

pytestmark = pytest.mark.slow

TOKEN = "pl_0123abcd_" + "s" * 43
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43
NEWER_SHA = "c" * 40
HOUR = timedelta(hours=1)


class Office:
    """The service's steps, at a time that the test sets."""

    def __init__(self, engine, github):
        self.engine, self.github, self.now = engine, github, NOW
        self.reports, self.uploads = UploadReports(build_report), 0
        add_project(engine, "octo/models", token=TOKEN, now=NOW)

    @property
    def project(self):
        return next(one for one in list_projects(self.engine) if one.id == 1)

    def receive(self, bundle, **values):
        """Receive and judge a bundle, and return its upload."""
        self.uploads += 1
        upload = receive_bundle(
            self.engine,
            bundle.to_json().encode(),
            project=self.project,
            upload_id=f"{self.uploads:032x}",
            now=self.now,
            **values,
        )
        judge_upload(self.engine, upload.id, reports=self.reports, now=self.now)
        return self.upload(upload.id)

    def upload(self, upload_id):
        with read_session(self.engine) as session:
            return upload_by_id(session, upload_id)

    def post(self, upload):
        post_report(self.engine, upload.id, **self.posting())
        return self.upload(upload.id)

    def announce(self, head, *, deadline=6 * HOUR):
        """Announce any class, post the head, and return the work at the deadline."""
        due_at = self.now + deadline
        announce_classes(self.engine, head, ("*",), deadline=due_at, now=self.now)
        repost_reports(self.engine, head, **self.posting())
        return work_at(head, due_at)

    def posting(self):
        return {
            "pull_requests": self.github,
            "reports": self.reports,
            "public_url": "https://ledger.example",
            "now": self.now,
        }


@pytest.fixture
def office(any_engine, github, at_github):
    at_github.open_pull()
    return Office(any_engine, github)


@pytest.fixture
def rename(stand_in, office):
    """Give the repository another name, at GitHub and in the service; return it at GitHub."""

    def rename(name="octo/renamed"):
        state = stand_in.state
        state.repositories[name] = state.repositories.pop("octo/models")
        rename_project(office.engine, "octo/models", name, now=NOW)
        return Repository(stand_in, name)

    return rename


def test_a_check_that_began_before_its_repository_was_renamed_is_posted(
    office, rename, make_bundle
):
    bundle = make_bundle(ratio=1.2)
    at_github = rename()

    assert office.post(office.receive(bundle)).status is UploadStatus.POSTED
    [check] = at_github.checks
    assert check["conclusion"] == "failure"


def test_a_former_name_that_another_project_has_now_is_that_projects(office, rename, make_bundle):
    rename()
    add_project(office.engine, "octo/models", token=OTHER_TOKEN, now=NOW)

    with pytest.raises(RefusedError, match=r"the token is for octo/renamed, but .* octo/models"):
        office.receive(make_bundle())


def test_a_deadline_of_before_the_repository_was_renamed_is_kept(office, rename, make_bundle):
    head = office.receive(make_bundle(pull_request=8)).head
    due = office.announce(replace(head, pull_request=7))
    at_github = rename()
    office.now = due.due_at
    repost_reports(office.engine, head_of_work(office.engine, due), **office.posting())

    [check] = at_github.checks
    assert (check["status"], check["conclusion"]) == ("completed", "failure")


def test_work_before_and_after_a_rename_is_of_one_partition(office, rename, make_bundle):
    before = office.receive(make_bundle())
    rename()
    after = office.receive(make_bundle(seed=1))

    assert work_on(before).partition == work_on(after).partition
    assert work_on(before).partition == work_at(after.head, NOW).partition


@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_report_waits_until_its_project_has_the_repositorys_new_name(
    office, rename, at_github, make_bundle, status
):
    upload = office.receive(make_bundle())
    at_github.fail_next(status=status)
    with pytest.raises(GitHubError, match="perfledger server project rename") as refusal:
        office.post(upload)

    assert refusal.value.is_transient
    at_new_name = rename()
    assert office.post(upload).status is UploadStatus.POSTED
    assert len(at_new_name.comments) == 1


def test_a_delivery_with_a_name_that_the_project_does_not_have_yet_is_found_by_number(office):
    let_actions_upload(
        office.engine, "octo/models", repository_id=41, owner_id=1, branch="main", now=NOW
    )

    def push(name: str, repository_id: int) -> str:
        return receive_push(
            *(office.engine, name, repository_id, 7),
            before_sha="b" * 40,
            head_sha=NEWER_SHA,
            now=NOW,
        )

    assert push("new/name", 41) == ""
    assert push("octo/models", 41) == ""
    assert "is another repository" in push("octo/models", 42)
    assert "is not a project" in push("new/name", 42)
    assert "is another repository" in push("octo/models", -(2**70))


@pytest.mark.parametrize(
    ("ratios", "conclusion"), [((1.2, 1.0), "success"), ((1.0, 1.2), "failure")]
)
def test_a_clock_that_is_ahead_does_not_keep_later_results_from_being_posted(
    office, at_github, make_bundle, ratios, conclusion
):
    ahead = make_bundle(seed=1, ratio=ratios[0], created_at=(NOW + 2 * HOUR).isoformat())
    office.post(office.receive(ahead))
    office.now = NOW + HOUR
    again = make_bundle(seed=2, ratio=ratios[1], created_at=(NOW + HOUR / 2).isoformat())

    assert office.post(office.receive(again)).status is UploadStatus.POSTED
    [check] = at_github.checks
    assert check["conclusion"] == conclusion


def test_a_service_clock_that_is_behind_does_not_make_a_late_bundle_the_newest(
    office, at_github, make_bundle
):
    behind = {"clock_offset": 2 * HOUR}  # by GitHub's answers
    late = make_bundle(seed=1, ratio=1.2, created_at=(NOW + 1.5 * HOUR).isoformat())
    newer = make_bundle(seed=2, ratio=1.0, created_at=(NOW + 1.9 * HOUR).isoformat())
    office.post(office.receive(newer, **behind))
    office.now += HOUR / 60

    assert office.post(office.receive(late, **behind)).status is UploadStatus.REFUSED
    [check] = at_github.checks
    assert check["conclusion"] == "success"


@pytest.mark.parametrize("state", [{"state": "closed"}, {"head_sha": NEWER_SHA}])
def test_a_refused_bundle_that_comes_again_is_posted_once_its_pull_request_is_back(
    office, at_github, make_bundle, state
):
    bundle = make_bundle()
    at_github.open_pull(**state)
    assert office.post(office.receive(bundle)).status is UploadStatus.REFUSED
    assert office.post(office.receive(bundle)).status is UploadStatus.REFUSED
    at_github.open_pull()
    again = office.receive(bundle)

    assert is_waiting(again)
    assert office.post(again).status is UploadStatus.POSTED
    assert (len(at_github.comments), len(at_github.checks)) == (1, 1)


def test_a_pull_request_that_github_does_not_find_for_a_while_is_not_given_up(
    office, at_github, make_bundle
):
    head = office.post(office.receive(make_bundle())).head
    second = office.receive(make_bundle(seed=1, ratio=1.2))
    at_github.fail_next(method="GET", path="/pulls/7", status=404, count=2)
    with pytest.raises(GitHubError, match="does not find pull request #7") as refusal:
        office.post(second)
    with pytest.raises(GitHubError, match="does not find pull request #7"):
        repost_reports(office.engine, head, **office.posting())

    assert refusal.value.is_transient
    assert office.post(second).status is UploadStatus.POSTED
    assert at_github.checks[0]["conclusion"] == "failure"


def test_a_push_between_announcement_and_upload_leaves_nothing_on_the_new_head(
    office, at_github, make_bundle
):
    bundle = make_bundle(ratio=1.2)
    head = office.receive(replace(bundle, pull_request=8)).head
    office.announce(replace(head, pull_request=7))
    at_github.open_pull(head_sha=NEWER_SHA)
    late = office.post(office.receive(bundle))
    newer = office.receive(make_bundle(seed=1, ratio=1.0, head=Revision(sha=NEWER_SHA)))

    assert late.status is UploadStatus.REFUSED
    assert at_github.comments == []
    assert office.post(newer).status is UploadStatus.POSTED
    assert {one["head_sha"]: one.get("conclusion") for one in at_github.checks} == {
        "b" * 40: None,
        NEWER_SHA: "success",
    }


def test_a_check_that_is_run_again_after_its_deadline_ends_with_its_result(
    office, at_github, make_bundle
):
    head = office.receive(make_bundle(pull_request=8)).head
    office.announce(replace(head, pull_request=7), deadline=HOUR)
    office.now = NOW + 2 * HOUR
    office.announce(replace(head, pull_request=7), deadline=HOUR)
    [check] = at_github.checks
    assert (check["status"], check["conclusion"]) == ("in_progress", None)

    office.post(office.receive(make_bundle(seed=1, ratio=1.0)))

    assert [one["conclusion"] for one in at_github.checks] == ["success"]
