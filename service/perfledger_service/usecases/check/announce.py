"""Announces a check to the service, so that one that never reports is not mistaken for a pass."""

from pathlib import Path

from perfledger_runners.bundles.check_announcement import (
    ANY_CLASS,
    AnnouncedCheck,
    send_announcement,
)
from perfledger_runners.bundles.service_requests import ServiceRequestError
from perfledger_runners.checkouts.repository import Repository
from perfledger_service.errors import UsageError
from perfledger_service.settings.check import CheckSettings
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
