"""Works through the jobs of a service's queue, one at a time."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from perfledger.records import short_sha
from perfledger.rounding import digits
from perfledger_runners.bundles.files import MAX_PLAIN_BYTES, read_bundle
from perfledger_runners.bundles.service_requests import ServiceRequestError
from perfledger_runners.bundles.value_checks import BundleError
from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.jobs.commits import JobRefusedError
from perfledger_runners.jobs.lease_keeper import LeaseKeeper
from perfledger_runners.jobs.runner_deaths import blame
from perfledger_runners.jobs.runner_job import RunnerJob
from perfledger_runners.jobs.service_queue import JobLostError, ServiceJobs
from perfledger_runners.jobs.slot import JobSlot, SlotState
from perfledger_runners.launchers.launcher import (
    Launcher,
    LauncherError,
    Submission,
    SubmissionLimits,
    SubmissionState,
    SubmissionStatus,
    cancel_submission,
    run_submission,
)
from perfledger_runners.launchers.local_processes import LocalProcesses
from perfledger_runners.machine.memory_state import count_memory_kills
from perfledger_runners.safe_text import MAX_LOG_TAIL_BYTES, last_line, tail_of_text

DEFAULT_POLL_S = 15.0  # between requests for a job; --poll sets another
MAX_BACK_OFF_S = 300.0  # between requests to a service that does not answer
DEFAULT_DRAIN_S = 600.0  # as long as a check may take by default
USAGE_STATUS, NOT_MEASURED_STATUS = 2, 3  # exit statuses that another attempt would not change


class JobCommand(Protocol):
    """A callable that prepares a job.

    It raises JobRefusedError if the job must not run, and RepositoryError.
    """

    def __call__(self, job: RunnerJob, slot: JobSlot) -> Sequence[str]:
        """Return the command that measures the job and writes its bundle into the slot."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    """How a runner works: its name, what it can measure, its devices, and its times."""

    name: str
    machine_classes: tuple[str, ...]
    # Names of the devices that measure a machine class, as far as known.
    devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    lease_s: float
    poll_s: float = DEFAULT_POLL_S
    drain_s: float = DEFAULT_DRAIN_S


@dataclass(slots=True, kw_only=True)
class Drain:
    """Whether a runner has to stop, and when at the latest."""

    clock: Callable[[], float] = time.monotonic
    _is_asked: threading.Event = field(default_factory=threading.Event)
    _until: float = 0.0

    @property
    def is_asked(self) -> bool:
        """Return whether to take no more jobs."""
        return self._is_asked.is_set()

    @property
    def is_over(self) -> bool:
        """Return whether the time for the job in progress is over, too."""
        return self.is_asked and self.clock() >= self._until

    def ask(self, within_s: float) -> None:
        """Take no more jobs, and end the one in progress after this many seconds."""
        self._until = self.clock() + within_s
        self._is_asked.set()

    def wait(self, seconds: float) -> None:
        """Wait, at most until a stop is requested."""
        self._is_asked.wait(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRunner:
    """A runner with its queue, its folder, and the command that it runs for a job."""

    jobs: ServiceJobs
    slot: JobSlot
    command: JobCommand
    folder: Path
    environment: Mapping[str, str]
    options: RunnerOptions
    say: Callable[[str], None]
    drain: Drain
    launcher: Launcher = field(default_factory=LocalProcesses)
    limits: SubmissionLimits = field(default_factory=SubmissionLimits)
    memory_kills: Callable[[], int | None] = count_memory_kills

    def run(self, *, is_until_idle: bool = False) -> None:
        """Take jobs until the runner drains, or until there are none.

        It first finishes what its last process left: a bundle is sent, a job is taken again. A
        service that does not answer is asked again after increasing waits.
        """
        failures = 0
        while not self.drain.is_asked:
            try:
                job = self._next_job()
                failures = 0
                if job is not None:
                    self._work_on(job)
                elif is_until_idle:
                    return
                else:
                    self.drain.wait(self.options.poll_s)
            except ServiceRequestError as error:
                wait_s = min(MAX_BACK_OFF_S, self.options.poll_s * 2**failures)
                failures += 1
                self.say(f"{error}; asking again in {digits(wait_s, 3)} s")
                self.drain.wait(wait_s)

    def _next_job(self) -> RunnerJob | None:
        """Return the job of the slot's lease, or the next one, after sending what was left."""
        state = self.slot.state()
        if state.job_id and self.slot.bundle.exists():
            self._send(state.job_id)
            state = self.slot.state()
        job = self.jobs.take(
            runner=self.options.name,
            machine_classes=self.options.machine_classes,
            devices=self.options.devices,
            lease=state.lease,
            lease_s=self.options.lease_s,
        )
        if job is None or (state.job_id and job.id != state.job_id):
            # The job left behind is now another runner's, so its files are of no use.
            if state.job_id:
                self._cancel_earlier(state)
            self.slot.bundle.unlink(missing_ok=True)
            if job is None and state.job_id:  # else each request for a job would cancel it again
                self.slot.clear(has_died=True)
        return job

    def _work_on(self, job: RunnerJob) -> None:
        """Do a job and end it; raise ServiceRequestError if the end cannot be reported."""
        try:
            self._measure(job)
        except ServiceRequestError:
            self.slot.survive()
            raise

    def _measure(self, job: RunnerJob) -> None:
        state = self.slot.begin(job.id, memory_kills=self.memory_kills())
        self.say(f"job {job.id}: {job.kind} of {job.repository} {short_sha(job.head_sha)}".rstrip())
        keeper = LeaseKeeper(self.jobs, job.id, state.lease, lease_s=self.options.lease_s)
        with keeper:
            reason = blame(state.starts - 1, state.memory_deaths, self.slot.earlier_starts())
            if reason and not self.launcher.outlives_runner:
                self._fail(job, reason, is_final=True)
                return
            try:
                command = self.command(job, self.slot)
            except (JobRefusedError, RepositoryError) as error:
                if state.starts > 1:
                    self._cancel_earlier(state)
                self._fail(job, str(error), is_final=isinstance(error, JobRefusedError))
                return
            submission = Submission(
                name=state.submission,
                command=tuple(command),
                folder=self.folder,
                environment=self.environment,
                log=self.slot.log,
                bundle=self.slot.bundle,
            )
            try:
                ending = run_submission(
                    self.launcher,
                    submission,
                    self.limits,
                    is_over=lambda: keeper.is_lost or self.drain.is_over,
                    say=lambda line: self.say(f"job {job.id}: {line}"),
                )
            except LauncherError as error:
                ending = SubmissionStatus(state=SubmissionState.ENDED, reason=str(error))
            self._end(job, ending, is_lost=keeper.is_lost)

    def _cancel_earlier(self, state: SlotState) -> None:
        """Cancel what an earlier process of this runner submitted, if it still runs."""
        if self.launcher.outlives_runner:
            cancel_submission(self.launcher, state.submission, self.say)

    def _end(self, job: RunnerJob, ending: SubmissionStatus | None, *, is_lost: bool) -> None:
        """Upload a job's result, or report why there is none."""
        status = None if ending is None else ending.exit_status
        if is_lost:
            self.say(f"job {job.id} is no longer this runner's: stopped")
            self.slot.clear()
        elif self.slot.bundle.exists():
            self._send_readable(job)
        elif ending is None:
            self.say(f"job {job.id} goes back to the queue: the runner is shutting down")
            self._tell(lambda lease: self.jobs.give_back(job.id, lease))
        elif status in job.kind.statuses_without_bundle:
            reason = self._last_words()
            self.say(f"job {job.id} is done without a bundle: {reason}")
            self._tell(lambda lease: self.jobs.finish(job.id, lease, reason=reason))
        else:
            why = ending.reason if status is None else f"exit status {status}"
            words = self._last_words()
            reason = f"{why}: {words}" if words else why
            self._fail(job, reason, is_final=status in {USAGE_STATUS, NOT_MEASURED_STATUS})

    def _send_readable(self, job: RunnerJob) -> None:
        """Send the slot's bundle if it arrived as it was written."""
        try:
            with self.slot.bundle.open("rb") as file:
                read_bundle(file.read(MAX_PLAIN_BYTES + 1))
        except (BundleError, OSError) as error:
            self._fail(job, f"its bundle is damaged: {error}", is_final=False)
        else:
            self._send(job.id)

    def _send(self, job_id: str) -> None:
        """Send the slot's bundle; one that the service refuses is dropped."""
        try:
            receipt = self.jobs.send(job_id, self.slot.bundle)
        except JobLostError as error:
            self.say(f"job {job_id}: {error}")
        else:
            self.say(f"job {job_id} is done: {receipt.url}")
        self.slot.clear()

    def _fail(self, job: RunnerJob, reason: str, *, is_final: bool) -> None:
        self.say(f"job {job.id} failed: {reason}")
        self._tell(lambda lease: self.jobs.fail(job.id, lease, reason=reason, is_final=is_final))

    def _tell(self, message: Callable[[str], None]) -> None:
        """Report the end of a job; if there is no answer, its lease expires."""
        try:
            message(self.slot.state().lease)
        except ServiceRequestError as error:
            self.say(str(error))
        self.slot.clear()

    def _last_words(self) -> str:
        try:
            with self.slot.log.open("rb") as file:
                file.seek(max(0, self.slot.log.stat().st_size - MAX_LOG_TAIL_BYTES))
                data = file.read(MAX_LOG_TAIL_BYTES)
        except OSError:  # it never began
            return ""
        return last_line(tail_of_text(data.decode(errors="replace"), MAX_LOG_TAIL_BYTES))
