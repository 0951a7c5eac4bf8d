"""A stand-in for GitHub on which something happens at each poll, and a clock that waits move."""

import importlib
import io
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import SecretStr

from perfledger_runners.launchers.github_actions.workflow_launcher import WorkflowLauncher
from perfledger_runners.launchers.launcher import SubmissionLimits, run_submission
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.workflow_runs import GitHubWorkflowRuns

EXAMPLES = Path(__file__).parents[5] / "examples"
REPOSITORY, WORKFLOW = "octo/models", "perfledger-job.yml"
NAME, HEAD = "perfledger-1", "a" * 40
POLL_S = 60.0
FAILED_JOB = {
    "id": 600,
    "conclusion": "failure",
    "runner_name": "gpu7",
    "steps": [{"name": "Measure", "conclusion": "failure"}],
}


class TestClock:
    """Time that passes only where somebody waits."""

    __test__ = False

    def __init__(self):
        self.elapsed_s = 0.0
        self.begin = datetime.now(UTC)

    def now(self):
        return self.begin + timedelta(seconds=self.elapsed_s)

    def monotonic(self):
        return self.elapsed_s

    def wait(self, seconds):
        self.elapsed_s += seconds


class GitHubSteps:
    """What may happen to the run that was dispatched last."""

    def __init__(self, server):
        self.state = server.state

    @property
    def run(self):
        return list(self.state.runs.values())[-1]

    def queue(self):
        self.run["jobs"] = [{"id": 600, "labels": ["self-hosted", "gpu"]}]

    def start(self):
        self.run.update(status="in_progress", jobs=[{"id": 600, "runner_name": "gpu7"}])

    def end(self, conclusion="success", files=None, data=None, jobs=()):
        """End the run, with what it kept."""
        if files is not None:
            data = archive_of(files)
        if data is not None:
            entry = {"id": 900, "run": str(self.run["id"]), "name": "perfledger-job"}
            self.state.archives["900"] = entry | {"data": data}
        jobs = list(jobs) or self.run["jobs"]
        self.run.update(status="completed", conclusion=conclusion, jobs=jobs)

    def succeed(self):
        self.end(files={"exit_status": "0", "job.log": "fine\n", "bundle.json": "{}"})

    def fail(self):
        log = b"2026-11-28T12:00:00.0000000Z ##[error]no torch\nCleaning up\n"
        self.state.archives["600"] = {"id": 600, "name": "", "data": log}
        self.end("failure", jobs=[FAILED_JOB])

    def hide(self):
        """Make GitHub slow to show its runs."""
        self.hidden, self.state.runs = self.state.runs, {}

    def show(self):
        self.state.runs = self.hidden

    def late(self):
        """Carry out what was hung up on."""
        late, self.state.late = self.state.late, []
        for handle in late:
            handle()


def archive_of(files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.fixture(scope="module")
def stand_in_module():
    sys.path.insert(0, str(EXAMPLES))
    yield importlib.import_module("github_stand_in")
    sys.path.remove(str(EXAMPLES))


@pytest.fixture
def stand_in(stand_in_module):
    """A server with a repository that has the workflow."""
    with stand_in_module.running() as server:
        state = server.state
        state.repository(REPOSITORY, create=True)
        state.workflows[f"{REPOSITORY}/{WORKFLOW}"] = {
            "ref": "main",
            "title": "name",
            "inputs": ["name", "head", "arguments", "max_pairs", "spreads"],
        }
        yield server


@pytest.fixture
def steps(stand_in):
    return GitHubSteps(stand_in)


@pytest.fixture
def clock():
    return TestClock()


@pytest.fixture
def make_launcher(stand_in, clock):
    """Return a function that returns the launcher of a new process of the runner."""

    def make_launcher(**values):
        api = GitHubApi(
            stand_in.url, write_interval_s=0.0, sleep=clock.wait, monotonic=clock.monotonic
        )
        runs = GitHubWorkflowRuns(api, SecretStr("t0ken"), REPOSITORY)
        defaults = {"workflow": WORKFLOW, "ref": "main", "now": clock.now, "wait": clock.wait}
        return WorkflowLauncher(runs=runs, **(defaults | values))

    return make_launcher


@pytest.fixture
def job(make_submission):
    """The submission of a check."""
    words = ("python", "-m", "perfledger_service", "check", f"--head={HEAD}")
    return make_submission(name=NAME, command=words)


@pytest.fixture
def run(make_launcher, clock, job):
    """Run the check; at each poll one of `happenings` happens, and a minute passes."""

    def run(happenings=(), *, is_over=lambda: False, **values):
        left, lines = [*happenings], []

        def wait_for_poll(_):
            clock.wait(POLL_S)
            if left:
                left.pop(0)()

        ending = run_submission(
            make_launcher(**values),
            job,
            SubmissionLimits(wait_s=7200.0, run_s=3600.0),
            is_over=is_over,
            say=lines.append,
            clock=clock.monotonic,
            wait=wait_for_poll,
        )
        return SimpleNamespace(ending=ending, lines=lines)

    return run
