import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perfledger_runners.launchers import local_processes
from perfledger_runners.launchers.command_template import CommandTemplate
from perfledger_runners.launchers.launcher import (
    LauncherError,
    SubmissionLimits,
    run_submission,
)
from perfledger_runners.launchers.local_processes import LocalProcesses

SLEEP = "import signal; print('begun', flush=True); signal.pause()"
STUBBORN = f"import signal; signal.signal(15, signal.SIG_IGN); {SLEEP}"
RUNNER = """
import sys
from pathlib import Path
from perfledger_runners.launchers.launcher import Submission, SubmissionLimits, run_submission
from perfledger_runners.launchers.local_processes import LocalProcesses
log = Path(sys.argv[1])
command = (sys.executable, "-c", sys.argv[2])
submission = Submission(
    name="x", command=command, folder=Path(), environment={}, log=log, bundle=log
)
run_submission(
    LocalProcesses(), submission, SubmissionLimits(), is_over=lambda: False, say=print
)
"""


@pytest.fixture
def run(make_submission):
    def run(code, *, launcher=None, is_over=lambda: False, limits=None, **values):
        return run_submission(
            launcher or LocalProcesses(poll_s=0.01),
            make_submission(code, **values),
            limits or SubmissionLimits(),
            is_over=is_over,
            say=print,
        )

    return run


@pytest.fixture
def has_begun(tmp_path):
    log = tmp_path / "job.log"
    return lambda: log.exists() and "begun" in log.read_text()


def test_a_command_runs_in_its_folder_and_environment_and_its_words_are_kept(run, tmp_path):
    code = "import os, sys; print(os.getcwd(), os.environ['A']); print('why', file=sys.stderr)"

    assert run(f"{code}; sys.exit(3)").exit_status == 3
    assert set((tmp_path / "job.log").read_text().splitlines()) == {f"{tmp_path} 1", "why"}


def test_a_command_that_is_not_needed_any_more_is_ended(run, has_begun):
    assert run(SLEEP, is_over=has_begun) is None


@pytest.mark.slow
def test_one_that_does_not_end_when_it_is_asked_is_killed(run, has_begun, monkeypatch):
    monkeypatch.setattr(local_processes, "ENDING_S", 0.01)

    assert run(STUBBORN, is_over=has_begun) is None


def test_one_that_a_signal_ends_says_which(run):
    ending = run("import os; os.kill(os.getpid(), 9)")

    assert (ending.exit_status, ending.reason) == (None, "signal 9 (Killed) ended it")


def test_one_that_runs_too_long_is_ended(run, monkeypatch):
    monkeypatch.setattr("perfledger_runners.launchers.launcher.OVERTIME_S", 0.0)
    ending = run(SLEEP, limits=SubmissionLimits(run_s=0.0))

    assert ending.reason == "it ran longer than 0 s"


def test_one_that_prints_without_end_is_ended(run, monkeypatch):
    monkeypatch.setattr(local_processes, "MAX_LOG_BYTES", 10)
    ending = run(f"print('x' * 100); {SLEEP}")

    assert ending.reason.startswith("it printed more than")


def test_a_program_of_a_template_gets_the_command(run, tmp_path):
    template = CommandTemplate.of(("env", "B={name}", "sh", "-c", "{shell_command}"))

    assert run("import os; print(os.environ['B'])", launcher=LocalProcesses(template)).reason == ""
    assert (tmp_path / "job.log").read_text() == "perfledger-1\n"


def test_a_program_that_is_not_there_is_named(run):
    launcher = LocalProcesses(CommandTemplate.of(("no-such-program", "{command}")))

    with pytest.raises(LauncherError, match="no-such-program does not start"):
        run("pass", launcher=launcher)


def test_what_a_program_started_elsewhere_is_cancelled_by_name(run, has_begun, tmp_path):
    note = tmp_path / "note"
    template = CommandTemplate(("{command}",))
    cancel = CommandTemplate.of_cancel(("touch", f"{note}-{{name}}"))

    assert run("pass", launcher=LocalProcesses(template, cancel)).exit_status == 0
    assert not Path(f"{note}-perfledger-1").exists()
    assert run(SLEEP, launcher=LocalProcesses(template, cancel), is_over=has_begun) is None
    assert Path(f"{note}-perfledger-1").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_command_ends_when_its_runner_is_killed(tmp_path):
    fifo, log = tmp_path / "fifo", tmp_path / "job.log"
    os.mkfifo(fifo)
    # The end of what has the pipe open for writing is the end of its file.
    code = f"import os; file = open({str(fifo)!r}, 'w'); file.write('x'); file.flush(); {SLEEP}"
    words = [sys.executable, "-c", RUNNER, str(log), code]
    with subprocess.Popen(words) as runner, Path(fifo).open() as pipe:
        assert pipe.read(1) == "x"
        runner.send_signal(signal.SIGKILL)
        assert pipe.read() == ""


def test_no_code_of_the_runner_runs_between_fork_and_exec(run):
    calls = []
    os.register_at_fork(before=lambda: calls.append("forked"))  # as JAX does, which warns

    assert run("pass").exit_status == 0
    assert calls == []
