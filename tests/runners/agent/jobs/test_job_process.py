import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perfledger_runners.jobs.job_process import run_job_process

PYTHON = sys.executable
SLEEP = "import signal; print('begun', flush=True); signal.pause()"
STUBBORN = f"import signal; signal.signal(15, signal.SIG_IGN); {SLEEP}"
RUNNER = """
import sys
from pathlib import Path
from perfledger_runners.jobs.job_process import run_job_process
command = [sys.executable, "-c", sys.argv[2]]
run_job_process(command, folder=Path(), environment={}, log=Path(sys.argv[1]), is_over=lambda: 0)
"""


def run(code, log, *, is_over=lambda: False):
    return run_job_process(
        [PYTHON, "-c", code], folder=log.parent, environment={"A": "1"}, log=log, is_over=is_over
    )


def test_a_command_runs_in_its_folder_and_environment_and_its_words_are_kept(tmp_path):
    code = "import os, sys; print(os.getcwd(), os.environ['A']); print('why', file=sys.stderr)"

    assert run(f"{code}; sys.exit(3)", log := tmp_path / "job.log") == 3
    assert set(log.read_text().splitlines()) == {f"{tmp_path} 1", "why"}


def test_a_command_that_is_not_needed_any_more_is_ended(tmp_path):
    log = tmp_path / "job.log"

    assert run(SLEEP, log, is_over=lambda: log.exists() and "begun" in log.read_text()) is None


@pytest.mark.slow
def test_one_that_does_not_end_when_it_is_asked_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("perfledger_runners.jobs.job_process.ENDING_S", 0.01)
    log = tmp_path / "job.log"

    assert run(STUBBORN, log, is_over=lambda: log.exists() and "begun" in log.read_text()) is None


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_command_ends_when_its_runner_is_killed(tmp_path):
    fifo, log = tmp_path / "fifo", tmp_path / "job.log"
    os.mkfifo(fifo)
    # The end of what has the pipe open for writing is the end of its file.
    code = f"import os; file = open({str(fifo)!r}, 'w'); file.write('x'); file.flush(); {SLEEP}"
    words = [PYTHON, "-c", RUNNER, str(log), code]
    with subprocess.Popen(words) as runner, Path(fifo).open() as pipe:
        assert pipe.read(1) == "x"
        runner.send_signal(signal.SIGKILL)
        assert pipe.read() == ""
