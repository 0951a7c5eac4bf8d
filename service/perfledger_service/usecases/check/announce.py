"""Announces a check to the service, so that one that never reports is not mistaken for a pass.

While it measures, the service is told how far it is.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from perfledger.records import Machine, Side
from perfledger_runners.bundles.check_announcement import (
    ANY_CLASS,
    AnnouncedCheck,
    send_announcement,
)
from perfledger_runners.bundles.check_progress import CheckState, ProgressSender, send_state
from perfledger_runners.bundles.service_requests import ServiceRequestError
from perfledger_runners.checkouts.repository import Repository
from perfledger_service.errors import UsageError
from perfledger_service.settings.check import CheckSettings
from perfledger_service.usecases.check.checkouts import CheckProgress
from perfledger_service.usecases.check.revisions import (
    RevisionPair,
    configuration_of,
    resolve_revisions,
    start_at_workloads,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.upload_target import UploadTarget


def announce_check(
    folder: Path, target: UploadTarget, *, base: str, head: str, pull_request: int | None
) -> AnnouncedCheck:
    """Announce a check of the repository that `folder` is in, and return all expected classes.

    The classes are those of the configuration that the check will use. Without a pull request, the
    head is a merge group's. Raises UsageError for revisions that cannot be compared or are not a
    pull request's, and PerfledgerError if the service does not answer.
    """
    with translate_errors():
        repository = Repository.open(folder)
        sides = resolve_revisions(repository, base=base, head=head)
        sides = sides if base else start_at_workloads(repository, sides)
        if not is_announceable(sides):
            msg = (
                f"{sides.head.ref} is not a commit of a pull request to compare with its base: "
                "give the commit with --head"
            )
            raise UsageError(msg)
        settings = configuration_of(repository, sides, flags={}).settings
        return _announce(target, sides, settings, pull_request)


def announcement_notes(
    target: UploadTarget | None,
    sides: RevisionPair,
    settings: CheckSettings,
    *,
    pull_request: int | None,
) -> tuple[str, ...]:
    """Announce a check that is about to begin; return a note if the service does not answer.

    Only a commit of a pull request is announced, to the service if there is one.
    """
    if target is None or pull_request is None or not is_announceable(sides):
        return ()
    try:
        _announce(target, sides, settings, pull_request)
    except ServiceRequestError as error:
        return (f"the check was not announced on its pull request: {error}",)
    return ()


class AnnouncedProgress:
    """A check's progress, which a service is told, too, if the check is announced there."""

    def __init__(self, progress: CheckProgress, sender: ProgressSender | None) -> None:
        self._progress = progress
        self._sender = sender

    def measure_on(self, machine: Machine) -> None:
        """Report which machine the check runs on; the service is told nothing before."""
        if self._sender is not None:
            self._sender.state = replace(self._sender.state, machine_class=machine.machine_class)

    def stage(self, name: str) -> None:
        """Report that the next part of the check begins."""
        self._progress.stage(name)
        if self._sender is not None:
            self._sender.state = replace(self._sender.state, stage=name)

    def measuring(self, workload: str, side: Side, pair: int) -> None:
        """Report that a workload starts."""
        self._progress.measuring(workload, side, pair)
        if self._sender is not None:
            self._sender.state = replace(self._sender.state, workload=workload)

    def pair_done(self, *, pairs: int, waiting: int, seconds_left: float) -> None:
        """Report the finished pairs, the workloads that need more, and the time left at most."""
        self._progress.pair_done(pairs=pairs, waiting=waiting, seconds_left=seconds_left)
        if self._sender is not None:
            self._sender.state = replace(
                self._sender.state, pairs=pairs, waiting=waiting, seconds_left=seconds_left
            )


@contextmanager
def announced_progress(
    target: UploadTarget | None,
    sides: RevisionPair,
    settings: CheckSettings,
    progress: CheckProgress,
    *,
    pull_request: int | None,
) -> Generator[AnnouncedProgress]:
    """Tell a service how far an announced check is, until the context ends."""
    if target is None or pull_request is None or not is_announceable(sides):
        yield AnnouncedProgress(progress, None)
        return
    state = CheckState(
        pull_request=pull_request, head_sha=sides.head.sha, max_pairs=settings.max_pairs
    )
    with ProgressSender(
        state, lambda state: send_state(target.url, target.credential(), state)
    ) as sender:
        yield AnnouncedProgress(progress, sender)


def is_announceable(sides: RevisionPair) -> bool:
    """Return whether head can be a pull request's: a commit other than the base."""
    return not sides.head.is_dirty and sides.head.sha != sides.base.sha


def _announce(
    target: UploadTarget, sides: RevisionPair, settings: CheckSettings, pull_request: int | None
) -> AnnouncedCheck:
    return send_announcement(
        target.url,
        target.credential(),
        pull_request=pull_request,
        head_sha=sides.head.sha,
        machine_classes=settings.machine_classes or (ANY_CLASS,),
        class_deadline_s=settings.class_deadline,
    )
