"""Several machine classes on one pull request: the worst decides, and none missing is green."""

from datetime import UTC, datetime, timedelta

import pytest

from perfledger.bundle import Plan
from perfledger.records import Device, Machine
from perfledger_runners.bundles.validation import MAX_CLASSES
from perfledger_service.errors import UsageError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.uploads import restart_upload, upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads.comment_and_check import post_report, repost_reports
from perfledger_service.usecases.uploads.machine_classes import (
    announce_classes,
    conclude,
    deadline_work,
    head_of_work,
    pull_request_report,
    unfinished_deadlines,
)
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.uploads import fail_upload
from perfledger_service.values.pull_request_report import ClassReport, ClassStatus
from perfledger_service.values.report import Conclusion
from perfledger_service.values.upload_views import UploadStatus
from tests.service.retention_history import remove_bundle

H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3")
A100 = Machine(device=Device.CUDA, model="NVIDIA A100-SXM4-80GB")
TPU = Machine(device=Device.TPU, model="TPU v4")
BOTH = ("cuda:*H100*:1", "cuda:*A100*:1")
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOURS_6 = timedelta(hours=6)
PUBLIC_URL = "https://ledger.example"


def planned(*machine_classes):
    return Plan(seed=1, order=("base",) * 6, looks=(4, 6), machine_classes=machine_classes)


class Site:
    """A pull request on which machines report, and what GitHub shows of it."""

    def __init__(self, engine, judged, make_bundle, github):
        self.engine, self.judged, self.make_bundle = engine, judged, make_bundle
        self.at_github, self.github = github
        self.now = NOON
        self.reports = UploadReports(build_report)
        self.uploads = 0

    def report(self, machine, ratio, **values):
        """Judge and post a check of a machine whose head takes `ratio` times as long."""
        self.uploads += 1
        bundle = self.make_bundle(ratio=ratio, machine=machine, seed=self.uploads, **values)
        upload = self.judged(self.engine, bundle, upload_id=f"{self.uploads:032x}", now=self.now)
        post_report(self.engine, upload.id, **self.posting(self.now))
        return upload

    def post_at(self, head, moment):
        repost_reports(self.engine, head, **self.posting(moment))

    def posting(self, moment):
        return {
            "pull_requests": self.github,
            "reports": self.reports,
            "public_url": PUBLIC_URL,
            "now": moment,
        }

    @property
    def check(self):
        """Status, conclusion and title of the only check run."""
        [check] = self.at_github.checks
        return check["status"], check.get("conclusion"), check["output"]["title"]

    @property
    def comment(self):
        [comment] = self.at_github.comments
        return comment["body"]


@pytest.fixture
def site(engine, judged, make_bundle, at_github, github):
    at_github.open_pull()
    return Site(engine, judged, make_bundle, (at_github, github))


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("place", range(3))
def test_a_regression_on_one_class_is_red_whatever_arrives_last(site, place):
    order = [(A100, 1.0), (TPU, 1.0)]
    order.insert(place, (H100, 1.2))
    for machine, ratio in order:
        site.report(machine, ratio)

    title = "Performance regressed on NVIDIA H100 80GB HBM3 (cuda), 1 of 3 machine classes"
    assert site.check == ("completed", "failure", title)
    assert [
        f"### {mark} `{machine.model}" in site.comment
        for machine, mark in (
            (H100, "\N{LARGE RED CIRCLE}"),
            (A100, "\N{WHITE HEAVY CHECK MARK}"),
            (TPU, "\N{WHITE HEAVY CHECK MARK}"),
        )
    ] == [True, True, True]


@pytest.mark.slow(ci_only=True)
def test_a_class_that_is_measured_again_replaces_its_own_result_only(site):
    site.report(H100, 1.2)
    site.report(A100, 1.2)
    site.report(H100, 1.0)

    title = "Performance regressed on NVIDIA A100-SXM4-80GB (cuda), 1 of 2 machine classes"
    assert site.check == ("completed", "failure", title)

    site.report(A100, 1.0)

    assert site.check == ("completed", "success", "Performance unchanged on 2 machine classes")


def test_a_class_whose_bundle_was_removed_keeps_its_result(site):
    """As on a pull request that is reopened and measured again."""
    old = site.report(H100, 1.2)
    remove_bundle(site.engine, old, removed_at=NOON)
    site.reports = UploadReports(build_report)
    site.report(A100, 1.0)

    title = "Performance regressed on NVIDIA H100 80GB HBM3 (cuda), 1 of 2 machine classes"
    assert site.check == ("completed", "failure", title)
    assert "\N{LARGE RED CIRCLE} `NVIDIA H100 80GB HBM3 (cuda)`: `gpt:step` is" in site.comment
    assert "was removed on `2026-11-20` by retention of 90 days" in site.comment


@pytest.mark.parametrize(("ratio", "conclusion"), [(1.2, "failure"), (1.0, "success")])
def test_a_check_whose_bundle_was_removed_is_posted_again_as_it_was(site, ratio, conclusion):
    upload = site.report(H100, ratio)
    earlier, mark = site.check, site.comment.split()[4]
    remove_bundle(site.engine, upload, removed_at=NOON)
    site.reports = UploadReports(build_report)
    with write_session(site.engine) as session:
        restart_upload(session, upload)
        session.commit()
    post_report(site.engine, upload.id, **site.posting(NOON))

    assert site.check == earlier
    assert site.check[1] == conclusion
    assert site.comment.split()[4] == mark
    assert "was removed on `2026-11-20` by retention of 90 days" in site.comment
    with read_session(site.engine) as session:
        assert upload_by_id(session, upload.id).status is UploadStatus.POSTED


def test_a_green_class_waits_for_the_planned_one_until_its_deadline(site):
    upload = site.report(H100, 1.0, plan=planned(*BOTH))

    title = "Pending on *A100* (cuda), 1 of 2 machine classes"
    assert site.check == ("in_progress", None, title)
    assert "pending until 2026-11-20 18:00 UTC" in site.comment.replace("`", "")

    site.post_at(upload.head, site.now + HOURS_6 - timedelta(seconds=1))

    assert site.check == ("in_progress", None, title)

    site.post_at(upload.head, site.now + HOURS_6)

    title = "Not measured on *A100* (cuda), 1 of 2 machine classes"
    assert site.check == ("completed", "failure", title)
    assert "no report arrived by its deadline" in site.comment.replace("`", "")


@pytest.mark.slow(ci_only=True)
def test_a_class_that_reports_after_its_deadline_counts(site):
    upload = site.report(H100, 1.0, plan=planned(*BOTH))
    site.post_at(upload.head, site.now + HOURS_6)
    site.report(A100, 1.0, plan=planned(*BOTH))

    assert site.check == ("completed", "success", "Performance unchanged on 2 machine classes")


def test_a_red_class_is_red_at_once_though_another_is_pending(site):
    site.report(H100, 1.2, plan=planned(*BOTH))

    title = "Performance regressed on NVIDIA H100 80GB HBM3 (cuda), 1 of 2 machine classes"
    assert site.check == ("completed", "failure", title)
    assert "pending until" in site.comment.replace("`", "")


def test_an_undecided_class_does_not_end_the_wait_for_another(site):
    site.report(H100, 1.0, pairs=1, plan=planned(*BOTH))

    assert site.check[:2] == ("in_progress", None)


def test_an_announced_check_is_in_progress_before_anything_is_measured(site, engine, received):
    head = received(engine, site.make_bundle(pull_request=8)).head
    site.at_github.open_pull(8)
    announce_classes(engine, head, BOTH, deadline=site.now + HOURS_6, now=site.now)
    site.post_at(head, site.now)

    assert site.at_github.comments == []
    assert site.check[:2] == ("in_progress", None)


def test_an_announced_check_that_nothing_reports_on_is_not_measured(site, engine, judged):
    head = judged(engine, site.make_bundle(pull_request=None)).head
    assert head is None
    upload = site.report(H100, 1.0)
    announce_classes(engine, upload.head, ("tpu:*:4",), deadline=site.now + HOURS_6, now=site.now)
    site.post_at(upload.head, site.now)

    assert site.check[:2] == ("in_progress", None)

    site.post_at(upload.head, site.now + HOURS_6)

    assert site.check == (
        "completed",
        "failure",
        "Not measured on 4 x * (tpu), 1 of 2 machine classes",
    )


def test_a_check_that_is_run_again_after_its_deadline_is_in_progress_again(site, engine, received):
    head = received(engine, site.make_bundle(pull_request=8)).head
    site.at_github.open_pull(8)
    for start, deadline in ((0, 6), (5, 6), (7, 13)):  # hours; the second run comes before the end
        now = site.now + start * HOURS_6 / 6
        due_at = now + HOURS_6
        expected = announce_classes(engine, head, BOTH, deadline=due_at, now=now)
        assert {one.deadline for one in expected} == {site.now + deadline * HOURS_6 / 6}
    site.post_at(head, site.now + 7 * HOURS_6 / 6)

    assert site.check[:2] == ("in_progress", None)


def test_a_class_whose_upload_waits_to_be_judged_is_pending(site, engine, received):
    received(engine, site.make_bundle(machine=A100, seed=9), upload_id="9" * 32)
    site.report(H100, 1.0)

    assert site.check == (
        "in_progress",
        None,
        "Pending on NVIDIA A100-SXM4-80GB (cuda), 1 of 2 machine classes",
    )


def test_a_class_whose_upload_could_not_be_judged_is_not_measured(site, engine, received):
    received(engine, site.make_bundle(machine=A100, seed=9), upload_id="9" * 32)
    site.report(H100, 1.0)
    head = fail_upload(engine, "9" * 32, "the database is full")
    site.post_at(head, site.now)

    assert site.check[:2] == ("completed", "failure")
    assert "the database is full" in site.comment.replace("`", "")


def test_an_upload_that_failed_after_it_was_judged_has_nothing_more_to_post(site, engine):
    upload = site.report(H100, 1.0)

    assert fail_upload(engine, upload.id, "GitHub is down") is None


@pytest.mark.parametrize("state", [{"head_sha": "c" * 40}, {"state": "closed"}])
def test_a_deadline_posts_nothing_on_another_commit_or_a_closed_pull_request(site, state):
    upload = site.report(H100, 1.0, plan=planned(*BOTH))
    site.at_github.open_pull(**state)
    site.post_at(upload.head, site.now + HOURS_6)

    assert site.check[:2] == ("in_progress", None)


def test_a_deadline_is_work_from_the_first_upload_on(site, engine):
    upload = site.report(H100, 1.0, plan=planned(*BOTH))

    [work] = deadline_work(engine, upload.id)

    assert work.due_at == site.now + HOURS_6
    assert work.partition == "1#7"
    assert head_of_work(engine, work) == upload.head
    assert unfinished_deadlines(engine, now=site.now) == (work,)
    assert unfinished_deadlines(engine, now=site.now + timedelta(days=8)) == ()


def test_an_upload_without_a_pull_request_has_no_deadline(site, engine, judged):
    upload = judged(engine, site.make_bundle(pull_request=None, plan=planned(*BOTH)))

    assert deadline_work(engine, upload.id) == ()


def test_more_classes_than_the_limit_are_refused(site, engine):
    upload = site.report(H100, 1.0)
    classes = [f"cuda:{number}:1" for number in range(MAX_CLASSES)]
    announce_classes(engine, upload.head, classes, deadline=site.now, now=site.now)

    with pytest.raises(UsageError, match="more than 32 machine classes"):
        announce_classes(engine, upload.head, ["one more"], deadline=site.now, now=site.now)


def test_without_any_class_the_check_stays_in_progress(site, engine):
    upload = site.report(H100, 1.0)
    with read_session(engine) as session:
        result = pull_request_report(session, upload.head, reports=site.reports, now=site.now)

    assert result.only_report is not None
    assert conclude(()).conclusion is None


@pytest.mark.parametrize("status", [ClassStatus.PENDING, ClassStatus.NOT_MEASURED])
def test_no_missing_class_is_ever_green(status):
    missing = ClassReport(machine_class="cuda:x:1", status=status)

    assert conclude((missing,)).conclusion not in (Conclusion.SUCCESS, Conclusion.NEUTRAL)
