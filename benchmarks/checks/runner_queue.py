"""Kills runners of one queue at random points, and counts what became of its jobs.

    python benchmarks/checks/runner_queue.py                # 2 runners, 100 jobs, 30 kills
    python benchmarks/checks/runner_queue.py --jobs 6 --kills 3 --seed 7
    python benchmarks/checks/runner_queue.py --killers 3    # three jobs kill their runner

The service, the runners, git and the database are real. In place of a check, which takes minutes, a
runner starts a child process that writes a made-up bundle within half a second; each attempt writes
another one. A killed runner (SIGKILL) is started again at once. A job that kills its runner at each
attempt must fail; every other job must end with one stored result, its own. Otherwise the program
exits with 1.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from runner_queue_runner import KILLER, MACHINE_CLASS, REPOSITORY, TOKEN
from scratch_repository import commit, git
from sqlmodel import select

from perfledger.rounding import integer
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.jobs.runner_job import RunnerJobKind, RunnerJobState
from perfledger_service.store.database import open_engine, read_session, write_session
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob, newest_runner_jobs
from perfledger_service.store.projects import project_for, project_named
from perfledger_service.store.tables import BundleRow, UploadRow
from perfledger_service.store.upgrade import upgrade
from perfledger_service.usecases.jobs.runner_queue import queue_job
from perfledger_service.usecases.server.project import add_project

RUNNER = str(Path(__file__).with_name("runner_queue_runner.py"))
MAX_LIFE_S = 1.0  # from the start of a runner's job until the runner is killed
MAX_SECONDS = 1800.0  # then something hangs


@dataclass(frozen=True)
class TrialFiles:
    """The folder of one trial: its database, its repository, its runners' state."""

    folder: Path

    @property
    def database_url(self) -> str:
        return f"sqlite:///{self.folder / 'perfledger.db'}"

    @property
    def environment(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PERFLEDGER_")}
        return inherited | {"PERFLEDGER_DATABASE_URL": self.database_url}

    def clone(self, name: str) -> Path:
        return self.folder / f"clone-{name}"


@dataclass(frozen=True)
class Trial:
    """The numbers of jobs, of kills, of runners, and of jobs that kill their runner."""

    jobs: int
    kills: int
    runners: int
    killers: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--runners", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--killers", type=int, default=0)
    arguments = parser.parse_args()
    trial = Trial(arguments.jobs, arguments.kills, arguments.runners, arguments.killers)
    generator = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        is_good = run_trial(TrialFiles(Path(folder)), trial, generator)
    sys.exit(0 if is_good else 1)


def run_trial(files: TrialFiles, trial: Trial, generator: random.Random) -> bool:
    """Run one trial and print what became of its jobs; return whether all is as it should be."""
    names = [f"runner-{number}" for number in range(trial.runners)]
    killers = set(generator.sample(range(trial.jobs), trial.killers))
    prepare(files, names, [workload_of(at, is_killer=at in killers) for at in range(trial.jobs)])
    began = time.monotonic()
    with served(files) as url:
        processes = {name: start_runner(files, name, url) for name in names}
        kills_left = trial.kills
        while count_open(files) and time.monotonic() < began + MAX_SECONDS:
            if kills_left:
                name = generator.choice(names)
                wait_for_work(files, name, processes[name])
                time.sleep(generator.uniform(0.0, MAX_LIFE_S))
                kills_left -= processes[name].poll() is None
                processes[name].kill()
                processes[name].wait()
            else:
                time.sleep(0.2)
            for name, process in processes.items():
                if process.poll() is not None:
                    processes[name] = start_runner(files, name, url)
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.wait()
    return report(files, trial, trial.kills - kills_left, time.monotonic() - began)


def prepare(files: TrialFiles, names: Sequence[str], workloads: Sequence[str]) -> None:
    """Make a repository with a clone for each runner, and a queue of jobs."""
    origin = files.folder / "origin"
    origin.mkdir()
    git(origin, "init", "--quiet", "--initial-branch", "main")
    shas = []
    for number in range(2):
        commit(origin, {"step.py": f"STEP = {number}\n"}, f"change {number}")
        shas.append(Repository.open(origin).resolve("HEAD").sha)
    for name in names:
        git(files.folder, "clone", "--quiet", str(origin), str(files.clone(name)))
    upgrade(files.database_url)
    engine, now = open_engine(files.database_url), datetime.now(UTC)
    add_project(engine, REPOSITORY, token=TOKEN, now=now)
    with write_session(engine) as session:
        project = project_for(session, REPOSITORY, now=now)
        for number, workload in enumerate(workloads):
            job = NewRunnerJob(
                key=f"trial:{number}",
                kind=RunnerJobKind.RERUN,
                machine_class=MACHINE_CLASS,
                base_sha=shas[0],
                head_sha=shas[1],
                workloads=(workload,),
            )
            queue_job(session, project.id, job, now=now)
        session.commit()
    engine.dispose()


def workload_of(number: int, *, is_killer: bool) -> str:
    return f"made:{KILLER if is_killer else 'step'}[job={number}]"


@contextmanager
def served(files: TrialFiles) -> Generator[str]:
    """Run the service in a process of its own; yields its address."""
    words = ["-m", "perfledger_service", "server", "run", "--port", "0"]
    with (files.folder / "service.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *words], stdout=subprocess.PIPE, stderr=log, env=files.environment
        )
    assert process.stdout is not None
    try:
        address = re.search(r"http://\S+", process.stdout.readline().decode())
        assert address is not None
        yield address[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        process.stdout.close()


def start_runner(files: TrialFiles, name: str, url: str) -> "subprocess.Popen[bytes]":
    words = [RUNNER, "runner", str(files.clone(name)), str(files.folder / "runners"), name, url]
    with (files.folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, *words], stdout=log, stderr=log, env=files.environment
        )


def wait_for_work(files: TrialFiles, name: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait until a runner has begun with a job, has died, or there is no job left."""
    log = files.folder / f"{name}.log"
    size = log.stat().st_size
    while log.stat().st_size == size and process.poll() is None and count_open(files):
        time.sleep(0.05)


def count_open(files: TrialFiles) -> int:
    engine = open_engine(files.database_url)
    with read_session(engine) as session:
        project = project_named(session, REPOSITORY)
        jobs = newest_runner_jobs(session, project.id, limit=10_000)
    engine.dispose()
    return sum(job.state.is_open for job in jobs)


def report(files: TrialFiles, trial: Trial, kills: int, seconds: float) -> bool:
    """Print what the database has, and return whether each job ended as it should."""
    engine = open_engine(files.database_url)
    with read_session(engine) as session:
        project = project_named(session, REPOSITORY)
        jobs = newest_runner_jobs(session, project.id, limit=10_000)
        bundles = {
            row.id: session.get_one(BundleRow, row.bundle_sha256).content
            for row in session.exec(select(UploadRow))
        }
    engine.dispose()
    workloads = {key: read_bundle(data).workloads[0].id for key, data in bundles.items()}
    killers = [job for job in jobs if KILLER in job.workloads[0]]
    failed = sum(job.state is RunnerJobState.FAILED for job in killers)
    done = [job for job in jobs if job.state is RunnerJobState.DONE]
    own_results = sum(
        job.upload_id is not None and (workloads[job.upload_id],) == job.workloads for job in done
    )
    attempts = sum(job.attempts for job in jobs)
    print(
        f"{trial.jobs} jobs, {kills} kills in {integer(seconds)} s: {len(done)} done, "
        f"{own_results} with its "
        f"own result, {len(bundles)} results stored, {attempts} attempts; {failed} of "
        f"{len(killers)} that kill their runner failed"
    )
    is_good = own_results == len(bundles) == trial.jobs - trial.killers and failed == trial.killers
    if not is_good or killers:
        log = "".join(path.read_text() for path in files.folder.glob("runner-*.log"))
        lines = log.splitlines()
        print("\n".join(lines if not is_good else [line for line in lines if " failed: " in line]))
    return is_good


if __name__ == "__main__":
    main()
