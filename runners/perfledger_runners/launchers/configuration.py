"""Reads the file in which an operator says where jobs run.

    kind = "exec"
    command = ["ssh", "gpu7", "{shell_command}"]
    time_limit_minutes = 60

Only the operator can change it, not a pull request.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from perfledger.time_units import HOURS_PER_DAY, MINUTES_PER_HOUR, SECONDS_PER_MINUTE
from perfledger_runners.launchers.command_template import CommandTemplate
from perfledger_runners.launchers.github_actions.workflow_launcher import WorkflowLauncher
from perfledger_runners.launchers.github_actions.workflow_runs import WorkflowRuns
from perfledger_runners.launchers.kubernetes.job_launcher import KubernetesLauncher
from perfledger_runners.launchers.kubernetes.job_manifest import (
    ContextName,
    DnsLabel,
    KubernetesJobSettings,
)
from perfledger_runners.launchers.kubernetes.kubectl import Kubectl
from perfledger_runners.launchers.launcher import Launcher, LauncherError, SubmissionLimits
from perfledger_runners.launchers.local_processes import LocalProcesses
from perfledger_runners.launchers.slurm import SlurmLauncher

MAX_LAUNCHER_FILE_BYTES = 100_000
MAX_LIMIT_MINUTES = MINUTES_PER_HOUR * HOURS_PER_DAY * 28  # four weeks
DEFAULT_WAIT_MINUTES = MINUTES_PER_HOUR * HOURS_PER_DAY  # a day in the engine's queue
DEFAULT_TIME_MINUTES = 120  # a check's budget is minutes; builds and waits come on top

GitHubRepository = Annotated[
    str, msgspec.Meta(pattern=r"\A[A-Za-z0-9-]{1,39}/(?!\.{1,2}\Z)[A-Za-z0-9_.-]{1,100}\Z")
]
WorkflowFile = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_.-]{1,200}\.ya?ml\Z")]
# For a branch or tag; git accepts more, such as spaces of other languages.
RefName = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9_./+@-]{0,199}\Z")]
Minutes = Annotated[int, msgspec.Meta(ge=1, le=MAX_LIMIT_MINUTES)]


# Opens the workflow runs of a repository.
RunsOpener = Callable[[str], WorkflowRuns]


class LauncherTable(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=True
):
    """The settings common to all launchers: how long a job may wait for its start, and run."""

    wait_limit_minutes: Minutes = DEFAULT_WAIT_MINUTES
    time_limit_minutes: Minutes = DEFAULT_TIME_MINUTES

    @property
    def limits(self) -> SubmissionLimits:
        """Return how long a job may wait and run."""
        return SubmissionLimits(
            wait_s=SECONDS_PER_MINUTE * self.wait_limit_minutes,
            run_s=SECONDS_PER_MINUTE * self.time_limit_minutes,
        )


class LocalTable(LauncherTable, frozen=True, kw_only=True, tag="local"):
    """Child processes of the runner."""

    def launcher(self) -> Launcher:
        """Return the launcher."""
        return LocalProcesses()


class ExecTable(LauncherTable, frozen=True, kw_only=True, tag="exec"):
    """A program that runs the command elsewhere, and ends when it has ended."""

    command: tuple[str, ...]
    cancel: tuple[str, ...] = ()

    def launcher(self) -> Launcher:
        """Return the launcher; raise LauncherError for an invalid template."""
        cancel = CommandTemplate.of_cancel(self.cancel) if self.cancel else None
        return LocalProcesses(CommandTemplate.of(self.command), cancel)


class SlurmTable(LauncherTable, frozen=True, kw_only=True, tag="slurm"):
    """Batch jobs of the Slurm cluster whose commands are on this machine."""

    options: tuple[str, ...] = ()

    def launcher(self) -> Launcher:
        """Return the launcher; raise LauncherError for invalid options."""
        return SlurmLauncher(options=self.options, time_limit_minutes=self.time_limit_minutes)


class KubernetesTable(LauncherTable, frozen=True, kw_only=True, tag="kubernetes"):
    """Jobs of a namespace of the Kubernetes cluster that kubectl knows."""

    namespace: DnsLabel
    job: KubernetesJobSettings
    context: ContextName = ""

    def launcher(self) -> Launcher:
        """Return the launcher; raise LauncherError for pods that could not measure."""
        kubectl = Kubectl(namespace=self.namespace, context=self.context)
        return KubernetesLauncher(settings=self.job, limits=self.limits, kubectl=kubectl)


class GitHubActionsTable(LauncherTable, frozen=True, kw_only=True, tag="github-actions"):
    """A workflow on the branch or tag `ref` of a repository on GitHub."""

    repository: GitHubRepository
    workflow: WorkflowFile
    ref: RefName

    def launcher(self, open_runs: RunsOpener) -> Launcher:
        """Return the launcher."""
        runs = open_runs(self.repository)
        return WorkflowLauncher(runs=runs, workflow=self.workflow, ref=self.ref)


AnyTable = LocalTable | ExecTable | SlurmTable | KubernetesTable | GitHubActionsTable
# Created here, since msgspec crashes if several threads are the first to decode a type.
LAUNCHER_DECODER = msgspec.json.Decoder(AnyTable)


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherChoice:
    """A launcher, its limits, and whether jobs run on the runner's own machine."""

    launcher: Launcher
    limits: SubmissionLimits
    is_local: bool


def read_launcher_file(path: Path, open_runs: RunsOpener) -> LauncherChoice:
    """Return the launcher that a file describes; raise LauncherError, which names the setting.

    `open_runs` is called only if GitHub Actions runs the jobs.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_LAUNCHER_FILE_BYTES + 1)
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise LauncherError(msg) from error
    if len(data) > MAX_LAUNCHER_FILE_BYTES:
        msg = f"{path} has more than {MAX_LAUNCHER_FILE_BYTES} bytes: it is not a launcher file"
        raise LauncherError(msg)
    try:
        document: object = tomllib.loads(data.decode())
        table = msgspec.convert(document, LAUNCHER_DECODER.type, strict=True)
        if isinstance(table, GitHubActionsTable):
            launcher = table.launcher(open_runs)
        else:
            launcher = table.launcher()
    # ValueError: not UTF-8, not TOML, or an integer of more digits than Python reads.
    except (ValueError, msgspec.ValidationError, RecursionError, LauncherError) as error:
        msg = f"{path}: {error}"
        raise LauncherError(msg) from error
    return LauncherChoice(
        launcher=launcher, limits=table.limits, is_local=isinstance(table, LocalTable)
    )
