"""Measures the jobs of the service's queue for this machine."""

import os
import platform
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from perfledger.rounding import integer
from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import how, what
from perfledger_service.cli.server_modules import server_modules
from perfledger_service.cli.service_target import UploadUrl, service_at
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # this would make every help slow
    from perfledger_runners.jobs.work_loop import Drain
    from perfledger_runners.launchers.github_actions.workflow_runs import WorkflowRuns


@command(
    examples=(
        "perfledger runner --until-idle",
        "perfledger runner --until-idle --name h100-a --lease 5m --drain 30m",
        "perfledger runner --until-idle --launcher gpu7.toml --machine-class 'cuda:NVIDIA L4:1'",
    )
)
def runner(
    *,
    name: Annotated[
        str, what("the name of this runner", metavar="NAME", default="the host's name")
    ] = "",
    machine_class: Annotated[
        list[str] | None,
        what(
            "a machine class that the runner measures; repeatable",
            metavar="CLASS",
            default="this one's",
        ),
    ] = None,
    launcher: Annotated[
        Path | None,
        what("the file that says where jobs run", metavar="FILE", default="on this machine"),
    ] = None,
    until_idle: Annotated[
        bool, how("exit when there is no job for this machine", flag="--until-idle")
    ] = False,
    poll: Annotated[str, how("time between requests for a job", metavar="DURATION")] = "15s",
    lease: Annotated[
        str, how("the job is lost after this long without a heartbeat", metavar="DURATION")
    ] = "2m",
    drain: Annotated[
        str, how("time to finish the current job after SIGTERM", metavar="DURATION")
    ] = "10m",
    upload_url: UploadUrl = None,
) -> None:
    """Take jobs from the service's queue and measure them, one at a time.

    Run it in a clone of the repository, with the Python that the workloads need; it fetches the
    commits of each job. After SIGTERM or SIGINT it finishes its job and exits; a second signal
    returns the job to the queue. A runner that was killed resumes its unfinished job when it is
    started again.
    """
    from perfledger_runners.jobs.work_loop import Drain, RunnerOptions
    from perfledger_service.usecases.check.runner import (
        chosen_launcher,
        devices_of_class,
        machines_here,
        run_jobs,
    )

    with server_modules():
        choice = chosen_launcher(launcher, _workflow_runs)
    if choice is not None and not choice.is_local and not machine_class:
        msg = (
            f"{launcher} runs jobs on other machines: name what they measure with --machine-class, "
            "as pages and bundles show it"
        )
        raise UsageError(msg)
    # The devices of another machine are not known here.
    machines = machines_here(os.environ) if choice is None or choice.is_local else ()
    classes = tuple(machine_class or (one.machine_class for one in machines))
    options = RunnerOptions(
        name=name or platform.node() or "runner",
        machine_classes=classes,
        devices={one: devices_of_class(one, machines) for one in classes},
        poll_s=_seconds(poll, "--poll"),
        lease_s=_lease_seconds(lease),
        drain_s=_seconds(drain, "--drain"),
    )
    target, draining = service_at(upload_url), Drain()
    _say(f"runner {options.name} measures on {', '.join(options.machine_classes)}")
    with _ended_by_signals(draining, within_s=options.drain_s):
        run_jobs(
            Path(),
            target,
            options,
            choice=choice,
            drain=draining,
            say=_say,
            is_until_idle=until_idle,
        )


def _workflow_runs(repository: str) -> "WorkflowRuns":
    """Return a repository's workflow runs, through the service's GitHub client."""
    from perfledger_service.github.workflow_runs import open_workflow_runs
    from perfledger_service.settings.service import service_settings

    settings = service_settings()
    return open_workflow_runs(
        api_url=settings.github_api_url, token=settings.github_token, repository=repository
    )


@contextmanager
def _ended_by_signals(draining: "Drain", *, within_s: float) -> Generator[None]:
    """End the runner after its job at the first SIGTERM or SIGINT, and at once at the second."""

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's signature
        draining.ask(0.0 if draining.is_asked else within_s)

    handlers = {each: signal.signal(each, stop) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)


def _say(line: str) -> None:
    typer.echo(line, err=True)


def _lease_seconds(text: str) -> float:
    from perfledger_runners.jobs.runner_job import MAX_LEASE_S, MIN_LEASE_S

    lease_s = _seconds(text, "--lease")
    if not MIN_LEASE_S <= lease_s <= MAX_LEASE_S:
        most = integer(MAX_LEASE_S / SECONDS_PER_MINUTE)
        msg = f"--lease is {text}: give {integer(MIN_LEASE_S)} s to {most} minutes"
        raise UsageError(msg)
    return lease_s


def _seconds(text: str, option: str) -> float:
    from perfledger_service.settings.check import seconds

    try:
        return seconds(text)
    except ValueError as error:
        msg = f"{option}: {error}"
        raise UsageError(msg) from None
