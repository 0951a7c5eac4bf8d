"""Defines options that choose a device, of this machine or of a recording, for several commands."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated

from perfledger.records import Device as DeviceKind
from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_service.cli.option_groups import how, what
from perfledger_service.errors import UsageError

MeasuringDevice = Annotated[
    str | None,
    how(
        "auto, cpu, cuda or tpu; cuda:1 is one GPU by its number, UUID or PCI id",
        metavar="DEVICE",
        default="auto",
    ),
]
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


@contextmanager
def only_chosen_gpu(device: str | None) -> Generator[str | None]:
    """Yield the setting `device`; meanwhile, a GPU that the option names is the only visible one.

    Everything that measures, locks or describes the machine reads CUDA_VISIBLE_DEVICES. Raises
    UsageError if there is no such GPU.
    """
    from perfledger_runners.machine.gpu_choice import GpuChoiceError, chosen_gpu
    from perfledger_runners.machine.nvml import VISIBLE_DEVICES, load_nvml

    kind, _, name = (device or "").partition(":")
    if kind != DeviceKind.CUDA or not name:
        yield device
        return
    try:
        gpu = chosen_gpu(name, load_nvml(), os.environ)
    except GpuChoiceError as error:
        msg = f"--device {device}: {error}"
        raise UsageError(msg) from error
    before = os.environ.get(VISIBLE_DEVICES)
    os.environ[VISIBLE_DEVICES] = gpu
    try:
        yield kind
    finally:
        del os.environ[VISIBLE_DEVICES]
        if before is not None:
            os.environ[VISIBLE_DEVICES] = before


def choice_of(device: int | None, rank: int | None) -> DeviceChoice:
    """Return the choice of --device-number and --rank."""
    return DeviceChoice(device=device, rank=rank)
