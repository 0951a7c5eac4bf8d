"""Tests the loop of a runner with a queue on paper and real child processes."""

import os
import sys

import pytest

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.jobs.commits import JobRefusedError
from perfledger_runners.jobs.slot import open_slot
from perfledger_runners.jobs.work_loop import Drain, JobRunner, RunnerOptions
from perfledger_runners.launchers.launcher import (
    LauncherError,
    SubmissionState,
    SubmissionStatus,
)

WRITE = "import shutil, sys; shutil.copy(sys.argv[2], sys.argv[1])"


class Runner:
    """A runner with the code of its child, or what its command raises."""

    def __init__(self, jobs, slot, folder):
        self.jobs, self.slot, self.folder = jobs, slot, folder
        self.code, self.error = WRITE, None
        self.lines, self.drain = [], Drain()
        self.values = {}

    def command(self, _job, slot):
        if self.error is not None:
            raise self.error
        return (sys.executable, "-c", self.code, str(slot.bundle), str(self.folder / "whole.json"))

    def run(self, **values):
        options = RunnerOptions(
            name="box", machine_classes=("cpu:A:1",), lease_s=120.0, poll_s=1e-3
        )
        JobRunner(
            jobs=self.jobs,
            slot=self.slot,
            command=self.command,
            folder=self.folder,
            environment=os.environ,
            options=options,
            say=self.lines.append,
            drain=self.drain,
            **self.values,
        ).run(**({"is_until_idle": True} | values))


class CountedDrain(Drain):
    """Remembers the waits, and does not wait."""

    def __init__(self):
        super().__init__()
        self.waits = []

    def wait(self, seconds):
        self.waits.append(seconds)


@pytest.fixture
def runner(jobs, whole_bundle, tmp_path):
    (tmp_path / "whole.json").write_text(whole_bundle)
    with open_slot(tmp_path, "box") as slot:
        yield Runner(jobs, slot, tmp_path)


def ends(queue):
    """Return the messages that end jobs, by their last word."""
    names = {"finish", "fail", "return", "result"}
    words = [(path.rpartition("/")[2], message) for path, message in queue.requests]
    return [(word, message) for word, message in words if word in names]


def test_each_job_is_measured_and_its_bundle_sent(runner, queue, job_document):
    queue.jobs += [job_document, job_document | {"id": "2" * 32}]
    runner.run()

    assert queue.paths == ["take", "result", "take", "result", "take"]
    leases = [message["lease"] for path, message in queue.requests if path == "/take"]
    assert len(set(leases)) == 3
    assert not runner.slot.bundle.exists()


def test_a_bundle_that_was_not_sent_is_sent_first(runner, queue):
    runner.slot.begin("1" * 32)
    runner.slot.bundle.write_text("{}")
    runner.run()

    assert queue.requests[0][0] == f"/{'1' * 32}/result"
    assert queue.paths == ["result", "take"]


def test_a_bundle_stays_while_the_service_is_absent(runner, queue, job_document, monkeypatch):
    monkeypatch.setattr("perfledger_runners.bundles.upload.MAX_ATTEMPTS", 1)
    queue.jobs.append(job_document)
    queue.statuses += ["absent", 0, "absent", "absent", 0]
    runner.run()

    assert queue.paths == ["take", "take", "result", "result", "result", "take"]
    assert sum("asking again in" in line for line in runner.lines) == 3


def test_a_result_that_another_runner_brought_before_is_dropped(runner, queue, job_document):
    queue.jobs.append(job_document)
    queue.statuses += [0, 409]
    runner.run()

    assert queue.paths == ["take", "result", "take"]
    assert not runner.slot.bundle.exists()


@pytest.mark.parametrize(
    ("status", "is_final"), [(1, False), (2, True), (3, True), (4, False), (6, False)]
)
def test_a_check_without_a_bundle_is_failed_with_its_last_words(
    runner, queue, job_document, status, is_final
):
    queue.jobs.append(job_document)
    runner.code = f"print('first'); print('no such workload'); raise SystemExit({status})"
    runner.run()

    ((word, message),) = ends(queue)
    assert (word, message["is_final"]) == ("fail", is_final)
    assert message["reason"] == f"exit status {status}: no such workload"


def test_a_bisection_may_end_without_a_bundle(runner, queue, job_document):
    queue.jobs.append(job_document | {"kind": "bisection"})
    runner.code = "print('they do not differ'); raise SystemExit(5)"
    runner.run()

    ((word, message),) = ends(queue)
    assert (word, message["reason"]) == ("finish", "they do not differ")


@pytest.mark.parametrize(
    ("error", "is_final"), [(JobRefusedError("a fork"), True), (RepositoryError("gone"), False)]
)
def test_what_cannot_be_checked_out_is_failed(runner, queue, job_document, error, is_final):
    queue.jobs.append(job_document)
    runner.error = error
    runner.run()

    ((word, message),) = ends(queue)
    assert (word, message["reason"], message["is_final"]) == ("fail", str(error), is_final)


def begin_often(slot, job_id, *, times):
    """Leave a job as a runner that died each time, after 20 others in which it did not."""
    for number in range(20):
        slot.begin(f"other {number}")
        slot.clear()
    return [slot.begin(job_id) for _ in range(times)]


def test_a_job_that_ends_its_runner_again_and_again_is_left_to_none(runner, queue, job_document):
    begin_often(runner.slot, job_document["id"], times=4)
    queue.jobs.append(job_document)
    runner.run()

    ((word, message),) = ends(queue)
    assert (word, message["is_final"]) == ("fail", True)
    assert message["reason"].startswith("it ended this runner each of the 4 times that it ran;")


def test_a_job_goes_on_whose_runner_is_killed_as_often_in_other_jobs(runner, queue, job_document):
    for number in range(20):
        for _ in range(2):
            runner.slot.begin(f"other {number}")
        runner.slot.clear()
    for _ in range(10):
        runner.slot.begin(job_document["id"])
    queue.jobs.append(job_document)
    runner.run()

    assert queue.paths == ["take", "result", "take"]


def test_a_job_in_which_memory_ran_out_each_time_is_left_to_none(runner, queue, job_document):
    for kills in range(3):
        runner.slot.begin(job_document["id"], memory_kills=kills)
    runner.values["memory_kills"] = lambda: 3
    queue.jobs.append(job_document)
    runner.run()

    ((word, message),) = ends(queue)
    assert (word, message["is_final"]) == ("fail", True)
    assert "memory ran out in 3 of them" in message["reason"]


def test_a_service_that_is_absent_at_the_end_of_a_job_is_no_death(
    runner, queue, job_document, monkeypatch
):
    monkeypatch.setattr("perfledger_runners.bundles.upload.MAX_ATTEMPTS", 1)
    queue.jobs.append(job_document)
    queue.statuses += [0, *["absent"] * 4]
    runner.run()

    assert sum(each.deaths for each in runner.slot.earlier_starts()) == 0
    assert not any("ended this runner" in line for line in runner.lines)


def test_a_runner_that_drains_ends_its_job_and_takes_no_other(runner, queue, job_document):
    queue.jobs += [job_document, job_document]
    take = runner.command

    def drain_then(job, slot):
        runner.drain.ask(600.0)
        return take(job, slot)

    runner.command = drain_then
    runner.run(is_until_idle=False)

    assert queue.paths == ["take", "result"]


def test_a_job_that_outlasts_the_drain_is_given_back(runner, queue, job_document):
    queue.jobs.append(job_document)
    runner.code = "import signal; signal.pause()"
    take = runner.command

    def drain_then(job, slot):
        runner.drain.ask(0.0)
        return take(job, slot)

    runner.command = drain_then
    runner.run(is_until_idle=False)

    assert queue.paths == ["take", "return"]


def test_a_service_that_is_absent_is_asked_after_longer_and_longer_waits(runner, queue):
    queue.statuses += ["absent"] * 4
    runner.drain = CountedDrain()
    runner.run()

    assert runner.drain.waits == [1e-3, 2e-3, 4e-3, 8e-3]


@pytest.mark.parametrize("content", ["", "{}", '{"format": "perfledger', "\0" * 100])
def test_half_a_bundle_is_no_result(runner, queue, job_document, content):
    queue.jobs.append(job_document)
    runner.code = f"import sys; open(sys.argv[1], 'w').write({content!r})"
    runner.run()

    ((word, message),) = ends(queue)
    assert (word, message["is_final"]) == ("fail", False)
    assert message["reason"].startswith("its bundle is damaged: ")
    assert not runner.slot.bundle.exists()


class Cluster:
    """An engine whose submissions go on while no runner runs."""

    poll_s = 0.0
    outlives_runner = True

    def __init__(self, ending):
        self.ending, self.calls = ending, []

    def submit(self, submission):
        self.calls.append(("submit", submission.name))

    def status(self, _submission):
        if isinstance(self.ending, Exception):
            raise self.ending
        return self.ending

    def collect(self, submission):
        source = submission.folder / "whole.json"
        submission.bundle.write_bytes(source.read_bytes())

    def cancel(self, name):
        self.calls.append(("cancel", name))


def test_a_runner_that_was_killed_finds_what_it_submitted(runner, queue, job_document):
    state, *_ = begin_often(runner.slot, job_document["id"], times=5)
    runner.values["launcher"] = cluster = Cluster(
        SubmissionStatus(state=SubmissionState.ENDED, exit_status=0)
    )
    queue.jobs.append(job_document)
    runner.run()

    assert queue.paths == ["take", "result", "take"]
    assert cluster.calls == [("submit", state.submission), ("cancel", state.submission)]
    assert state.lease not in state.submission


def test_what_was_submitted_for_a_job_of_another_runner_by_now_is_cancelled(runner):
    state = runner.slot.begin("1" * 32)
    runner.values["launcher"] = cluster = Cluster(None)
    runner.run()

    assert cluster.calls == [("cancel", state.submission)]

    runner.run()

    assert len(cluster.calls) == 1  # not with every request for a job


def test_a_bundle_that_a_lost_job_writes_while_it_is_cancelled_is_dropped(runner, queue):
    runner.slot.begin("1" * 32)
    runner.values["launcher"] = Cluster(None)
    runner.values["launcher"].cancel = lambda _: runner.slot.bundle.write_text("{}")
    runner.run()

    assert not runner.slot.bundle.exists()
    assert queue.paths == ["take"]


def test_a_job_that_comes_for_one_that_was_lost_is_another_submission(runner, queue, job_document):
    lost = runner.slot.begin("2" * 32)
    runner.values["launcher"] = cluster = Cluster(
        SubmissionStatus(state=SubmissionState.ENDED, exit_status=0)
    )
    queue.jobs.append(job_document)
    runner.run()
    cancelled, submitted, _ = cluster.calls

    assert cancelled == ("cancel", lost.submission)
    assert submitted != ("submit", lost.submission)


@pytest.mark.parametrize("starts", [0, 1])
def test_what_was_submitted_is_cancelled_where_its_job_cannot_be_prepared_again(
    runner, queue, job_document, starts
):
    states = [runner.slot.begin(job_document["id"]) for _ in range(starts)]
    runner.values["launcher"] = cluster = Cluster(None)
    runner.error = RepositoryError("git fetch failed")
    queue.jobs.append(job_document)
    runner.run()

    assert cluster.calls == [("cancel", state.submission) for state in states]
    ((word, message),) = ends(queue)
    assert (word, message["reason"]) == ("fail", "git fetch failed")


def test_a_launcher_that_is_not_there_fails_the_job_with_its_words(
    runner, queue, job_document, monkeypatch
):
    monkeypatch.setattr("perfledger_runners.launchers.launcher.MAX_SILENCE_S", 0.0)
    runner.values["launcher"] = Cluster(LauncherError("squeue does not start"))
    runner.values["launcher"].collect = lambda _: None
    queue.jobs.append(job_document)
    runner.run()

    ((word, message),) = ends(queue)
    assert (word, message["is_final"]) == ("fail", False)
    assert message["reason"] == "no answer about it for 0 s: squeue does not start"
