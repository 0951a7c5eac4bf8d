"""Lists devices with their canaries, and quarantines and releases them."""

from datetime import UTC, datetime
from getpass import getuser
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how
from perfledger_service.cli.option_values import Repository
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.people.person import Actor

DeviceName = Annotated[str, argument("its name, as `list` prints it", metavar="DEVICE")]


@command(
    examples=(
        "perfledger server device list octo/models",
        "perfledger server device list octo/models --json",
    )
)
def list_devices(repository: Repository, *, output: DocumentOutput) -> None:
    """List a project's devices: their canaries, whether they drift, and their quarantine."""
    from perfledger_service.rendering.server.device import devices_document

    with open_store() as engine:
        from perfledger_service.usecases.fleet.device import devices_of_repository

        devices = devices_of_repository(engine, repository)
    output.write_document(devices, devices_document)


@command(
    examples=(
        "perfledger server device quarantine octo/models GPU-1 --reason 'its fan is broken'",
        "perfledger server device quarantine octo/models GPU-1 --reason 'see ticket 12' --json",
    )
)
def quarantine(
    repository: Repository,
    device: DeviceName,
    *,
    reason: Annotated[str, how("why the device must not be measured on", metavar="TEXT")] = "",
    output: DocumentOutput,
) -> None:
    """Put a device in quarantine, so that its runner gets only canaries until its release.

    Other measurements on the device are marked and left out of the history.
    """
    from perfledger_service.rendering.server.device import quarantine_document

    with open_store() as engine:
        from perfledger_service.usecases.fleet.device import quarantine_device
        from perfledger_service.usecases.server.project import project_of_name

        quarantine_device(
            engine,
            project_of_name(engine, repository),
            device,
            actor=Actor(name=getuser()),
            reason=reason,
            now=datetime.now(UTC),
        )
    output.write_document(
        device,
        lambda name: quarantine_document(repository, name, reason=reason, is_quarantined=True),
    )


@command(
    examples=(
        "perfledger server device release octo/models GPU-2 --reason 'its fan is replaced'",
        "perfledger server device release octo/models GPU-2 --reason 'a false alarm' --json",
    )
)
def release(
    repository: Repository,
    device: DeviceName,
    *,
    reason: Annotated[str, how("why the device may be measured on again", metavar="TEXT")] = "",
    output: DocumentOutput,
) -> None:
    """Release a device from quarantine, and start its history again.

    If it is still slower than its siblings, its next two canary runs quarantine it again.
    """
    from perfledger_service.rendering.server.device import quarantine_document

    with open_store() as engine:
        from perfledger_service.usecases.fleet.device import release_device
        from perfledger_service.usecases.server.project import project_of_name

        release_device(
            engine,
            project_of_name(engine, repository),
            device,
            actor=Actor(name=getuser()),
            reason=reason,
            now=datetime.now(UTC),
        )
    output.write_document(
        device,
        lambda name: quarantine_document(repository, name, reason=reason, is_quarantined=False),
    )
