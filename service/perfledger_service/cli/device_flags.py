"""Defines the options that choose a device of a recording, shared by several commands."""

from typing import Annotated

from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_service.cli.option_groups import what

Device = Annotated[
    int | None,
    what(
        "only the device of this number in the recording",
        metavar="NUMBER",
        flag="--device-number",
        minimum=0,
    ),
]
Rank = Annotated[
    int | None,
    what("only this rank of the recording", metavar="NUMBER", minimum=0),
]


def choice_of(device: int | None, rank: int | None) -> DeviceChoice:
    """Return the choice of --device-number and --rank."""
    return DeviceChoice(device=device, rank=rank)
