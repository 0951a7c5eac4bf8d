"""Runs submissions as batch jobs of Slurm.

The words of a command are arguments of a script of this package (`slurm_job.sh`), so no shell reads
them. Log, bundle and exit status are files in a folder that the runner and the nodes share. The
exit status decides; without one, Slurm's own state of the job says why. Where Slurm has accounting,
it also says what a job used.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfledger_runners.launchers.engine_tool import run_tool
from perfledger_runners.launchers.launcher import (
    RESULT_WAIT_S,
    LauncherError,
    Submission,
    SubmissionState,
    SubmissionStatus,
)
from perfledger_runners.launchers.slurm_accounting import accounted_usage, ask_sacct
from perfledger_runners.safe_text import clean_text

JOB_SCRIPT = Path(__file__).with_name("slurm_job.sh")
POLL_S = 5.0  # a controller has many users, so it is not polled in a tight loop
MAX_EXIT_FILE_BYTES = 100
MAX_SLURM_OPTIONS = 50
MAX_SLURM_OPTION = 1000  # characters of one
MAX_NODES_TEXT = 200
# Options that the launcher sets itself, or that would not give exactly one batch job.
OWN_OPTIONS = (
    *(
        "array",
        "chdir",
        "clusters",
        "error",
        "export",
        "export-file",
        "help",
        "hold",
        "input",
        "job-name",
    ),
    *("no-requeue", "open-mode", "output", "parsable", "quiet", "test-only", "time", "usage"),
    *("version", "wait", "wrap"),
)
WAITING_STATES = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD"}
    | {"SPECIAL_EXIT"}
)
RUNNING_STATES = frozenset(
    {"RUNNING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED"}
)
# It ended by itself, so its exit file exists or will arrive.
SELF_ENDED_STATES = frozenset({"COMPLETED", "FAILED"})
REASONS = {
    "BOOT_FAIL": "its node did not boot",
    "CANCELLED": "it was cancelled in Slurm",
    "DEADLINE": "it could not end before its deadline",
    "NODE_FAIL": "its node failed",
    "OUT_OF_MEMORY": "it used more memory than Slurm gave it (--mem)",
    "PREEMPTED": "it was preempted and not queued again",
    "REVOKED": "another cluster of the federation took it",
    "TIMEOUT": "Slurm ended it at its time limit",
}
_SQUEUE_FORMAT = "%i|%T|%r|%N|%M"
_SACCT_FORMAT = "JobIDRaw,State,Reason,NodeList,Elapsed"


@dataclass(frozen=True, slots=True)
class SlurmRecord:
    """One line of squeue or sacct about a job."""

    state: str
    reason: str
    nodes: str
    elapsed: str

    @classmethod
    def of_line(cls, line: str) -> "SlurmRecord":
        """Return the record of a line of five columns; raise LauncherError for any other line."""
        columns = clean_text(line).split("|")
        if len(columns) != len(_SQUEUE_FORMAT.split("|")):
            msg = f"Slurm answered {line[:200]!r}, which is not a record of a job"
            raise LauncherError(msg)
        _, state, reason, nodes, elapsed = (column.strip() for column in columns)
        state = state.split(" ")[0].rstrip("+")  # CANCELLED by 1000
        reason = "" if reason in {"None", "(null)"} else reason
        return cls(state, reason, nodes[:MAX_NODES_TEXT], elapsed)


@dataclass(slots=True, kw_only=True)
class SlurmLauncher:
    """Batch jobs, identified by the names of their submissions."""

    options: tuple[str, ...] = ()
    time_limit_minutes: int
    poll_s: float = POLL_S
    outlives_runner: bool = True
    clock: Callable[[], float] = time.monotonic
    _ended_at: dict[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        """Raise LauncherError for invalid options."""
        check_slurm_options(self.options)

    def submit(self, submission: Submission) -> None:
        """Queue a batch job, unless there is one with this name."""
        if _exit_file(submission).exists() or self._queue_record(submission.name):
            return
        words = [
            "sbatch",
            *self.options,
            "--parsable",
            "--requeue",
            "--export=ALL",
            "--open-mode=truncate",
            f"--job-name={submission.name}",
            f"--chdir={submission.folder}",
            f"--output={_pattern(submission.log)}",
            f"--time={self.time_limit_minutes}",
            str(JOB_SCRIPT),
            str(_exit_file(submission)),
            *submission.command,
        ]
        run_tool(words, environment=submission.environment)

    def status(self, submission: Submission) -> SubmissionStatus:
        """Return the job's state; if it ended, from the exit status that it wrote."""
        record: SlurmRecord | None = None
        problem: LauncherError | None = None
        try:
            record = self._queue_record(submission.name) or _accounting_record(submission.name)
        except LauncherError as error:
            problem = error
        exit_status = read_exit_file(_exit_file(submission))
        if exit_status is not None:
            return SubmissionStatus(
                state=SubmissionState.ENDED,
                exit_status=exit_status,
                node=_node(record),
                usage=accounted_usage(submission.name, SELF_ENDED_STATES),
            )
        if problem is not None:
            raise problem
        status = self._state_without_status(submission, record)
        if status.state is not SubmissionState.ENDED or record is None:
            return status
        return replace(status, usage=accounted_usage(submission.name, {record.state}))

    def collect(self, submission: Submission) -> None:
        """Leave log and bundle where the job wrote them, in the shared folder."""
        _exit_file(submission).unlink(missing_ok=True)

    def cancel(self, name: str) -> None:
        """Cancel the job; one that ended stays as it is."""
        self._ended_at.pop(name, None)
        run_tool(["scancel", "--quiet", f"--name={name}"])

    def _state_without_status(
        self, submission: Submission, record: SlurmRecord | None
    ) -> SubmissionStatus:
        """Return the state of a job that left no exit status."""
        if record is not None and record.state in WAITING_STATES:
            return SubmissionStatus(state=SubmissionState.WAITING, reason=record.reason)
        if record is not None and record.state in RUNNING_STATES:
            return SubmissionStatus(state=SubmissionState.RUNNING, node=record.nodes)
        if record is not None and record.state not in SELF_ENDED_STATES:
            reason = REASONS.get(record.state, f"Slurm ended it as {record.state}")
            details = ", ".join(word for word in (record.reason, _node(record)) if word)
            return _ended_status(f"{reason} ({details})" if details else reason)
        since = self._ended_at.setdefault(submission.name, self.clock())
        if self.clock() - since < RESULT_WAIT_S:
            return SubmissionStatus(state=SubmissionState.RUNNING, node=_node(record))
        if record is None:
            return _ended_status("Slurm no longer knows it, and it left no exit status")
        state = f"{record.state} ({record.reason})" if record.reason else record.state
        return _ended_status(
            f"Slurm says {state}, but there is no exit status in {submission.log.parent}: the "
            "runner and the nodes must share that folder, and the node must have begun the job"
        )

    def _queue_record(self, name: str) -> SlurmRecord | None:
        """Return what the controller remembers of a job; it forgets after some minutes."""
        words = ["squeue", "--noheader", "--states=all", f"--name={name}"]
        return _last_record(run_tool([*words, f"--format={_SQUEUE_FORMAT}"]).text)


def check_slurm_options(options: tuple[str, ...]) -> None:
    """Raise LauncherError unless these are options that sbatch may be given."""
    if len(options) > MAX_SLURM_OPTIONS or any(len(one) > MAX_SLURM_OPTION for one in options):
        msg = f"`options` may have {MAX_SLURM_OPTIONS} words of {MAX_SLURM_OPTION} characters"
        raise LauncherError(msg)
    for option in options:
        if not option.startswith("--") or option == "--" or not option.isprintable():
            msg = f"`options` contains {option[:40]!r}: write each as one word, --partition=gpu"
            raise LauncherError(msg)
        name = option[2:].partition("=")[0]
        # sbatch accepts any unambiguous prefix of an option.
        if any(own.startswith(name) for own in OWN_OPTIONS):
            msg = f"`options` contains --{name}, which the launcher sets itself: remove it"
            raise LauncherError(msg)


def read_exit_file(path: Path) -> int | None:
    """Return the exit status that a job wrote, None until there is one."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_EXIT_FILE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        msg = f"the exit status of the job cannot be read: {error}"
        raise LauncherError(msg) from error
    text = data.decode(errors="replace").strip()
    if not (text.isascii() and text.isdecimal() and int(text) <= 255):  # noqa: PLR2004 - of POSIX
        msg = f"{path} should contain an exit status and contains {text[:40]!r}"
        raise LauncherError(msg)
    return int(text)


def _accounting_record(name: str) -> SlurmRecord | None:
    """Return the record of a job in Slurm's accounting; None without accounting."""
    answer = ask_sacct(name, _SACCT_FORMAT)
    return _last_record(answer.text) if answer.status == 0 else None


def _last_record(text: str) -> SlurmRecord | None:
    lines = text.strip().splitlines()
    return SlurmRecord.of_line(lines[-1]) if lines else None


def _node(record: SlurmRecord | None) -> str:
    if record is None or not record.nodes or record.nodes == "None assigned":
        return ""
    return f"{record.nodes}, {record.elapsed}" if record.elapsed else record.nodes


def _ended_status(reason: str) -> SubmissionStatus:
    return SubmissionStatus(state=SubmissionState.ENDED, reason=reason)


def _exit_file(submission: Submission) -> Path:
    return submission.log.with_name(f"{submission.name}.exit")


def _pattern(path: Path) -> str:
    """Return a path in which sbatch replaces nothing."""
    return str(path).replace("%", "%%")
