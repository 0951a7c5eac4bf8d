"""Finds the one GPU that a user names for a measurement."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from perfledger_runners.machine.nvml import MAX_DIGITS, VISIBLE_DEVICES, Gpu, visible_gpus

MAX_LISTED_GPUS = 16  # in a message
# Domain, bus, device and function, as nvidia-smi and lspci write them; many leave out the domain.
_SLOT = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_UUID = re.compile(r"(?:GPU|MIG)-[0-9A-Za-z/-]+")
_SLOT_LENGTH = len("0000:00:00.0")


class GpuChoiceError(ValueError):
    """No single GPU of this machine has that name."""


def chosen_gpu(
    name: str,
    nvml: Any | None,  # noqa: ANN401 - see load_nvml
    environment: Mapping[str, str],
) -> str:
    """Return the value of CUDA_VISIBLE_DEVICES that leaves workloads only the GPU of this name.

    The name is a number, counted among the GPUs that workloads may use; a UUID or its first
    characters, also of a MIG slice; or a slot on the PCI bus. Raises GpuChoiceError for any other
    text, and if there is no such GPU or the variable already hides it.
    """
    is_number = name.isascii() and name.isdecimal() and len(name) <= MAX_DIGITS
    slot = name.lower() if _SLOT.fullmatch(name.lower()) else ""
    if not (is_number or slot or _UUID.fullmatch(name)):
        msg = (
            f"{name[:60]!r} names no GPU: give its number, its UUID as in nvidia-smi -L "
            "(GPU-5b1e4c1e), or its PCI id (65:00.0)"
        )
        raise GpuChoiceError(msg)
    gpus = () if nvml is None else visible_gpus(nvml, environment)
    if not any(each.uuid for each in gpus):
        return _without_driver(name, environment, is_number=is_number, slot=slot)
    if is_number:
        matches = gpus[int(name) : int(name) + 1]
    elif slot:
        matches = tuple(each for each in gpus if _is_in_slot(each, slot))
    else:
        usable = {each.uuid for each in gpus}
        named = visible_gpus(nvml, {VISIBLE_DEVICES: name})
        matches = tuple(each for each in named if usable & _own_names(each))
    if len(matches) == 1 and matches[0].uuid:
        return matches[0].uuid
    msg = f"no GPU is {name!r} among those that workloads may use: {_list_of(gpus)}"
    raise GpuChoiceError(msg)


def _without_driver(
    name: str, environment: Mapping[str, str], *, is_number: bool, slot: str
) -> str:
    """Return the choice where the driver tells nothing; CUDA itself finds what is missing."""
    if slot:
        msg = (
            f"the GPU in slot {slot} is unknown, because the NVIDIA driver cannot be asked here: "
            "give its number or UUID"
        )
        raise GpuChoiceError(msg)
    names = [one.strip() for one in environment.get(VISIBLE_DEVICES, "").split(",") if one.strip()]
    if not names:
        return name
    place = int(name) if is_number else None
    matches = names[place : place + 1] if place is not None else [x for x in names if x == name]
    if not matches:
        msg = f"no GPU is {name!r} among those in {VISIBLE_DEVICES}: {', '.join(names)[:200]}"
        raise GpuChoiceError(msg)
    return matches[0]


def _own_names(gpu: Gpu) -> set[str]:
    """Return the ids of a GPU or slice, and of the GPU that a slice is a part of."""
    return {gpu.uuid, gpu.facts().parent_uuid} - {""}


def _is_in_slot(gpu: Gpu, slot: str) -> bool:
    return gpu.condition().bus_id.endswith(slot[-_SLOT_LENGTH:])


def _list_of(gpus: Sequence[Gpu]) -> str:
    listed = [
        f"{number} ({', '.join(filter(None, (each.uuid, each.condition().bus_id)))})"
        for number, each in enumerate(gpus[:MAX_LISTED_GPUS])
    ]
    more = len(gpus) - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more else "")
