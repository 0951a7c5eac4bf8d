"""Tests `perfledger runner` with a real service, real repositories, real checks and SIGKILL."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind
from perfledger_runners.jobs.slot import JobSlot
from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.devices.quarantines import add_quarantine, device_for
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob
from perfledger_service.store.projects import project_named
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check import runner
from perfledger_service.usecases.check.runner import JobCommands, machines_here
from perfledger_service.usecases.inputs.upload_target import UploadTarget
from perfledger_service.usecases.jobs.runner_queue import jobs_of_project, queue_job
from perfledger_service.values.service_views.devices import DeviceKey
from tests.service.cli.check.workflow_machine import GUIDE, WorkflowMachine
from tests.service.git_history import GitHistory
from tests.service.short_runs import PROGRAM

ROOT = Path(__file__).parents[4]
TOKEN = "pl_0123abcd_" + "s" * 43
CONFIG = """
[tool.perfledger]
max_pairs = 4
budget = "10h"
floor = 0.25
margin = 0.3
undecided = "neutral"
"""
WORKLOAD = """
import perfledger

@perfledger.workload(unit="items", units_per_step=2)
def sums():
    def step():
        return sum(range({}))
    return step
"""


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """Work in a clone of a repository with two commits that have a workload."""
    origin = GitHistory(tmp_path / "origin")
    (origin.folder / "benchmarks").mkdir()
    (origin.folder / "pyproject.toml").write_text(CONFIG)
    for size in (20_000, 20_001):
        (origin.folder / "benchmarks" / "sums.py").write_text(WORKLOAD.format(size))
        origin.git("add", ".")
        origin.commit()
    origin.git("clone", "-q", str(origin.folder), str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return origin


@pytest.fixture
def queued(site, now):
    def queue(key="ab:1", **values):
        here = machines_here({})[-1].machine_class
        values = {"kind": RunnerJobKind.AB, "machine_class": here} | values
        with write_session(site.engine) as session:
            project = project_named(session, "octo/models")
            queue_job(session, project.id, NewRunnerJob(key=key, **values), now=now)
            session.commit()

    return queue


@pytest.fixture
def machine_class():
    return machines_here({})[-1].machine_class


@pytest.fixture
def work_off(run, site, monkeypatch):
    """Run `perfledger runner` until the queue is empty, with short checks, and return the jobs."""
    monkeypatch.setattr(runner, "PERFLEDGER", (sys.executable, *PROGRAM))

    def work_off(*words):
        words = ("runner", "--until-idle", "--upload-url", site.url, *words)
        run(*words, PERFLEDGER_UPLOAD_TOKEN=TOKEN)
        with read_session(site.engine) as session:
            project = project_named(session, "octo/models")
        return jobs_of_project(site.engine, project)

    return work_off


@pytest.mark.slow(ci_only=True)
def test_a_job_is_checked_as_a_person_would_and_its_bundle_is_its_result(
    site, clone, queued, work_off
):
    head, base = clone.git("rev-parse", "HEAD"), clone.git("rev-parse", "HEAD^")
    queued(base_sha=base, head_sha=head, workloads=("benchmarks.sums:sums",), max_pairs=4)
    (job,) = work_off()

    assert (job.state, job.reason) == ("done", "")
    with read_session(site.engine) as session:
        upload = upload_by_id(session, job.upload_id)
    assert (upload.base_sha, upload.head_sha) == (base, head)
    assert job.device_s > 0
    assert [work.upload_id for work in site.jobs.works] == [upload.id]


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("slurm")
def test_a_job_of_a_cluster_is_a_batch_job(clone, queued, work_off, machine_class):
    Path("slurm.toml").write_text('kind = "slurm"\noptions = ["--exclusive"]\n')
    head, base = clone.git("rev-parse", "HEAD"), clone.git("rev-parse", "HEAD^")
    values = {"kind": RunnerJobKind.NIGHTLY, "max_pairs": 4}
    queued(base_sha=base, head_sha=head, workloads=("benchmarks.sums:sums",), **values)
    (job,) = work_off("--launcher", "slurm.toml", "--machine-class", machine_class)

    assert (job.state, job.reason) == ("done", "")
    words = ["squeue", "--noheader", "--states=all", "--format=%T %j"]
    jobs = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert re.search("COMPLETED perfledger-[0-9a-f]{16}", jobs)


@pytest.fixture
def workflow_machine(stand_in, clone, tmp_path, monkeypatch):
    """A machine that runs the guide's workflow whenever GitHub is asked for it."""
    machine = WorkflowMachine(stand_in.state, clone.folder, tmp_path / "machine")
    stand_in.state.repository("octo/models", create=True)
    stand_in.state.workflows["octo/models/perfledger-job.yml"] = {
        "ref": "main",
        "title": "name",
        "inputs": machine.inputs,
    }

    def run_dispatched(_method, path):
        if path.endswith("/dispatches"):
            machine.run(list(stand_in.state.runs.values())[-1])

    stand_in.state.after_handling = run_dispatched
    monkeypatch.setenv("PERFLEDGER_GITHUB_API_URL", stand_in.url)
    monkeypatch.setenv("PERFLEDGER_GITHUB_TOKEN", "t0ken")
    (guide,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    Path("github.toml").write_text(guide)
    return machine


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("workflow_machine")
def test_a_job_of_github_actions_is_a_run_of_the_workflow_of_the_guide(
    site, stand_in, queued, work_off, machine_class
):
    queued(kind=RunnerJobKind.NIGHTLY, workloads=("benchmarks.sums:sums",), max_pairs=4)
    (job,) = work_off("--launcher", "github.toml", "--machine-class", machine_class)
    (value,) = stand_in.state.runs.values()

    assert (job.state, job.reason) == ("done", "")
    assert [work.upload_id for work in site.jobs.works] == [job.upload_id]
    assert value["inputs"]["max_pairs"] == "4"
    assert "t0ken" not in str(value)
    assert TOKEN not in str(value)


@pytest.mark.slow(ci_only=True)
def test_a_workflow_compares_with_the_default_branch_whatever_its_name(
    site, clone, queued, work_off, workflow_machine
):
    clone.git("branch", "-m", "trunk")
    clone.git("branch", "main", "HEAD^")  # of releases
    for words in (("fetch", "-q"), ("remote", "set-head", "origin", "trunk")):
        subprocess.run(["git", *words], check=True)
    workflow_machine.default_branch = "trunk"
    clone.commit()
    queued(kind=RunnerJobKind.NIGHTLY, workloads=("benchmarks.sums:sums",), max_pairs=4)
    here = machines_here({})[-1].machine_class
    (job,) = work_off("--launcher", "github.toml", "--machine-class", here)

    with read_session(site.engine) as session:
        upload = upload_by_id(session, job.upload_id)
    commits = clone.git("rev-parse", "HEAD^"), clone.git("rev-parse", "HEAD")
    assert (upload.base_sha, upload.head_sha) == commits


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("workflow_machine")
def test_a_workload_that_a_workflow_does_not_find_is_the_reason(queued, work_off, machine_class):
    queued(kind=RunnerJobKind.NIGHTLY, workloads=("no.such:workload",))
    (job,) = work_off("--launcher", "github.toml", "--machine-class", machine_class)

    assert job.state == "failed"
    assert "no.such:workload" in job.reason


RUNNER = """
import sys
from perfledger_service.__main__ import main
from perfledger_runners.launchers.kubernetes import job_launcher
from perfledger_service.usecases.check import runner
from tests.service.short_runs import PROGRAM
job_launcher.POLL_S = 0.1
runner.PERFLEDGER = (sys.executable, *PROGRAM)
main()
"""


@pytest.fixture
def start_runner(site, kubernetes, tmp_path, machine_class):
    """Return a function that starts a runner of a cluster, which runs its pods here."""
    kubernetes.runs_pods = True
    file = tmp_path / "kubernetes.toml"
    file.write_text(
        'kind = "kubernetes"\nnamespace = "perfledger"\n[job]\nimage = "a:1"\n'
        f'claims = {{"{tmp_path}" = "work"}}\nresources = {{cpu = 1, memory = "1Gi"}}\n'
        f'environment = {{HOME = "{tmp_path}", XDG_STATE_HOME = "{tmp_path}/state"}}\n'
    )
    words = ["--until-idle", "--upload-url", site.url, "--machine-class", machine_class]
    command = [sys.executable, "-c", RUNNER, "runner", *words, "--launcher", file]
    environment = os.environ | {"PERFLEDGER_UPLOAD_TOKEN": TOKEN, "PYTHONPATH": str(ROOT)}

    def start_runner():
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe)

    return start_runner


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("clone")
@pytest.mark.parametrize(
    "moments",
    [
        (("create", "jobs"), ("get", "jobs"), ("list", "pods"), ("get", "pods/log")),
        (("create", "jobs"), ("create", "jobs"), ("delete", "jobs")),
    ],
    ids=["until the log", "until the end"],
)
def test_a_runner_killed_in_any_request_of_its_job_measures_and_uploads_once(
    site, queued, kubernetes, start_runner, moments
):
    """A check that ends while there is no runner leaves the last moments out."""
    queued(kind=RunnerJobKind.NIGHTLY, max_pairs=4)
    left, runners, printed = [*moments], [], None

    def kill_at_the_moment(verb, resource):
        if left and left[0] == (verb, resource):
            left.pop(0)
            runners[-1].kill()

    kubernetes.at_request = kill_at_the_moment
    while not runners or runners[-1].returncode != 0:
        assert len(runners) <= len(moments), printed
        with kubernetes.lock:  # no request before it can be killed
            runners.append(start_runner())
        printed = runners[-1].communicate()

    with read_session(site.engine) as session:
        project = project_named(session, "octo/models")
    (job,) = jobs_of_project(site.engine, project)
    assert (job.state, job.reason) == ("done", "")
    assert len(runners) > 1
    assert kubernetes.began == 1
    assert [work.upload_id for work in site.jobs.works] == [job.upload_id]


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("clone")
def test_a_job_that_no_check_can_do_says_why(queued, work_off):
    queued("other class", machine_class="cuda:*")
    queued("foreign", head_sha="f" * 40)
    queued("unknown", workloads=("no.such:workload",), kind=RunnerJobKind.NIGHTLY)
    jobs = {job.key: job for job in work_off()}

    assert {key: job.state for key, job in jobs.items()} == {
        "other class": "queued",
        "foreign": "failed",
        "unknown": "failed",
    }
    assert "is on no branch of origin" in jobs["foreign"].reason
    assert "no.such:workload" in jobs["unknown"].reason


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("clone")
def test_a_job_is_not_measured_where_it_finds_itself_on_a_quarantined_device(
    queued, work_off, site, monkeypatch, now
):
    monkeypatch.setenv("PERFLEDGER_HOST", "node-7")
    machine = machines_here(os.environ)[-1]
    with write_session(site.engine) as session:
        project = project_named(session, "octo/models")
        device = device_for(session, project.id, DeviceKey.from_machine(machine))
        add_quarantine(session, device, reason="its fan", set_by="alice", since=now)
        session.commit()
    queued("launched", machine_class="cpu:of a cluster:1")

    (job,) = work_off("--machine-class", "cpu:of a cluster:1")

    assert (job.state, job.attempts) == ("queued", 1)
    assert job.reason.startswith("exit status 6: ")
    assert f"{machine.device_name} is in quarantine" in job.reason
    assert site.jobs.works == []


@pytest.mark.slow(ci_only=True)
def test_of_killed_runners_no_result_is_lost_and_none_stored_twice():
    """Two runners, six jobs, three SIGKILL at seeded points: as the benchmark, but smaller."""
    words = ["--jobs", "6", "--kills", "3", "--seed", "7"]
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "checks" / "runner_queue.py", *words],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"6 done, 6 with its own result, 6 results stored", done.stdout)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--lease", "1h30m"), "is not a duration"),
        (("--lease", "2h"), "1 s to 60 minutes"),
        (("--name", "../x"), "not a valid name of a runner"),
        (("--launcher", "absent.toml"), "absent.toml cannot be read"),
        (("--launcher", "exec.toml"), "name what they measure with --machine-class"),
    ],
)
@pytest.mark.usefixtures("clone")
def test_an_option_that_cannot_be_is_refused(run, site, words, problem):
    Path("exec.toml").write_text('kind = "exec"\ncommand = ["env", "{command}"]\n')
    words = ("runner", "--until-idle", "--upload-url", site.url, *words)

    with pytest.raises(UsageError, match=problem):
        run(*words, PERFLEDGER_UPLOAD_TOKEN=TOKEN)


@pytest.mark.usefixtures("workflow_machine")
def test_who_may_start_workflows_is_to_be_told(run, site, monkeypatch):
    monkeypatch.delenv("PERFLEDGER_GITHUB_TOKEN")
    words = ("--upload-url", site.url, "--launcher", "github.toml", "--machine-class", "cpu:*")
    with pytest.raises(SettingsError, match="set PERFLEDGER_GITHUB_TOKEN to a fine-grained token"):
        run("runner", "--until-idle", *words, PERFLEDGER_UPLOAD_TOKEN=TOKEN)


@pytest.fixture
def command_of(clone, site, tmp_path, now):
    """Return a function that returns the command for a job, without the Python that runs it."""
    commands = JobCommands(Repository.open(Path()), UploadTarget(url=site.url, token=TOKEN))

    def command_of(**values):
        head, base = clone.git("rev-parse", "HEAD"), clone.git("rev-parse", "HEAD^")
        times = {"created_at": now, "due_at": now, "base_sha": base, "head_sha": head}
        names = {"id": "j", "repository": "octo/models", "machine_class": "*"}
        job = RunnerJob(**(names | times | {"kind": RunnerJobKind.AB} | values))
        words = commands(job, JobSlot(tmp_path))
        return [
            word.replace(head, "HEAD").replace(base, "BASE").replace(f"{tmp_path}/", "")
            for word in words
            if word not in {sys.executable, "-m", "perfledger_service"}
        ]

    return command_of


def test_a_job_of_a_pull_request_is_checked_with_the_spreads_that_the_service_knows(
    command_of, tmp_path
):
    assert command_of(pull_request=7, max_pairs=8, workloads=("--build=x",)) == [
        "env",
        "PERFLEDGER_MAX_PAIRS=8",
        "check",
        "--save-bundle=bundle.json",
        "--base=BASE",
        "--head=HEAD",
        "--repository=octo/models",
        "--pull-request=7",
        "--spreads=spreads.json",
        "--workload=--build=x",
    ]
    assert json.loads((tmp_path / "spreads.json").read_text())["priors"] == []


def test_a_run_of_the_default_branch_chooses_its_base_itself(command_of):
    words = command_of(kind=RunnerJobKind.NIGHTLY, base_sha="", head_sha="")

    assert "--head=HEAD" in words
    assert not any(word.startswith("--base") for word in words)
