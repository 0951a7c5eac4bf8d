"""A discussion under a pull request, with the service that hears of it."""

import pytest

from perfledger_service.store.comments.commands import command_by_id
from perfledger_service.store.database import read_session
from perfledger_service.store.projects import project_named
from perfledger_service.store.uploads import newest_judged
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.comments.commands import (
    NewComment,
    carry_out,
    receive_comment,
    unfinished_command_work,
)
from perfledger_service.usecases.comments.job_commands import follow_commands
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.usecases.jobs.runner_queue import jobs_of_project, take_job
from perfledger_service.usecases.uploads.comment_and_check import post_report
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.uploads import judge_upload, receive_bundle

CPU = "cpu:Test CPU:1"
PUBLIC_URL = "https://ledger.example"


class Discussion:
    """A pull request's comments at the stand-in, and the service that hears of them."""

    def __init__(self, engine, github, at_github, *, now):
        self.engine, self.github, self.at_github, self.now = engine, github, at_github, now
        self.reports = UploadReports(build_report, takes_commands=True)

    def post(self, upload_id):
        post_report(
            self.engine,
            upload_id,
            pull_requests=self.github,
            reports=self.reports,
            public_url=PUBLIC_URL,
            now=self.now,
        )

    def head(self):
        """The pull request's newest judged head."""
        with read_session(self.engine) as session:
            project = project_named(session, "octo/models")
            return newest_judged(session, project.id, 7).head

    def command_work(self):
        return unfinished_command_work(self.engine, now=self.now)

    def stored(self, session, receipt):
        return command_by_id(session, receipt.work.command_id)

    def receive(self, login, body, number=7):
        comment = self.at_github.add_comment(login, body, number=number)
        return self.receive_again(comment["id"], login, body, number=number)

    def receive_again(self, comment_id, login, body, number=7):
        return receive_comment(
            self.engine,
            NewComment(
                repository="octo/models",
                repository_id=1296269,
                pull_request=number,
                comment_id=comment_id,
                login=login,
                author="bob",
                body=body,
            ),
            now=self.now,
        )

    def carry_out(self, receipt):
        works = carry_out(
            self.engine,
            receipt.work.command_id,
            pull_requests=self.github,
            reports=self.reports,
            public_url=PUBLIC_URL,
            now=lambda: self.now,
        )
        for work in works:
            self.post(work.upload_id)
        return works

    def say(self, login, body, **values):
        """Have somebody comment, and do what follows; return the command as it is stored then."""
        receipt = self.receive(login, body, **values)
        self.carry_out(receipt)
        with read_session(self.engine) as session:
            return self.stored(session, receipt)

    def follow(self):
        """Do what the service's sweep does for commands."""
        follow_commands(self.engine, public_url=PUBLIC_URL, now=self.now)
        works = self.command_work()
        for work in works:
            carry_out(
                self.engine,
                work.command_id,
                pull_requests=self.github,
                reports=self.reports,
                public_url=PUBLIC_URL,
                now=lambda: self.now,
            )
        return works

    @property
    def check(self):
        return self.at_github.checks[-1]

    @property
    def answers(self):
        """What was answered to commands."""
        bodies = [one["body"] for one in self.at_github.comments]
        return [body for body in bodies if body.startswith("<!-- perfledger:answer:")]

    @property
    def answer(self):
        """The only answer to a command, after the service's next sweep."""
        self.follow()
        [answer] = self.answers
        return answer

    @property
    def comment(self):
        return next(
            one["body"] for one in self.at_github.comments if "perfledger:comment" in one["body"]
        )


@pytest.fixture
def discussion(engine, github, at_github, now):
    at_github.open_pull()
    for login, permission in (("alice", "write"), ("mallory", "read")):
        at_github.tell("permissions", {"login": login, "permission": permission})
    return Discussion(engine, github, at_github, now=now)


@pytest.fixture
def regressed(discussion, judged, make_bundle):
    """Judge and post a regression of each of the workloads."""

    def regressed(*workloads, upload_id="1" * 32, **values):
        bundle = make_bundle(**{"ratio": 1.2, "workloads": workloads or ("gpt:step",), **values})
        upload = judged(discussion.engine, bundle, upload_id=upload_id, now=discussion.now)
        discussion.post(upload.id)
        return upload

    return regressed


@pytest.fixture
def project(regressed, discussion):
    """The project, whose pull request regressed on a machine that has a runner."""
    regressed()
    with read_session(discussion.engine) as session:
        return project_named(session, "octo/models")


@pytest.fixture
def take(project, discussion):
    """Ask for a job as a runner does."""

    def take(lease="1" * 32, machine_class=CPU):
        request = JobRequest(
            runner="box", machine_classes=(machine_class,), lease=lease, lease_s=120.0
        )
        return take_job(discussion.engine, project, request, now=discussion.now)

    return take


@pytest.fixture
def jobs(project, discussion):
    return lambda: jobs_of_project(discussion.engine, project)


@pytest.fixture
def answer_job(project, discussion):
    """Bring a job's bundle, and judge it."""

    def answer(job, bundle, upload_id="9" * 32):
        upload = receive_bundle(
            discussion.engine,
            bundle.to_json().encode(),
            project=project,
            upload_id=upload_id,
            now=discussion.now,
            job_id=job.id,
        )
        judge_upload(discussion.engine, upload.id, reports=discussion.reports, now=discussion.now)
        return upload

    return answer


@pytest.fixture
def runner(take):
    """A runner that asked for a job when there was none."""
    take()
