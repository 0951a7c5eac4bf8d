"""Tests batch jobs with a real Slurm of one machine; what it rarely says is recorded output."""

import json
import os
import re
import select
import subprocess
import sys

import pytest

from perfledger_runners.launchers import slurm, slurm_accounting
from perfledger_runners.launchers.engine_tool import ToolAnswer
from perfledger_runners.launchers.launcher import (
    RESULT_WAIT_S,
    LauncherError,
    SubmissionLimits,
    SubmissionState,
    run_submission,
)
from perfledger_runners.launchers.slurm import (
    JOB_SCRIPT,
    MAX_SLURM_OPTIONS,
    SlurmLauncher,
    SlurmRecord,
    read_exit_file,
)
from tests.slurm_cluster import ACCOUNTING_PROGRAMS

# The first time it writes which process of Slurm's holds it, and waits; the second time it ends.
FIRST_TIME = """
import os, pathlib, signal
note = pathlib.Path("begun")
if not note.exists():
    script = pathlib.Path(f"/proc/{os.getppid()}/stat").read_text()
    pathlib.Path("new").write_text(script.rpartition(")")[2].split()[1])
    pathlib.Path("new").rename(note)
    signal.pause()
print("the second time")
"""
ECHO = """
import json, os, sys
print(json.dumps([sys.argv[1:], os.getcwd(), os.environ["A"]]))
raise SystemExit(3)
"""
HOSTILE = [
    "a b",
    "$(touch /tmp/owned)",
    "; exit 9",
    "'\"",
    "--wrap=id",
    "line\nline",
    "#SBATCH -a 1-9",
]


@pytest.fixture
def launcher():
    options = ("--exclusive", "--gres=gpu:h200:1")
    return SlurmLauncher(options=options, time_limit_minutes=5, poll_s=0.05)


@pytest.fixture
def run(launcher, make_submission, request):
    """Run a program as a batch job; `at_start` is called once, when it has written `begun`."""
    request.getfixturevalue("slurm")

    def run(code, *arguments, at_start=None, **values):
        lines, submission = [], make_submission(code)
        submission = make_submission(
            code, **({"command": (*submission.command, *arguments)} | values)
        )
        calls = [] if at_start is None else [at_start]

        def is_over():
            if calls and (submission.folder / "begun").exists():
                return calls.pop()()
            return False

        ending = run_submission(
            launcher, submission, SubmissionLimits(), is_over=is_over, say=lines.append
        )
        return ending, lines

    return run


def queue_of(name):
    words = ["squeue", "--noheader", "--states=all", f"--name={name}", "--format=%T"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.slow
def test_a_job_gets_its_words_as_they_are_and_its_exit_status_comes_back(run, slurm, tmp_path):
    folder = tmp_path / "a %j folder"
    folder.mkdir()
    ending, lines = run(ECHO, *HOSTILE, folder=folder, log=folder / "job.log")

    assert (ending.exit_status, ending.reason) == (3, "")
    assert ending.node.startswith(slurm.host)
    assert json.loads((folder / "job.log").read_text()) == [HOSTILE, str(folder), "1"]
    assert f"it ended on {ending.node}" in lines[-2:]
    assert [path.name for path in folder.iterdir()] == ["job.log"]


@pytest.mark.slow
def test_a_job_that_is_not_needed_any_more_is_cancelled(run):
    ending, lines = run(FIRST_TIME, name="perfledger-c", at_start=lambda: True)

    assert ending is None
    assert not any(line.startswith("it ended") for line in lines)
    assert queue_of("perfledger-c") in (["CANCELLED"], ["COMPLETING"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", ["node", pytest.param("preemption", marks=pytest.mark.slow(ci_only=True))]
)
def test_a_job_that_loses_its_node_begins_again_and_keeps_its_result(run, slurm, tmp_path, fault):
    """A node that fails, and a job of a higher partition that takes it."""
    name = f"perfledger-{fault}"

    def take_node():
        if fault == "node":
            process = os.pidfd_open(int((tmp_path / "begun").read_text()))
            slurm.node_state("down")
            select.select([process], [], [])  # until it is gone
            os.close(process)
            slurm.node_state("idle")
        else:
            words = ["sbatch", "--wait", "--partition=urgent", "--exclusive", "--wrap=true"]
            subprocess.run([*words, "--output=/dev/null"], check=True, capture_output=True)
        # Slurm waits for two minutes before it begins a job again. A node refuses a job that begins
        # within the second in which it was killed there.
        slurm.control("update", f"jobname={name}", "starttime=now+2")
        return False

    ending, _ = run(FIRST_TIME, name=name, at_start=take_node)

    assert ending.exit_status == 0
    assert ending.usage.endswith(" in 2 runs") is slurm.has_accounting
    assert "the second time" in (tmp_path / "job.log").read_text()
    assert len(queue_of(name)) == 1


@pytest.mark.slow(ci_only=True)
def test_a_job_that_slurm_does_not_begin_again_says_why(run):
    def cancel():
        subprocess.run(["scancel", "--name=perfledger-x"], check=True)
        return False

    ending, _ = run(FIRST_TIME, name="perfledger-x", at_start=cancel)

    assert ending.exit_status is None
    assert ending.reason.startswith("it was cancelled in Slurm")


@pytest.fixture
def accounting(require_system, slurm):
    """The Slurm, which has slurmdbd."""
    for program in ACCOUNTING_PROGRAMS:
        package = "slurmdbd and mariadb-server-core"
        require_system(program, package=package, folders=["/usr/sbin"])
    return slurm


@pytest.mark.slow
@pytest.mark.usefixtures("accounting")
def test_accounting_says_what_a_job_used(run):
    """The job lasts more than a second, as Slurm counts whole ones."""
    ending, lines = run("import time; time.sleep(1.1)", name="perfledger-used")
    columns = "--format=ElapsedRaw,AllocTRES"
    words = ["sacct", "--noheader", "--parsable2", "--allocations", "--name=perfledger-used"]
    record = subprocess.run([*words, columns], capture_output=True, text=True, check=True).stdout

    assert ending.exit_status == 0
    seconds = int(record.partition("|")[0])
    assert seconds >= 1
    assert "cpu=2,gres/gpu=1," in record
    assert lines[-1] == ending.usage
    assert re.fullmatch(r"Slurm's accounting: \S+ GPU hours and \S+ CPU hours in 1 run", lines[-1])
    gpu_hours, cpu_hours = map(float, re.findall(r"0\.[0-9]+", lines[-1]))
    assert 0 < gpu_hours <= seconds / 3600 * 1.01
    assert cpu_hours == pytest.approx(2 * gpu_hours, rel=0.01)


@pytest.mark.slow
@pytest.mark.usefixtures("accounting")
def test_a_job_that_squeue_forgot_has_its_reason_from_accounting(
    launcher, make_submission, monkeypatch
):
    submission = make_submission(name="perfledger-forgotten", code="import signal; signal.pause()")
    launcher.submit(submission)
    while queue_of(submission.name) != ["RUNNING"]:
        select.select([], [], [], 0.1)
    subprocess.run(["scancel", f"--name={submission.name}"], check=True)
    words = ["sacct", "--noheader", "--allocations", f"--name={submission.name}", "--format=State"]
    while b"CANCELLED" not in subprocess.run(words, capture_output=True, check=True).stdout:
        select.select([], [], [], 0.1)
    monkeypatch.setattr(slurm, "run_tool", lambda *_, **__: ToolAnswer(0, b"", ""))
    status = launcher.status(submission)

    assert status.state is SubmissionState.ENDED
    assert status.reason.startswith("it was cancelled in Slurm")
    assert status.usage.endswith(" in 1 run")


@pytest.mark.slow
@pytest.mark.usefixtures("slurm")
def test_a_runner_that_was_killed_finds_its_job_again(launcher, make_submission):
    submission = make_submission(name="perfledger-again")
    launcher.submit(submission)
    launcher.submit(submission)
    other = SlurmLauncher(time_limit_minutes=5, poll_s=0.05)
    ending = run_submission(other, submission, SubmissionLimits(), is_over=lambda: False, say=print)

    assert ending.exit_status == 0
    assert len(queue_of(submission.name)) == 1  # which Slurm may still be completing


@pytest.mark.slow
@pytest.mark.usefixtures("slurm")
def test_a_job_waits_with_the_reason_and_a_wrong_option_is_refused(make_submission):
    waiting = SlurmLauncher(options=("--begin=now+1hour",), time_limit_minutes=5)
    submission = make_submission(name="perfledger-w")
    waiting.submit(submission)
    status = waiting.status(submission)
    waiting.cancel(submission.name)

    assert status.state is SubmissionState.WAITING
    wrong = SlurmLauncher(options=("--partition=none",), time_limit_minutes=5)
    with pytest.raises(LauncherError, match=r"sbatch failed: .*invalid partition"):
        wrong.submit(make_submission(name="perfledger-n"))


@pytest.mark.slow
@pytest.mark.parametrize("stop", [False, True])
def test_the_script_writes_an_exit_status_unless_it_is_ended(tmp_path, stop):
    exit_file = tmp_path / "exit"
    exit_file.write_text("0")
    code = (
        "import signal; print('begun', flush=True); signal.pause()"
        if stop
        else "raise SystemExit(7)"
    )
    words = ["sh", str(JOB_SCRIPT), str(exit_file), sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        if stop:
            process.stdout.readline()
            process.terminate()
        assert process.wait() == (143 if stop else 7)

    assert read_exit_file(exit_file) == (None if stop else 7)
    assert [path.name for path in tmp_path.iterdir()] == ([] if stop else ["exit"])


class PaperSlurm:
    """Answers of squeue and sacct; None is a controller that is away."""

    def __init__(self, squeue="", sacct=None):
        self.squeue, self.sacct = squeue, sacct

    def run_tool(self, words, **_):
        if words[0] == "squeue" and self.squeue is None:
            msg = "squeue failed: slurm_load_jobs error: Unable to contact slurm controller"
            raise LauncherError(msg)
        return ToolAnswer(0, self.squeue.encode() if words[0] == "squeue" else b"", "")

    def ask_tool(self, words, **_):
        assert words[0] == "sacct"
        if self.sacct is None:
            return ToolAnswer(1, b"", "Slurm accounting storage is disabled")
        return ToolAnswer(0, self.sacct.encode(), "")


@pytest.fixture
def status_of(make_submission, monkeypatch):
    """Return the status of a job of which Slurm says this, asked twice, `after` seconds apart."""

    def status_of(squeue="", sacct=None, *, exit_file=None, after=0.0):
        paper = PaperSlurm(squeue, sacct)
        monkeypatch.setattr(slurm, "accounted_usage", lambda *_: "")
        monkeypatch.setattr(slurm, "run_tool", paper.run_tool)
        monkeypatch.setattr(slurm_accounting, "ask_tool", paper.ask_tool)
        submission, times = make_submission(), iter([0.0, 0.0, after, after])
        if exit_file is not None:
            submission.log.with_name("perfledger-1.exit").write_text(exit_file)
        launcher = SlurmLauncher(time_limit_minutes=5, clock=lambda: next(times))
        launcher.status(submission)
        return launcher.status(submission)

    return status_of


@pytest.mark.parametrize(
    ("line", "state", "text"),
    [
        ("7|PENDING|Resources||0:00", "waiting", "Resources"),
        ("7|PENDING|launch failed requeued held||0:00", "waiting", "launch failed requeued held"),
        ("7|REQUEUE_HOLD|None||0:00", "waiting", ""),
        ("7|CONFIGURING|None|gpu[1-2]|0:00", "waiting", ""),
        ("7|RUNNING|None|gpu1|1:02:03", "running", "gpu1"),
        ("7|SUSPENDED|None|gpu1|0:10", "running", "gpu1"),
        ("6|PREEMPTED|None|gpu2|0:10\n7|RUNNING|None|gpu1|0:01", "running", "gpu1"),
        ("7|TIMEOUT|TimeLimit|gpu1|5:00", "ended", "at its time limit (TimeLimit, gpu1, 5:00)"),
        ("7|NODE_FAIL|None|gpu1|0:10", "ended", "its node failed (gpu1, 0:10)"),
        ("7|OUT_OF_MEMORY|OutOfMemory|gpu1|0:10", "ended", "more memory than Slurm gave it"),
        ("7|PREEMPTED|None|gpu1|0:10", "ended", "preempted and not queued again"),
        ("7|CANCELLED by 1000|None|gpu1|0:10", "ended", "cancelled in Slurm"),
        ("7|CANCELLED+|None|gpu1|0:10", "ended", "cancelled in Slurm"),
        ("7|NEW_STATE|None||0:00", "ended", "Slurm ended it as NEW_STATE"),
    ],
)
@pytest.mark.parametrize("source", ["squeue", "sacct"])
def test_each_state_of_slurm_has_its_meaning(status_of, line, state, text, source):
    status = status_of(**{source: line})

    assert status.state == state
    assert status.exit_status is None
    assert text in status.reason + status.node


def test_an_exit_status_counts_whatever_slurm_says(status_of):
    for squeue in ("7|RUNNING|None|gpu1|1:00", None, ""):
        assert status_of(squeue, exit_file="3\n").exit_status == 3


@pytest.mark.parametrize(
    "line", ["", "7|COMPLETED|None|gpu1|0:10", "7|FAILED|NonZeroExitCode|gpu1|0:10"]
)
def test_a_job_that_left_no_exit_status_is_waited_for_and_then_not_green(status_of, line):
    assert status_of(line, after=RESULT_WAIT_S - 1).state is SubmissionState.RUNNING
    status = status_of(line, after=RESULT_WAIT_S)

    assert (status.state, status.exit_status) == (SubmissionState.ENDED, None)
    assert "exit status" in status.reason


def test_a_controller_that_is_away_is_an_error(status_of):
    with pytest.raises(LauncherError, match="Unable to contact slurm controller"):
        status_of(None)


@pytest.mark.parametrize("content", ["", "-1", "256", "0 0", "3\x00", "٣", "9" * 5000, "\x1b[2J"])
def test_an_exit_file_that_is_none_is_an_error(tmp_path, content):
    path = tmp_path / "exit"
    path.write_text(content)

    with pytest.raises(LauncherError, match="should contain an exit status"):
        read_exit_file(path)


@pytest.mark.parametrize("line", ["7|RUNNING", "x" * 10_000, "|" * 50, "slurm: error"])
def test_a_line_that_is_no_record_is_an_error(line):
    with pytest.raises(LauncherError, match="not a record of a job"):
        SlurmRecord.of_line(line)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("-p", "gpu"), "write each as one word"),
        (("gpu",), "write each as one word"),
        (("--",), "write each as one word"),
        (("--comment=a\nb",), "write each as one word"),
        (("--wrap=id",), "the launcher sets itself"),
        (("--wra=id",), "the launcher sets itself"),
        (("--output=/etc/passwd",), "the launcher sets itself"),
        (("--array=1-9",), "the launcher sets itself"),
        (("--clusters=all",), "the launcher sets itself"),
        (("--gres=gpu",) * (MAX_SLURM_OPTIONS + 1), "may have"),
        (("--comment=" + "x" * 1000,), "may have"),
    ],
)
def test_options_that_would_change_what_runs_are_refused(options, problem):
    with pytest.raises(LauncherError, match=problem):
        SlurmLauncher(options=options, time_limit_minutes=1)


def test_usual_options_are_taken():
    options = ("--partition=gpu", "--gres=gpu:h100:1", "--exclusive", "--mem=0", "--nodes=1")

    assert SlurmLauncher(options=options, time_limit_minutes=1).options == options


def test_a_machine_without_slurm_says_what_is_missing(make_submission, monkeypatch):
    monkeypatch.setitem(os.environ, "PATH", "")
    with pytest.raises(LauncherError, match="squeue does not start"):
        SlurmLauncher(time_limit_minutes=1).submit(make_submission())
