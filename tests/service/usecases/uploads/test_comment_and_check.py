"""One comment and one check run for each pull request, whatever happens."""

from dataclasses import replace

import pytest

from perfledger.profile import CallingLine
from perfledger.records import Device, Machine, Revision
from perfledger_service.errors import GitHubError
from perfledger_service.github.api import LOST_POST_WAIT_S
from perfledger_service.rendering.check.comment import MARKER
from perfledger_service.store.database import read_session
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads.comment_and_check import (
    NEWER_RESULT,
    post_report,
    repost_reports,
)
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.values.upload_views import UploadStatus
from tests.service.rendering.example_reports import regressed
from tests.service.rendering.example_values import Make

PUBLIC_URL = "https://ledger.example"
PLACES = (("gpt.py", 90), ("gpt.py", 91), ("gone.py", 1))
NEWER_SHA = "c" * 40
US = "perfledger[bot]"


@pytest.fixture
def say_it(engine, github):
    """Say an upload and return it as it is then."""

    def say_upload(upload, *, pull_requests=github):
        post_report(
            engine,
            upload.id,
            pull_requests=pull_requests,
            reports=UploadReports(build_report),
            public_url=PUBLIC_URL,
            now=upload.created_at,
        )
        with read_session(engine) as session:
            return upload_by_id(session, upload.id)

    return say_upload


def test_a_verdict_is_said_in_one_comment_and_one_check(
    engine, judged, make_bundle, say_it, at_github
):
    at_github.open_pull()
    upload = say_it(judged(engine, make_bundle(ratio=1.2)))

    [comment], [check] = at_github.comments, at_github.checks
    assert upload.status is UploadStatus.POSTED
    assert comment["user"]["login"] == US
    assert comment["body"].startswith(MARKER)
    assert "regressed" in comment["body"]
    assert f"{PUBLIC_URL}/octo/models/pull/7" in comment["body"]
    assert (check["name"], check["head_sha"]) == ("perfledger", upload.head_sha)
    assert (check["conclusion"], check["output"]["title"]) == ("failure", upload.title)
    assert check["details_url"] == f"{PUBLIC_URL}/octo/models/pull/7"


def test_saying_it_again_changes_nothing(engine, judged, make_bundle, say_it, at_github):
    at_github.open_pull()
    upload = judged(engine, make_bundle())
    say_it(upload)
    count = len(at_github.requests)
    say_it(upload)

    assert len(at_github.requests) == count


def test_a_newer_commit_updates_the_comment_and_gets_its_own_check(
    engine, judged, make_bundle, say_it, at_github
):
    at_github.open_pull()
    say_it(judged(engine, make_bundle(ratio=1.2), upload_id="1" * 32))
    at_github.open_pull(head_sha=NEWER_SHA)
    newer = make_bundle(ratio=1.0, seed=1, head=Revision(sha=NEWER_SHA))
    say_it(judged(engine, newer, upload_id="2" * 32))

    [comment] = at_github.comments
    assert comment["edits"] == 1
    assert NEWER_SHA[:7] in comment["body"]
    assert [(check["head_sha"][0], check["conclusion"]) for check in at_github.checks] == [
        ("b", "failure"),
        ("c", "success"),
    ]


def test_a_second_bundle_of_the_same_commit_updates_both(
    engine, judged, make_bundle, say_it, at_github
):
    at_github.open_pull()
    say_it(judged(engine, make_bundle(ratio=1.2), upload_id="1" * 32))
    say_it(judged(engine, make_bundle(ratio=1.0, seed=1), upload_id="2" * 32))

    [comment], [check] = at_github.comments, at_github.checks
    assert (comment["edits"], check["edits"]) == (1, 1)
    assert check["conclusion"] == "success"


H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3")
A100 = Machine(device=Device.CUDA, model="NVIDIA A100-SXM4-80GB")


def test_a_green_class_does_not_overwrite_a_red_one(engine, judged, make_bundle, say_it, at_github):
    at_github.open_pull()
    say_it(judged(engine, make_bundle(ratio=1.2, machine=H100), upload_id="1" * 32))
    say_it(judged(engine, make_bundle(ratio=1.0, machine=A100, seed=1), upload_id="2" * 32))

    [comment], [check] = at_github.comments, at_github.checks
    assert (check["status"], check["conclusion"]) == ("completed", "failure")
    assert check["output"]["title"] == (
        "Performance regressed on NVIDIA H100 80GB HBM3 (cuda), 1 of 2 machine classes"
    )
    assert H100.model in comment["body"]
    assert A100.model in comment["body"]


def test_an_older_measurement_of_the_same_commit_does_not_replace_a_newer_one(
    engine, judged, make_bundle, say_it, at_github
):
    at_github.open_pull()
    newer = make_bundle(ratio=1.2, created_at="2026-11-20T11:00:00+00:00")
    older = make_bundle(ratio=1.0, seed=1, created_at="2026-11-20T10:59:59+00:00")
    say_it(judged(engine, newer, upload_id="1" * 32))
    late = say_it(judged(engine, older, upload_id="2" * 32))

    [comment], [check] = at_github.comments, at_github.checks
    assert (late.status, late.reason) == (UploadStatus.REFUSED, NEWER_RESULT)
    assert (check["conclusion"], check["edits"]) == ("failure", 0)
    assert "regressed" in comment["body"]


def test_a_bundle_about_an_older_commit_is_refused_and_nothing_is_said(
    engine, judged, make_bundle, say_it, at_github
):
    at_github.open_pull(head_sha=NEWER_SHA)
    upload = say_it(judged(engine, make_bundle()))

    assert upload.status is UploadStatus.REFUSED
    assert upload.reason.startswith(f"the pull request is at {NEWER_SHA} now")
    assert (at_github.comments, at_github.checks) == ([], [])


def test_a_closed_pull_request_is_left_alone(engine, judged, make_bundle, say_it, at_github):
    at_github.open_pull(state="closed")
    upload = say_it(judged(engine, make_bundle()))

    assert (upload.status, upload.reason) == (
        UploadStatus.REFUSED,
        "pull request #7 is closed",
    )
    assert (at_github.comments, at_github.checks) == ([], [])


def test_a_pull_request_that_is_not_there_is_refused(
    engine, judged, make_bundle, say_it, at_github
):
    at_github.open_pull(8)
    upload = say_it(judged(engine, make_bundle(pull_request=9)))

    assert (upload.status, upload.reason) == (
        UploadStatus.REFUSED,
        "octo/models has no pull request #9",
    )
    assert at_github.comments == []


def test_another_pull_requests_number_does_not_help(engine, judged, make_bundle, say_it, at_github):
    at_github.open_pull(7)
    at_github.open_pull(8, head_sha=NEWER_SHA)
    upload = say_it(judged(engine, make_bundle(pull_request=8)))

    assert upload.status is UploadStatus.REFUSED
    assert at_github.comments == []


def test_a_comment_that_somebody_deleted_is_written_again(
    engine, judged, make_bundle, say_it, at_github
):
    at_github.open_pull()
    say_it(judged(engine, make_bundle(), upload_id="1" * 32))
    at_github.state["comments"].clear()
    at_github.state["check_runs"].clear()
    say_it(judged(engine, make_bundle(seed=1), upload_id="2" * 32))
    say_it(judged(engine, make_bundle(seed=2), upload_id="3" * 32))

    [comment], [check] = at_github.comments, at_github.checks
    assert (comment["edits"], check["edits"]) == (1, 1)


def test_a_comment_of_ours_that_we_do_not_remember_is_found(
    engine, judged, make_bundle, say_it, at_github
):
    at_github.open_pull()
    at_github.add_comment(US, "something else of ours")
    ours = at_github.add_comment(US, f"{MARKER}\nold")
    say_it(judged(engine, make_bundle()))

    bodies = {comment["id"]: comment["body"] for comment in at_github.comments}
    assert len(bodies) == 2
    assert "regressed" in bodies[ours["id"]]


def test_of_several_comments_of_ours_one_is_left(engine, judged, make_bundle, say_it, at_github):
    at_github.open_pull()
    first = at_github.add_comment(US, f"{MARKER}\none")
    at_github.add_comment(US, f"{MARKER}\ntwo")
    at_github.add_comment(US, f"{MARKER}\nthree")
    say_it(judged(engine, make_bundle()))

    assert [comment["id"] for comment in at_github.comments] == [first["id"]]


def test_a_forged_marker_is_never_touched(engine, judged, make_bundle, say_it, at_github):
    at_github.open_pull()
    forged = at_github.add_comment("mallory", f"{MARKER}\nall is well")
    quoted = at_github.add_comment(US, f"> {MARKER}\nquoted")
    say_it(judged(engine, make_bundle()))

    bodies = {comment["id"]: comment["body"] for comment in at_github.comments}
    assert bodies.pop(forged["id"]) == f"{MARKER}\nall is well"
    assert bodies.pop(quoted["id"]) == f"> {MARKER}\nquoted"
    assert len(bodies) == 1


def test_a_lost_answer_leaves_one_comment(engine, judged, make_bundle, say_it, at_github):
    at_github.open_pull()
    at_github.fail_next(method="POST", path="/comments", drop="after")
    upload = judged(engine, make_bundle())
    with pytest.raises(GitHubError):
        say_it(upload)
    say_it(upload)

    assert len(at_github.comments) == 1
    assert len(at_github.checks) == 1


def test_a_lost_answer_leaves_one_check(engine, judged, make_bundle, say_it, at_github):
    at_github.open_pull()
    at_github.fail_next(method="POST", path="/check-runs", drop="after")
    upload = judged(engine, make_bundle())
    with pytest.raises(GitHubError):
        say_it(upload)
    say_it(upload)

    assert len(at_github.comments) == 1
    assert len(at_github.checks) == 1


def test_a_comment_that_github_creates_after_its_answer_was_lost_is_pruned_by_the_next_post(
    engine, judged, make_bundle, say_it, at_github
):
    at_github.open_pull()
    at_github.fail_next(method="POST", path="/comments", status=504)
    upload = judged(engine, make_bundle())
    with pytest.raises(GitHubError) as lost:
        say_it(upload)
    say_it(upload)
    [first] = at_github.comments
    at_github.add_comment(US, first["body"])  # GitHub carries out the first request at last
    say_it(judged(engine, make_bundle(seed=1), upload_id="2" * 32))

    assert lost.value.wait_s == LOST_POST_WAIT_S
    assert [comment["id"] for comment in at_github.comments] == [first["id"]]


def test_a_comment_that_github_creates_while_ours_is_written_is_pruned_at_once(
    engine, judged, make_bundle, say_it, at_github
):
    at_github.open_pull()
    late = []

    def create_late(method, path):
        if method == "POST" and path.endswith("/comments") and not late:
            late.append(path)
            at_github.server.state.add_comment("octo/models", 7, US, f"{MARKER}\nthe first request")

    at_github.server.state.after_handling = create_late
    say_it(judged(engine, make_bundle()))

    [comment] = at_github.comments
    assert late
    assert "the first request" not in comment["body"]


def test_a_second_check_run_of_a_lost_answer_says_the_same(
    engine, judged, make_bundle, say_it, at_github
):
    at_github.open_pull()
    say_it(judged(engine, make_bundle(ratio=1.2), upload_id="1" * 32))
    [check] = at_github.checks
    at_github.state["check_runs"]["1"] = {**check, "id": 1}
    say_it(judged(engine, make_bundle(ratio=1.0, seed=1), upload_id="2" * 32))

    assert [one["conclusion"] for one in at_github.checks] == ["success", "success"]


def test_without_github_an_upload_stays_judged(engine, judged, make_bundle, say_it):
    upload = say_it(judged(engine, make_bundle()), pull_requests=None)

    assert upload.status is UploadStatus.JUDGED


def test_what_was_not_judged_is_not_said(engine, received, make_bundle, say_it, at_github):
    at_github.open_pull()
    upload = say_it(received(engine, make_bundle()))

    assert upload.status is UploadStatus.RECEIVED
    assert at_github.requests == []


def test_what_is_said_is_what_was_stored(engine, judged, make_bundle, at_github, github):
    """A newer judge does not change what an older one found."""
    at_github.open_pull()
    upload = judged(engine, make_bundle(ratio=1.2))

    def another_judge(bundle, *, today, is_local, priors, approvals=()):
        assert (bundle, approvals) == (make_bundle(ratio=1.2), ())
        return build_report(make_bundle(ratio=1.0), today=today, is_local=is_local, priors=priors)

    post_report(
        engine,
        upload.id,
        pull_requests=github,
        reports=UploadReports(another_judge),
        public_url=PUBLIC_URL,
        now=upload.created_at,
    )

    [comment], [check] = at_github.comments, at_github.checks
    assert check["conclusion"] == "failure"
    assert upload.headline.replace("\u00a0", " ") in comment["body"].replace("`", "")


def test_a_finished_check_annotates_the_lines_that_its_head_has(
    engine, judged, make_bundle, at_github, github
):
    """The causes are an example's; head has 90 lines of one file and nothing of the other."""
    upload = judged(engine, make_bundle(ratio=1.2))
    explanation = regressed(Make).explanations[0]
    lines = tuple(CallingLine(path=path, line=line, calls=1.0) for path, line in PLACES)
    explained = replace(
        explanation,
        workload="gpt:step",
        causes=(replace(explanation.causes[0], lines=lines),),
        memory=None,
    )
    at_github.open_pull()
    at_github.tell("files", {"sha": upload.head_sha, "path": "gpt.py", "text": "x\n" * 90})

    def explain(bundle, **values):
        return replace(build_report(bundle, **values), explanations=(explained,))

    for _ in range(2):
        repost_reports(
            engine,
            upload.head,
            pull_requests=github,
            reports=UploadReports(explain),
            public_url=PUBLIC_URL,
            now=upload.created_at,
        )

    [check] = at_github.checks
    [one] = check["output"]["annotations"]
    assert (one["path"], one["start_line"], one["end_line"]) == ("gpt.py", 90, 90)
    assert one["annotation_level"] == "failure"
    assert one["title"].startswith("gpt:step: step time +20")
    assert "aten::_softmax" in one["message"]
