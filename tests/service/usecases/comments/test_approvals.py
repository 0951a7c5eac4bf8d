"""Who may approve what a change costs, by a comment that GitHub signs; all over real HTTP."""

import hashlib
import hmac
import json
from datetime import timedelta
from decimal import Decimal

import pytest
from pydantic import SecretStr

from perfledger.bundle import CostPolicy, FleetUse, PricingConfig
from perfledger.records import Device, Machine, Revision
from perfledger_cost_models.change_price.cost_policy import Approval
from perfledger_service.store.comments.approvals import MAX_APPROVALS, add_approval
from perfledger_service.store.comments.commands import command_by_id
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.comments.commands import carry_out
from perfledger_service.usecases.comments.grammar import (
    ApprovalCommand,
    command_line,
    parse_command,
)
from perfledger_service.usecases.uploads.comment_and_check import post_report
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.uploads import judge_upload
from perfledger_service.values.upload_views import UploadStatus
from perfledger_service.web.app import create_app
from perfledger_service.web.app_state import AppState
from tests.service.retention_history import remove_bundle

SECRET = "canaryCanaryCanaryWebhookSecret"
PUBLIC_URL = "https://ledger.example"
YES = "/perfledger approve bbbbbbb 99,999,999: worth it"
H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=85_520_809_984)
FLEET = (
    FleetUse(workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0, source="x"),
)


def pricing(**values):
    """An unchanged step whose interval reaches over a limit of a cent a year: its policy asks."""
    policy = CostPolicy(team="nlp", ask_above_usd_per_year=0.01, approvers=("Alice",), **values)
    return PricingConfig(fleet=FLEET, policies=(policy,))


class Desk:
    """The service on a port, the stand-in beside it, and what people comment there."""

    def __init__(self, url, engine, github, *, at_github, jobs, clock):
        self.url, self.engine, self.github, self.clock = url, engine, github, clock
        self.at_github, self.jobs, self.reports = at_github, jobs, UploadReports(build_report)

    def deliver(self, document, *, client):
        body = json.dumps(document).encode()
        signed = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        headers = {"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": f"sha256={signed}"}
        return client.post(f"{self.url}/webhooks/github", content=body, headers=headers)

    def work(self):
        """Do what was enqueued, as the workflow would; return what was answered."""
        ids = [command.command_id for command in self.jobs.commands]
        for command_id in ids:
            self.jobs.works += carry_out(
                self.engine,
                command_id,
                pull_requests=self.github,
                reports=self.reports,
                public_url=PUBLIC_URL,
                now=self.clock,
            )
        for work in self.jobs.works:
            judge_upload(self.engine, work.upload_id, reports=self.reports, now=self.clock())
            self.say(work.upload_id)
        self.jobs.works.clear()
        self.jobs.commands.clear()
        with read_session(self.engine) as session:
            return [command_by_id(session, one).answer for one in ids]

    def say(self, upload_id):
        post_report(
            self.engine,
            upload_id,
            pull_requests=self.github,
            reports=self.reports,
            public_url=PUBLIC_URL,
            now=self.clock(),
        )

    def upload(self, upload_id="1" * 32):
        with read_session(self.engine) as session:
            return upload_by_id(session, upload_id)

    @property
    def check(self):
        return self.at_github.checks[-1]

    @property
    def comment(self):
        return next(one["body"] for one in self.at_github.comments if one["user"]["type"] == "Bot")


class Clock:
    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def desk(github, at_github, site, serve_app, now):
    """The service with webhooks, over real HTTP, beside the site that has none."""
    clock = Clock(now)
    state = AppState(
        engine=site.engine,
        workflow=site.jobs,
        reports=UploadReports(build_report),
        public_url=PUBLIC_URL,
        webhook_secret=SecretStr(SECRET),
        now=clock,
    )
    with serve_app(create_app(state)) as url:
        yield Desk(url, site.engine, github, at_github=at_github, jobs=site.jobs, clock=clock)


@pytest.fixture
def says(desk, site):
    """Have somebody comment at the stand-in, and GitHub tell the service of it."""

    def says(login, body, *, author="bob"):
        comment = desk.at_github.add_comment(login, body)
        document = {
            "action": "created",
            "repository": {
                "id": 1296269,
                "full_name": "OCTO/Models",
            },  # which GitHub does not tell apart
            "issue": {"number": 7, "user": {"login": author}, "pull_request": {"url": "x"}},
            "comment": {"id": comment["id"], "body": body, "user": {"login": login}},
            "sender": {"login": login, "type": "User"},
        }
        done = desk.deliver(document, client=site.client)
        assert done.status_code == 202, done.text
        answers = desk.work()
        return {"is_accepted": False, "reason": answers[0]} if any(answers) else done.json()

    return says


@pytest.fixture
def pull_request_for_approval(desk, judged, make_bundle):
    """A pull request whose cost asks for approval, judged and said."""

    def pull_request_for_approval(upload_id="1" * 32, seed=0, **values):
        desk.at_github.open_pull()
        bundle = make_bundle(machine=H100, ratio=1.0, seed=seed, pricing=pricing(**values))
        upload = judged(desk.engine, bundle, upload_id=upload_id)
        desk.say(upload.id)
        return upload

    return pull_request_for_approval


@pytest.mark.slow(ci_only=True)
def test_who_is_named_approves_and_check_comment_and_page_say_so(
    pull_request_for_approval, says, desk, site
):
    upload = pull_request_for_approval()
    assert desk.check["conclusion"] == "action_required"
    assert "`/perfledger approve bbbbbbbbbbbb " in desk.comment
    heard = says("alice", YES)

    assert heard == {"is_accepted": True, "reason": ""}
    assert desk.check["conclusion"] == "success"
    assert desk.check["output"]["title"].endswith(", its cost is approved")
    page = site.get(f"/runs/{upload.id}").text
    for text in (desk.comment, desk.check["output"]["summary"], page):
        assert "has its approval" in text
        assert "alice" in text
        assert "orth it" in text  # a sentence of its own on the page
        assert "2027-02-18" in text
    stored = desk.upload()
    assert (stored.status, stored.conclusion) == (UploadStatus.POSTED, "success")
    assert "its cost is approved" in site.get("/octo/models/pull/7").text


@pytest.mark.slow(ci_only=True)
def test_the_command_that_the_comment_prints_is_enough(pull_request_for_approval, says, desk):
    pull_request_for_approval()
    printed = desk.comment.split("can comment `")[1].split("`")[0]
    says("alice", printed.replace("\N{HORIZONTAL ELLIPSIS}", "a new model"))

    assert printed.endswith(": \N{HORIZONTAL ELLIPSIS}")
    assert desk.check["conclusion"] == "success"


def test_a_cost_whose_bundle_was_removed_is_not_approved_unseen(
    pull_request_for_approval, says, desk, now
):
    remove_bundle(desk.engine, pull_request_for_approval(), removed_at=now)
    desk.reports = UploadReports(build_report)
    heard = says("alice", YES)

    assert "was removed on `2026-11-20` by retention of 90 days" in heard["reason"]
    assert "with `/perfledger` rerun" in heard["reason"]


NO_APPROVALS = (
    ("mallory", YES),
    ("alice[bot]", YES),
    ("alice", YES.replace("bbbbbbb", "ccccccc")),
    ("alice", YES.replace(": worth it", ":")),
    ("alice", YES.replace(": worth it", "")),
    ("alice", f"> {YES}"),
    ("alice", f"as I said:\n{YES}"),
    ("alice", YES.replace(":", " until 2026-11-19:")),
    ("alice", YES.replace(":", " until 2028-11-19:")),
    ("alice", YES.replace(":", " until 2026-02-31:")),
    ("alice", YES.replace("99,999,999", "1e9")),
    ("alice", YES.replace("99,999,999", "-1")),
    ("alice", YES.replace("99,999,999", "nan")),
    ("alice", YES.replace("99,999,999", "9" * 400)),
    ("alice", YES.replace("99,999,999", "\u0661\u0662")),
    ("alice", "x" * 65_000),
    ("alice", "\x00\u202e"),
    ("alice", "/perfledger approve"),
)


@pytest.mark.slow(ci_only=True)
def test_what_is_no_approval_changes_nothing(pull_request_for_approval, says, desk):
    pull_request_for_approval()
    before = desk.comment

    for login, body in NO_APPROVALS:
        heard = says(login, body)
        assert (heard["is_accepted"], heard["reason"] == "") == (False, False), (login, body)
        assert (desk.check["conclusion"], desk.comment) == ("action_required", before), (
            login,
            body,
        )


@pytest.mark.slow(ci_only=True)
def test_the_author_cannot_approve_unless_the_policy_says_so(pull_request_for_approval, says, desk):
    pull_request_for_approval()
    says("alice", YES, author="ALICE")

    assert desk.check["conclusion"] == "action_required"
    objection = "**The approval does not count**: this policy does not let authors approve"
    assert objection in desk.comment


@pytest.mark.slow(ci_only=True)
def test_the_author_approves_where_the_policy_says_so(pull_request_for_approval, says, desk):
    pull_request_for_approval(may_author_approve=True)
    says("alice", YES, author="alice")

    assert desk.check["conclusion"] == "success"


@pytest.mark.slow(ci_only=True)
def test_an_approval_of_less_than_the_change_may_cost_does_not_count(
    pull_request_for_approval, says, desk
):
    pull_request_for_approval()
    says("alice", "/perfledger approve bbbbbbb 0.01: cheap")

    assert desk.check["conclusion"] == "action_required"
    assert "**The approval does not count**: the change may cost up to" in desk.comment


@pytest.mark.slow(ci_only=True)
def test_an_approval_ends_on_its_last_day(pull_request_for_approval, says, desk, site):
    upload = pull_request_for_approval()
    says("alice", YES.replace(":", " until 2026-11-21:"))
    desk.clock.now += timedelta(days=1)
    still = site.get(f"/runs/{upload.id}").text
    desk.clock.now += timedelta(days=1)

    assert "has its approval" in still
    assert "t expired on 2026-11-21" in site.client.get(f"{desk.url}/runs/{upload.id}").text


@pytest.mark.slow(ci_only=True)
def test_another_commit_is_not_approved(pull_request_for_approval, says, desk, judged, make_bundle):
    pull_request_for_approval()
    says("alice", YES)
    desk.at_github.open_pull(head_sha="c" * 40)
    newer = make_bundle(
        machine=H100, ratio=1.0, seed=2, pricing=pricing(), head=Revision(sha="c" * 40)
    )
    desk.say(judged(desk.engine, newer, upload_id="2" * 32).id)

    assert (desk.check["head_sha"][0], desk.check["conclusion"]) == ("c", "action_required")


@pytest.mark.slow(ci_only=True)
def test_a_second_result_of_the_approved_commit_stays_approved(
    pull_request_for_approval, says, desk
):
    pull_request_for_approval()
    says("alice", YES)
    pull_request_for_approval(upload_id="2" * 32, seed=5)

    assert desk.check["conclusion"] == "success"
    assert desk.upload("2" * 32).conclusion == "success"


@pytest.mark.slow(ci_only=True)
def test_the_newest_judged_result_is_approved_while_another_is_on_its_way(
    pull_request_for_approval, says, desk, received, make_bundle
):
    pull_request_for_approval()
    received(
        desk.engine,
        make_bundle(machine=H100, ratio=1.0, seed=5, pricing=pricing()),
        upload_id="2" * 32,
    )
    says("alice", YES)

    assert desk.check["conclusion"] == "success"


def test_a_regression_stays_one_whoever_approves_its_cost(desk, says, judged, make_bundle):
    desk.at_github.open_pull()
    desk.say(judged(desk.engine, make_bundle(machine=H100, ratio=1.2, pricing=pricing())).id)
    says("alice", YES)

    assert desk.check["conclusion"] == "failure"
    assert "has its approval" in desk.comment


@pytest.mark.slow(ci_only=True)
def test_only_so_many_approvals_of_a_commit_are_kept(pull_request_for_approval, says, desk, now):
    upload = pull_request_for_approval()
    others = Approval(
        login="carol",
        is_author=False,
        usd_per_year=Decimal(1),
        covers_unpriced=False,
        reason="one of many",
        approved_at=now,
        until=now.date(),
    )
    with write_session(desk.engine) as session:
        for number in range(MAX_APPROVALS - 1):
            add_approval(session, upload, others, comment_id=2**40 + number)
        session.commit()
    heard = [says("alice", YES)["is_accepted"] for _ in range(2)]

    assert heard == [True, False]


def test_a_hostile_reason_is_shown_as_text(pull_request_for_approval, says, desk, site):
    upload = pull_request_for_approval()
    says("alice", f"{YES} `</code><script>alert(1)</script> @octo [x](http://e.vil) \u202e")

    page = site.get(f"/runs/{upload.id}").text
    assert "<script>alert" not in page
    assert "\u202e" not in page + desk.comment
    assert "``worth it `</code><script>alert(1)</script> @octo [x](http://e.vil)" in desk.comment


@pytest.mark.parametrize("change", [{"state": "closed"}, {"head_sha": "c" * 40}])
def test_an_approval_after_the_end_leaves_what_was_said_as_it_was(
    pull_request_for_approval, says, desk, change
):
    pull_request_for_approval()
    desk.at_github.open_pull(**change)
    says("alice", YES)

    stored = desk.upload()
    assert (stored.status, stored.conclusion) == (UploadStatus.POSTED, "action_required")
    assert desk.check["conclusion"] == "action_required"


def test_amounts_and_days_are_read_as_they_are_written():
    comment = "  /perfledger approve abcdef0 12,400.50 unpriced until 2026-12-31 : why \r\nmore"
    comment_command = parse_command(command_line(comment))

    assert isinstance(comment_command, ApprovalCommand)
    assert (str(comment_command.usd_per_year), comment_command.covers_unpriced) == (
        "12400.50",
        True,
    )
    assert (str(comment_command.until), comment_command.reason) == ("2026-12-31", "why")
