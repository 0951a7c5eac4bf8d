"""A pull request with a green check that gets another base, at an hour that a test sets."""

from datetime import timedelta

import pytest

from perfledger.records import Revision
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.projects import project_for
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads.comment_and_check import post_report, repost_reports
from perfledger_service.usecases.uploads.machine_classes import head_of_work
from perfledger_service.usecases.uploads.pushes import (
    changed_base,
    receive_base_change,
    receive_opening,
)
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.values.jobs.queued_work import QueuedCheck

OLD_BASE, HEAD_SHA, NEW_BASE = "a" * 40, "b" * 40, "e" * 40
NEXT_HEAD = "c" * 40
HOUR = timedelta(hours=1)


class Change:
    """A pull request with a green check, at an hour that a test sets."""

    def __init__(self, engine, github, at_github, *, judged, make_bundle, now):
        self.engine, self.github, self.at_github = engine, github, at_github
        self.judged, self.make_bundle, self.now = judged, make_bundle, now
        self.reports = UploadReports(build_report)
        self.uploads = 0
        self.green = None
        self.later_checks: tuple[QueuedCheck, ...] = ()

    def report(self, base_sha, *, ratio=1.0, measured_at=None, head_sha=HEAD_SHA):
        """Judge and post a check against a base; return its upload."""
        self.uploads += 1
        bundle = self.make_bundle(
            seed=self.uploads,
            ratio=ratio,
            base=Revision(sha=base_sha),
            head=Revision(sha=head_sha),
            created_at=(measured_at or self.now).isoformat(),
        )
        upload_id = f"{self.uploads:032x}"
        upload = self.judged(self.engine, bundle, upload_id=upload_id, now=self.now)
        self.later_checks = post_report(self.engine, upload.id, **self.posting())
        return self.upload(upload.id)

    def retarget(self, base_ref="release", *, before_ref="main", is_delivered=True):
        """Give the pull request another base at GitHub, and do what follows."""
        self.at_github.open_pull(base_ref=base_ref)
        if not is_delivered:
            return ()
        checks, reason = self.receive(base_ref=base_ref, before_ref=before_ref)
        assert reason == ""
        self.post(checks[0])
        return checks

    def receive(self, **values):
        fields = {"head_sha": HEAD_SHA, "before_ref": "main", "base_ref": "release"} | values
        return receive_base_change(self.engine, "octo/models", 1, 7, **fields, now=self.now)

    def receive_opening(self, repository="octo/models", **values):
        fields = {"head_sha": HEAD_SHA, "base_ref": "main"} | values
        return receive_opening(self.engine, repository, 1, 7, **fields, now=self.now)

    def post(self, check):
        return repost_reports(self.engine, head_of_work(self.engine, check), **self.posting())

    def rerun_base(self, pull_request, head):
        return changed_base(self.engine, head, pull_request, self.github, now=self.now)

    def posting(self):
        return {
            "pull_requests": self.github,
            "reports": self.reports,
            "public_url": "https://ledger.example",
            "now": self.now,
        }

    def upload(self, upload_id):
        with read_session(self.engine) as session:
            return upload_by_id(session, upload_id)

    @property
    def check(self):
        [check] = self.at_github.checks
        return check["status"], check.get("conclusion")

    @property
    def comment(self):
        [comment] = self.at_github.comments
        return comment["body"]


@pytest.fixture
def opened(any_engine, github, at_github, *, judged, make_bundle, now):
    """Open a pull request of which nothing has been measured."""
    at_github.open_pull()
    with write_session(any_engine) as session:
        project_for(session, "octo/models", now=now)
        session.commit()
    for branch, sha in (("main", OLD_BASE), ("release", NEW_BASE)):
        comparison = {"base": branch, "head": HEAD_SHA, "merge_base": sha}
        at_github.tell("comparisons", comparison)
    return Change(any_engine, github, at_github, judged=judged, make_bundle=make_bundle, now=now)


@pytest.fixture
def change(opened):
    opened.green = opened.report(OLD_BASE)
    assert opened.check == ("completed", "success")
    opened.now += HOUR
    return opened
