"""Commands under a pull request: who may, what they change, and that each is answered once."""

from datetime import timedelta

import pytest

from perfledger.bundle import CostPolicy, FleetUse, PricingConfig
from perfledger.records import Device, Failure, FailureReason, Machine, Revision, Side
from perfledger_service.errors import GitHubError
from perfledger_service.store.comments.acceptances import acceptances_of
from perfledger_service.store.comments.commands import CommandStatus, command_by_id
from perfledger_service.store.database import read_session
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.comments.commands import (
    carry_out,
    delivery_command_id,
    fail_command,
    unfinished_command_work,
)
from perfledger_service.usecases.uploads.machine_classes import announce_classes
from perfledger_service.usecases.uploads.merges import receive_closing
from perfledger_service.usecases.uploads.pushes import receive_push
from perfledger_service.usecases.uploads.reports import UploadReports
from tests.service.retention_history import remove_bundle

ACCEPT = "/perfledger accept gpt:step --reason the larger batch is worth it"
IGNORE = "/perfledger ignore --reason the cooling failed"
NEWER_SHA = "c" * 40
OTHER = Machine(device=Device.CPU, model="Other CPU")
H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=80 * 2**30)
FLEET = FleetUse(workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=1e3, source="x")
POLICY = CostPolicy(team="nlp", ask_above_usd_per_year=1.0, approvers=("carol",))


def test_an_accepted_regression_is_neutral_and_named_wherever_it_is_shown(regressed, discussion):
    regressed()
    assert discussion.check["conclusion"] == "failure"
    assert "`/perfledger accept gpt:step --reason …`" in discussion.comment
    command = discussion.say("alice", ACCEPT)

    assert command.status is CommandStatus.DONE
    assert discussion.check["conclusion"] == "neutral"
    assert discussion.check["output"]["title"] == "Performance regressed, accepted"
    for text in (discussion.comment, discussion.check["output"]["summary"]):
        assert "**Accepted** by `alice`" in text
        assert "`the larger batch is worth it`" in text
        assert "/perfledger accept gpt:step" not in text
    assert discussion.answers == []
    assert [one["content"] for one in discussion.at_github.state["reactions"]] == ["+1"]


def test_the_command_that_the_comment_prints_is_enough(regressed, discussion):
    regressed("bench.gpt:step[dtype='bf16',batch=8]")
    printed = discussion.comment.split("Or comment** `")[1].split("`")[0]
    discussion.say("alice", printed.replace("…", "worth it"))

    assert discussion.check["conclusion"] == "neutral"


def test_who_may_not_write_is_told_so_and_changes_nothing(regressed, discussion):
    upload = regressed()
    for login in ("mallory", "stranger"):
        discussion.say(login, ACCEPT)

    first, second = discussion.answers
    assert "this needs write access to `octo/models`, which `mallory` does not have." in first
    assert "stranger" in second
    assert discussion.check["conclusion"] == "failure"
    with read_session(discussion.engine) as session:
        assert acceptances_of(session, upload.project_id, 7) == ()


@pytest.mark.slow(ci_only=True)
def test_another_regression_still_fails_the_check(regressed, discussion):
    regressed("a:f", "b:f")
    discussion.say("alice", "/perfledger accept a:f --reason worth it")

    assert discussion.check["conclusion"] == "failure"
    assert "**Accepted** by `alice`" in discussion.comment
    discussion.say("alice", "/perfledger accept b:f --reason worth it too")
    assert discussion.check["conclusion"] == "neutral"


@pytest.mark.slow(ci_only=True)
def test_a_newer_push_needs_another_word_unless_a_day_is_given(regressed, discussion):
    regressed()
    discussion.say("alice", ACCEPT)
    discussion.now += timedelta(hours=1)
    discussion.at_github.open_pull(head_sha=NEWER_SHA)
    regressed(upload_id="2" * 32, seed=1, head=Revision(sha=NEWER_SHA))
    assert discussion.check["conclusion"] == "failure"
    discussion.say("alice", f"{ACCEPT} --until 2026-11-21")
    discussion.now += timedelta(hours=1)
    regressed(upload_id="3" * 32, seed=2, head=Revision(sha=NEWER_SHA))
    assert discussion.check["conclusion"] == "neutral"
    assert "until 2026-11-21" in discussion.comment
    regressed(upload_id="5" * 32, seed=4, head=Revision(sha=NEWER_SHA), ratio=1.3)
    assert discussion.check["conclusion"] == "failure"  # it is larger than what was accepted
    discussion.now += timedelta(days=2)
    regressed(upload_id="4" * 32, seed=3, head=Revision(sha=NEWER_SHA))

    assert discussion.check["conclusion"] == "failure"


@pytest.mark.parametrize("command", [ACCEPT, f"{ACCEPT} --until 2026-11-21", IGNORE])
def test_what_was_judged_after_a_comment_is_not_accepted_by_it(regressed, discussion, command):
    regressed()
    receipt = discussion.receive("alice", command)
    discussion.now += timedelta(seconds=1)
    discussion.at_github.open_pull(head_sha=NEWER_SHA)
    regressed(upload_id="2" * 32, seed=1, head=Revision(sha=NEWER_SHA))
    discussion.carry_out(receipt)

    assert discussion.check["conclusion"] == "failure"
    assert "had no result when this was written" in discussion.answers[0]


@pytest.mark.slow(ci_only=True)
def test_a_class_that_reports_after_a_comment_is_not_accepted_by_it(regressed, discussion):
    regressed()
    receipt = discussion.receive("alice", ACCEPT)
    discussion.now += timedelta(seconds=1)
    regressed(upload_id="2" * 32, seed=1, machine=OTHER)
    discussion.carry_out(receipt)

    assert discussion.check["conclusion"] == "failure"
    assert "**Accepted** by `alice`" in discussion.comment


@pytest.mark.parametrize("until", ["2026-11-19", "2028-01-01"])
def test_an_acceptance_reaches_neither_back_nor_years_ahead(regressed, discussion, until):
    regressed()
    discussion.say("alice", f"{ACCEPT} --until {until}")

    [answer] = discussion.answers
    assert "is not within 366 days" in answer
    assert discussion.check["conclusion"] == "failure"


def test_a_workload_that_did_not_regress_is_answered_with_those_that_did(regressed, discussion):
    regressed("a:f", "b:f[x='`']")
    discussion.say("alice", "/perfledger accept c:f --reason worth it")

    [answer] = discussion.answers
    assert "`c:f` did not regress" in answer
    assert "- `a:f`" in answer
    assert "- ``b:f[x='`']``" in answer


def test_a_result_whose_bundle_was_removed_is_not_accepted_unseen(regressed, discussion):
    upload = regressed()
    remove_bundle(discussion.engine, upload, removed_at=discussion.now)
    discussion.reports = UploadReports(build_report)
    discussion.say("alice", ACCEPT)

    assert "was removed on `2026-11-20` by retention of 90 days" in discussion.answer
    assert "with `/perfledger` rerun" in discussion.answer


def test_a_workload_that_head_removed_may_be_accepted(discussion, judged, make_bundle):
    removed = Failure(
        workload="old:f", side=Side.HEAD, why=FailureReason.MISSING, detail="not registered"
    )
    bundle = make_bundle(ratio=1.0, failures=(removed,))
    discussion.post(judged(discussion.engine, bundle).id)
    assert discussion.check["conclusion"] == "failure"
    discussion.say("alice", "/perfledger accept old:f --reason replaced by gpt:step")

    assert discussion.check["conclusion"] == "neutral"


def test_a_workload_that_broke_may_not_be_accepted(discussion, judged, make_bundle):
    broken = Failure(
        workload="old:f", side=Side.HEAD, why=FailureReason.RAISED, detail="ValueError: no"
    )
    discussion.post(judged(discussion.engine, make_bundle(ratio=1.0, failures=(broken,))).id)
    discussion.say("alice", "/perfledger accept old:f --reason never mind")

    assert discussion.check["conclusion"] == "failure"
    assert "did not regress" in discussion.answers[0]


@pytest.mark.slow(ci_only=True)
def test_what_is_ignored_is_neutral_on_every_machine_class_for_that_commit(regressed, discussion):
    regressed()
    regressed(upload_id="2" * 32, seed=1, machine=OTHER)
    discussion.say("alice", IGNORE)
    assert discussion.check["conclusion"] == "neutral"
    assert "**Ignored** by `alice`" in discussion.comment
    discussion.at_github.open_pull(head_sha=NEWER_SHA)
    regressed(upload_id="3" * 32, seed=2, head=Revision(sha=NEWER_SHA))

    assert discussion.check["conclusion"] == "failure"


@pytest.mark.parametrize(
    ("policies", "conclusion"), [((), "neutral"), ((POLICY,), "action_required")]
)
def test_an_ignored_commit_waits_for_no_class_but_for_the_approval_of_its_cost(
    regressed, discussion, policies, conclusion
):
    upload = regressed(machine=H100, pricing=PricingConfig(fleet=(FLEET,), policies=policies))
    now, later = discussion.now, discussion.now + timedelta(days=1)
    announce_classes(discussion.engine, upload.head, ("tpu:*:1",), deadline=later, now=now)
    discussion.say("alice", IGNORE)

    assert discussion.check["conclusion"] == conclusion


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("/perfledger", "/perfledger accept WORKLOAD --reason WHY"),
        ("/perfledger help", "/perfledger accept WORKLOAD --reason WHY"),
        ("/perfledger rerun gpt:step", "measures the whole check again"),
        ("/perfledger frobnicate @octo", "/perfledger accept WORKLOAD --reason WHY"),
        ("/perfledger accept", "ame the workload to accept"),
    ],
)
def test_a_question_and_what_is_no_command_have_one_answer(
    discussion, received, body, answer, make_bundle
):
    received(discussion.engine, make_bundle())
    receipt = discussion.receive("mallory", body)
    for _ in range(3):
        discussion.carry_out(receipt)

    [text] = discussion.answers
    assert answer in text
    assert not text.splitlines()[1].startswith("/perfledger")
    assert "`'frobnicate @octo'`" in text or "@octo" not in text


def test_a_lost_answer_is_found_again(discussion, received, make_bundle):
    received(discussion.engine, make_bundle())
    receipt = discussion.receive("mallory", "/perfledger help")
    discussion.at_github.fail_next(method="POST", path="/comments", drop="after")
    with pytest.raises(GitHubError):
        discussion.carry_out(receipt)
    [work] = unfinished_command_work(discussion.engine, now=discussion.now)
    assert work.command_id == receipt.work.command_id
    discussion.carry_out(receipt)

    assert len(discussion.answers) == 1
    assert unfinished_command_work(discussion.engine, now=discussion.now) == ()


def test_an_answer_that_waits_for_github_does_not_delay_what_was_decided(regressed, discussion):
    upload = regressed()
    receipt = discussion.receive("alice", ACCEPT)
    discussion.at_github.fail_next(method="POST", path="/reactions", status=403)
    with pytest.raises(GitHubError):
        discussion.carry_out(receipt)
    discussion.post(upload.id)

    assert discussion.check["conclusion"] == "neutral"


def test_our_own_login_is_never_answered(discussion, received, make_bundle):
    received(discussion.engine, make_bundle())
    me = discussion.github.me().removesuffix("[bot]")
    discussion.github.me = lambda: me
    discussion.say(me, "/perfledger frobnicate")

    assert discussion.answers == []


def test_without_github_nobody_may_accept(engine, judged, make_bundle, discussion):
    upload = judged(engine, make_bundle(ratio=1.2))
    receipt = discussion.receive("alice", ACCEPT)
    carry_out(
        engine,
        receipt.work.command_id,
        pull_requests=None,
        reports=discussion.reports,
        public_url="https://ledger.example",
        now=lambda: discussion.now,
    )

    with read_session(engine) as session:
        assert acceptances_of(session, upload.project_id, 7) == ()
        command = command_by_id(session, receipt.work.command_id)
    assert command.status is CommandStatus.DONE
    assert "needs write access" in command.answer
    assert unfinished_command_work(engine, now=discussion.now) == ()


def test_a_failed_command_keeps_its_reason_and_is_not_begun_again(
    discussion, received, make_bundle
):
    received(discussion.engine, make_bundle())
    receipt = discussion.receive("alice", ACCEPT)
    fail_command(discussion.engine, receipt.work.command_id, "GitHub answered 403")

    assert discussion.carry_out(receipt) == ()
    assert discussion.answers == []
    with read_session(discussion.engine) as session:
        command = command_by_id(session, receipt.work.command_id)
    assert (command.status, command.answer) == (CommandStatus.FAILED, "GitHub answered 403")


def test_a_hostile_reason_is_shown_as_text(regressed, discussion):
    regressed()
    discussion.say(
        "alice", f"{ACCEPT} `</code><script>alert(1)</script> @octo [x](http://e.vil) \u202e"
    )

    assert "``the larger batch is worth it `</code><script>" in discussion.comment
    assert "\u202e" not in discussion.comment


def test_a_merge_is_recorded_with_what_was_accepted(regressed, discussion):
    upload = regressed()
    discussion.say("alice", ACCEPT)

    receive_closing(
        discussion.engine, "OCTO/models", 1296269, 7, merged_sha="d" * 40, now=discussion.now
    )

    with read_session(discussion.engine) as session:
        [acceptance] = acceptances_of(session, upload.project_id, 7)
    assert acceptance.merged_sha == "d" * 40


def label(discussion, guid, *, words="allow", login="alice"):
    """Have somebody label the pull request, and do what follows."""
    line = {"allow": f"/perfledger allow {'b' * 40}", "disallow": "/perfledger disallow"}[words]
    receipt = discussion.receive_again(delivery_command_id(guid.encode()), login, line)
    discussion.carry_out(receipt)
    return receipt


@pytest.mark.usefixtures("runner")
def test_a_label_allows_what_its_comment_would_and_is_answered_without_a_thumb(jobs, discussion):
    discussion.at_github.open_pull(head_repository="mallory/models")
    label(discussion, "guid-1")
    assert [job.allows_fork for job in jobs()] == [True]
    discussion.now += timedelta(seconds=1)
    label(discussion, "guid-2", words="disallow")

    assert [job.state for job in jobs()] == ["cancelled"]
    assert len(discussion.answers) == 1
    assert discussion.at_github.state["reactions"] == []
    assert (
        discussion.receive_again(delivery_command_id(b"guid-1"), "alice", "/perfledger help").work
        is None
    )


@pytest.mark.usefixtures("runner")
def test_who_may_only_triage_allows_nothing_by_a_label(jobs, discussion):
    discussion.at_github.open_pull(head_repository="mallory/models")
    triage = {"login": "tess", "permission": "triage"}
    discussion.at_github.tell("permissions", triage)
    label(discussion, "guid-1", login="tess")

    assert jobs() == ()
    assert "needs write access" in discussion.answers[0]


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize(("seconds", "jobs_left"), [(59, 0), (60, 1)])
def test_a_label_right_after_a_push_may_not_mean_that_commit(jobs, discussion, seconds, jobs_left):
    discussion.at_github.open_pull(head_repository="mallory/models")
    values = {"before_sha": "a" * 40, "head_sha": "b" * 40, "now": discussion.now}
    receive_push(discussion.engine, "octo/models", 1296269, 7, **values)
    discussion.now += timedelta(seconds=seconds)
    label(discussion, "guid-1")

    assert len(jobs()) == jobs_left
    assert ("within a minute of a push" in discussion.answers[0]) != bool(jobs_left)
