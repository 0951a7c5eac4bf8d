"""Tests runs of a workflow at a stand-in for GitHub, at which everything goes wrong once."""

import os
from pathlib import Path
from typing import Any

import pytest

from perfledger_runners.launchers.github_actions.workflow_launcher import CANCEL_WAIT_S
from perfledger_runners.launchers.launcher import LauncherError, SubmissionState

NAME = "perfledger-1"
DISPATCHES = "/dispatches"
PAGE = "<html><h1>The proxy is tired</h1></html>"
LIMIT = '{"message": "You have exceeded a secondary rate limit"}'
SUCCESS = ("start", "succeed")


def requests_to(stand_in, path, method="POST"):
    """Return how often a request was made."""
    return sum(
        one["method"] == method and one["path"].endswith(path) for one in stand_in.state.requests
    )


# What happens at each poll; exit status and reason at the end.
CASES = {
    "success": (SUCCESS, 0, ""),
    "a queue": (("queue", "queue", *SUCCESS), 0, ""),
    "no machine": (("queue",), None, "within 120 minutes (no runner with self-hosted, gpu has"),
    "a run that takes too long": (("start",), None, "it ran longer than 60 minutes"),
    "a run that shows late": (("hide", *(["pass"] * 7), "show", *SUCCESS), 0, ""),
    "a run that never shows": (("hide",), None, "within 10 minutes: does its run-name contain"),
    "a failed step": (("start", "fail"), None, "in step 'Measure' (https://github.example/octo"),
    "a cancelled run": (("start", "cancelled"), None, "cancelled on GitHub, or exceeded the"),
    "a run that cannot start": (("startup_failure",), None, "could not start the workflow"),
    "a run without an artifact": (("start", "empty"), None, "succeeded without a result"),
    "an artifact that is late": (("start", "empty", "succeed"), 0, ""),
    "a damaged artifact": (("start", "damaged"), None, "artifact of its run is damaged"),
    "a signal": (("start", "signal"), None, "signal 9 ended it"),
    "nothing measured": (("start", "exit 3"), 3, ""),
    "a run that was cancelled at its end": (("start", "late cancel"), 1, ""),
    "a run that is gone": (("start", "delete"), None, "no answer about it for 10 minutes"),
}


@pytest.fixture
def happenings(steps, stand_in):
    """What may happen at a poll, by its word."""
    result = {"exit_status": "1", "bundle.json": "{}"}
    return {
        "queue": steps.queue,
        "start": steps.start,
        "succeed": steps.succeed,
        "fail": steps.fail,
        "hide": steps.hide,
        "show": steps.show,
        "pass": lambda: None,
        "late": steps.late,
        "cancelled": lambda: steps.end("cancelled", files={"job.log": "half"}),
        "startup_failure": lambda: steps.end("startup_failure"),
        "empty": steps.end,
        "damaged": lambda: steps.end(data=b"PK\x03\x04 and no more"),
        "signal": lambda: steps.end(files={"exit_status": "-9"}),
        "exit 3": lambda: steps.end(files={"exit_status": "3", "job.log": "no GPU"}),
        "late cancel": lambda: steps.end("cancelled", files=result),
        "delete": stand_in.state.runs.clear,
    }


def hide_after_dispatch(hide):
    return lambda _method, path: hide() if path.endswith(DISPATCHES) else None


@pytest.mark.parametrize("case", CASES)
def test_what_happens_to_a_run_ends_in_the_right_state(run, stand_in, happenings, case):
    words, exit_status, reason = CASES[case]
    if words[0] == "hide":  # before the first poll
        stand_in.state.after_handling = hide_after_dispatch(happenings.pop("hide"))
        words = words[1:]
    done = run([happenings[word] for word in words])

    assert done.ending.state is SubmissionState.ENDED
    assert done.ending.exit_status == exit_status
    assert reason in done.ending.reason
    assert requests_to(stand_in, DISPATCHES) == 1
    assert all(one["status"] == "completed" for one in stand_in.state.runs.values())


def test_a_job_is_told_and_brought(run, job, stand_in, happenings):
    done = run([happenings[word] for word in SUCCESS])
    (value,) = stand_in.state.runs.values()

    assert done.lines == [
        f"it runs on gpu7, {value['html_url']}",
        f"it ended on gpu7, {value['html_url']}",
    ]
    assert (job.log.read_text(), job.bundle.read_text()) == ("fine\n", "{}")
    assert value["inputs"]["name"] == NAME
    assert requests_to(stand_in, "/cancel") == 0


def test_the_log_of_a_failure_is_that_of_its_job(run, job, happenings):
    job.log.write_text("of an earlier job")
    run([happenings["start"], happenings["fail"]])

    assert job.log.read_text() == "##[error]no torch"
    assert not job.bundle.exists()


# What goes wrong with a request; what happens then; exit status, reason, and dispatches sent.
FAULTS: dict[str, Any] = {
    "hung up before": (
        DISPATCHES,
        {"drop": "before"},
        (),
        None,
        "within 10 minutes: GitHub did",
        1,
    ),
    "hung up after": (DISPATCHES, {"drop": "after"}, SUCCESS, 0, "", 1),
    "carried out later": (DISPATCHES, {"drop": "late"}, ("pass", "late", *SUCCESS), 0, "", 1),
    "500": (DISPATCHES, {"status": 500}, (), None, "minutes: GitHub answered 500", 1),
    "a gateway's page": (DISPATCHES, {"status": 502, "text": PAGE}, (), None, "answered 502", 1),
    "a page for an answer": (DISPATCHES, {"status": 200, "text": PAGE}, (), None, "run-name", 1),
    "an old token": (DISPATCHES, {"status": 401}, (), "refused", "GitHub answered 401", 1),
    "no right": (DISPATCHES, {"status": 403}, (), "refused", "GitHub answered 403", 1),
    "no workflow": (DISPATCHES, {"status": 404}, (), "refused", "GitHub answered 404", 1),
    "other inputs": (DISPATCHES, {"status": 422}, (), "refused", "GitHub answered 422", 1),
    "a limit with a time": (
        *(DISPATCHES, {"status": 403, "headers": {"Retry-After": "300"}}),
        *(("pass",) * 6 + SUCCESS, 0, "", 2),
    ),
    "a limit without a time": (
        *(DISPATCHES, {"status": 403, "text": LIMIT}, ("pass",) * 3 + SUCCESS, 0, "", 2),
    ),
    "429 while it runs": (
        *("/actions/runs/", {"status": 429, "headers": {"Retry-After": "1200"}, "count": 1}),
        *(("start", *(["pass"] * 25), "succeed"), 0, "", 1),
    ),
    "away while it runs": ("/actions/runs/", {"status": 503, "count": 12}, SUCCESS, 0, "", 1),
    "away for good": (
        "/actions/runs/",
        {"status": 503, "count": 999},
        (),
        None,
        "no answer about",
        1,
    ),
    "a page while it runs": ("/actions/runs/", {"status": 200, "text": PAGE}, SUCCESS, 0, "", 1),
    "no list of runs": ("/runs", {"status": 403, "count": 9}, (), None, "GitHub answered 403", 1),
    "no artifacts": ("/artifacts", {"status": 403}, SUCCESS, None, "GitHub answered 403", 1),
    "an artifact that is away": ("/zip", {"status": 500, "count": 8}, SUCCESS, 0, "", 1),
    "a storage that is away": ("/storage/", {"status": 500}, SUCCESS, 0, "", 1),
    "no jobs": ("/jobs", {"status": 403, "count": 99}, SUCCESS, 0, "", 1),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_of_github_ends_in_the_right_state(run, stand_in, happenings, case):
    path, fault, words, exit_status, reason, dispatches = FAULTS[case]
    stand_in.state.faults.append({"path": path, "count": 1} | fault)
    if exit_status == "refused":
        with pytest.raises(LauncherError, match=reason):
            run()
    else:
        done = run([happenings[word] for word in words])
        assert done.ending.exit_status == exit_status
        assert reason in done.ending.reason

    assert len(stand_in.state.runs) <= 1
    assert requests_to(stand_in, DISPATCHES) <= dispatches


@pytest.mark.parametrize(
    "moment", ["before the dispatch", "after it", "in the middle", "at the end"]
)
def test_a_runner_that_is_killed_finds_its_run_again(
    make_launcher, run, job, stand_in, steps, *, moment
):
    first = make_launcher()
    if moment == "before the dispatch":
        stand_in.state.faults.append({"path": DISPATCHES, "drop": "before", "count": 1})
    first.submit(job)
    if moment == "in the middle":
        steps.start()
        assert first.status(job).state is SubmissionState.RUNNING
    if moment == "at the end":
        steps.succeed()
        assert first.status(job).exit_status == 0
    done = run([] if moment == "before the dispatch" else [steps.succeed])

    is_lost = moment == "before the dispatch"
    assert done.ending.exit_status == (None if is_lost else 0)
    assert ("killed before it asked for it" in done.ending.reason) == is_lost
    assert requests_to(stand_in, DISPATCHES) <= 1
    assert len(stand_in.state.runs) == (not is_lost)


def test_a_job_that_is_cancelled_ends_its_run(run, steps):
    over = iter([False, False, True])
    done = run([steps.start], is_over=lambda: next(over))

    assert done.ending is None
    assert steps.run["conclusion"] == "cancelled"


def test_a_run_that_does_not_show_yet_is_cancelled_once_it_does(
    make_launcher, job, clock, steps, stand_in
):
    def wait(seconds):
        clock.wait(seconds)
        if clock.elapsed_s >= 10.0:
            steps.show()

    launcher = make_launcher(wait=wait)
    launcher.submit(job)
    steps.hide()
    launcher.cancel(NAME)

    assert steps.run["conclusion"] == "cancelled"
    assert len(stand_in.state.runs) == 1


def test_a_run_that_does_not_show_may_still_run(make_launcher, job, clock, steps):
    launcher = make_launcher()
    launcher.submit(job)
    steps.hide()
    with pytest.raises(LauncherError, match="no run appeared within 60 s"):
        launcher.cancel(NAME)

    assert clock.elapsed_s == CANCEL_WAIT_S


def test_the_run_of_a_job_that_another_runner_has_is_cancelled(make_launcher, job, steps):
    make_launcher().submit(job)
    make_launcher().cancel(NAME)

    assert steps.run["conclusion"] == "cancelled"


@pytest.mark.parametrize(
    ("fault", "is_cancelled"),
    [({"drop": "before"}, True), ({"status": 502, "count": 3}, True), ({"status": 403}, False)],
)
def test_cancelling_is_repeated_unless_it_is_refused(
    make_launcher, job, steps, stand_in, *, fault, is_cancelled
):
    launcher = make_launcher()
    launcher.submit(job)
    stand_in.state.faults.append({"path": "/cancel", "count": 1} | fault)
    if is_cancelled:
        launcher.cancel(NAME)
    else:
        with pytest.raises(LauncherError, match="answered 403"):
            launcher.cancel(NAME)

    assert (steps.run["conclusion"] == "cancelled") == is_cancelled


def test_a_run_that_ended_meanwhile_needs_no_end(make_launcher, job, steps):
    launcher = make_launcher()
    launcher.submit(job)
    steps.start()
    launcher.status(job)
    steps.succeed()
    launcher.cancel(NAME)

    assert steps.run["conclusion"] == "success"


def test_what_was_never_asked_for_needs_no_end(make_launcher, job, stand_in):
    limit = {"status": 429, "headers": {"Retry-After": "60"}}
    stand_in.state.faults.append({"path": DISPATCHES, "count": 1} | limit)
    launcher = make_launcher()
    launcher.submit(job)
    launcher.cancel(NAME)

    assert [one["path"] for one in stand_in.state.requests if "/runs" in one["path"]] == []


def test_the_first_run_of_a_name_counts(make_launcher, job, stand_in, steps):
    launcher = make_launcher()
    launcher.submit(job)
    first = steps.run
    again = first | {"id": stand_in.state.new_id(), "status": "completed", "conclusion": "success"}
    stand_in.state.runs[str(again["id"])] = again

    assert launcher.status(job).state is SubmissionState.WAITING


def test_an_older_run_of_this_name_is_none(make_launcher, job, steps):
    launcher = make_launcher()
    launcher.submit(job)
    steps.run["created_at"] = "2026-01-01T00:00:00Z"

    assert launcher.status(job).reason == "GitHub does not show its run yet"


@pytest.mark.parametrize("content", ["", "noon", "nan", "1e300", "\udcff"])
def test_a_note_that_says_no_time_is_named(make_launcher, job, content):
    note = job.log.with_name(f"{NAME}.dispatch")
    note.write_bytes(content.encode(errors="surrogateescape"))
    launcher = make_launcher()
    launcher.submit(job)
    with pytest.raises(LauncherError, match="does not say when the workflow was dispatched"):
        launcher.status(job)


def test_a_dispatch_is_noted_before_it_is_sent_or_not_sent(make_launcher, job, stand_in):
    job.log.with_name(f".{NAME}.dispatch.new").mkdir()
    with pytest.raises(LauncherError, match="cannot be written: Is a directory"):
        make_launcher().submit(job)

    assert requests_to(stand_in, DISPATCHES) == 0


def test_a_dispatch_stays_noted_after_a_power_cut(make_launcher, job, monkeypatch):
    synchronized, fsync = [], os.fsync

    def record(descriptor):
        synchronized.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    make_launcher().submit(job)

    note = job.log.with_name(f".{NAME}.dispatch.new")
    assert synchronized[-2:] == [note, note.parent]


def test_notes_of_earlier_jobs_are_removed(make_launcher, job):
    earlier = job.log.with_name("perfledger-0.dispatch")
    earlier.write_text("x")
    make_launcher().submit(job)

    assert not earlier.exists()
    assert job.log.with_name(f"{NAME}.dispatch").exists()
