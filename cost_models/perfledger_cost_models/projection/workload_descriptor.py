"""Reads workload descriptors from TOML: operations, bytes and messages per unit of work.

[[workload]]
name = "gpt:train_step"
unit = "tokens"
devices = 8                       # that share a step
model = "gpt"                     # results of one model are excluded together in checks

[[workload.arithmetic]]           # on one device, per unit of work
dtypes = ["float8", "bfloat16"]   # the first of these that a device has a peak for
flops = 1.8e9
source = "6 FLOP x 302 M parameters"

[[workload.memory]]               # read and written by one device, per unit of work
bytes = 4.2e6
source = "Korthikanti et al. 2022, 34 bytes per hidden unit and layer, five passes"
is_assumed = true

[[workload.communication]]        # passed in by one device, per unit of work
pattern = "all_reduce"
bytes = 1.2e4
source = "gradients in 2 bytes, over a batch"

[workload.fixed]                  # host time, equal on all devices; omit it if unknown
seconds = 1e-6
source = "idle share of a profile"
"""

from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Annotated

import msgspec

from perfledger.rounding import typed
from perfledger_cost_models.toml_file import Text, read_toml

MAX_CHARACTERS = 1_000_000
MAX_WORKLOADS = 1000
MAX_DTYPES = 20
MAX_ENTRIES = 100  # of one kind in a workload
MAX_DEVICES = 1_000_000
# More per unit of work is a typing error: training GPT-3 took 3e23 operations.
MAX_AMOUNT = 1e30
MIN_AMOUNT = 1e-30  # less is lost in rounding

Dtypes = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1, max_length=MAX_DTYPES)]


class DescriptorError(ValueError):
    """An invalid workload descriptor."""


class CommunicationPattern(StrEnum):
    """The collective by which devices exchange data."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "all_to_all"
    BROADCAST = "broadcast"


class ArithmeticWork(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Operations of one kind; they run in the first of `dtypes` that a device has a peak for.

    Like the other parts of a descriptor, it raises DescriptorError for an invalid amount.
    """

    dtypes: Dtypes
    flops: float
    source: Text
    is_assumed: bool = False

    def __post_init__(self) -> None:
        _check_amount("flops", self.flops)


class MemoryTraffic(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Bytes read from and written to the device's memory."""

    bytes: float
    source: Text
    is_assumed: bool = False

    def __post_init__(self) -> None:
        _check_amount("bytes", self.bytes)


class CommunicationVolume(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Bytes that a device passes into a collective, its S as nccl-tests counts it."""

    pattern: CommunicationPattern
    bytes: float
    source: Text
    is_assumed: bool = False

    def __post_init__(self) -> None:
        _check_amount("bytes", self.bytes)


class FixedTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Host time and launch latency, equal on every device."""

    seconds: float
    source: Text
    is_assumed: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.seconds <= MAX_AMOUNT:
            msg = f"seconds is {self.seconds}: use a number of at least 0"
            raise DescriptorError(msg)


class WorkloadDescriptor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The work of one unit on each of the devices that share it.

    `fixed` is None if it is unknown, which is not the same as 0.
    """

    name: Text
    unit: Text
    arithmetic: Annotated[tuple[ArithmeticWork, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    memory: Annotated[tuple[MemoryTraffic, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    communication: Annotated[
        tuple[CommunicationVolume, ...], msgspec.Meta(max_length=MAX_ENTRIES)
    ] = ()
    fixed: FixedTime | None = None
    devices: Annotated[int, msgspec.Meta(ge=1, le=MAX_DEVICES)] = 1
    model: str = ""

    def __post_init__(self) -> None:
        if not (self.arithmetic or self.memory):
            msg = f"{self.name} has no operations and no bytes: add [[workload.arithmetic]]"
            raise DescriptorError(msg)
        if self.communication and self.devices == 1:
            msg = f"{self.name} communicates, but has one device: set devices"
            raise DescriptorError(msg)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Return the sources of assumed figures."""
        parts = (*self.arithmetic, *self.memory, *self.communication)
        fixed = () if self.fixed is None else (self.fixed,)
        return tuple(part.source for part in (*parts, *fixed) if part.is_assumed)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    workload: Annotated[
        tuple[WorkloadDescriptor, ...], msgspec.Meta(min_length=1, max_length=MAX_WORKLOADS)
    ]


_FILE_DECODER = msgspec.json.Decoder(_File)


def read_descriptors(text: str, name: str) -> tuple[WorkloadDescriptor, ...]:
    """Read declared workloads in TOML; raises DescriptorError that names the entry."""
    document = read_toml(
        text,
        _FILE_DECODER,
        name=f"workloads {name!r}",
        max_characters=MAX_CHARACTERS,
        error=DescriptorError,
    ).workload
    names = [each.name for each in document]
    if len(set(names)) < len(names):
        msg = f"two workloads of {name!r} have the same name: rename one"
        raise DescriptorError(msg)
    return document


@cache
def packaged_descriptors() -> tuple[WorkloadDescriptor, ...]:
    """Return the descriptors of the benchmarks whose published results check projections."""
    text = files("perfledger_cost_models").joinpath("workloads.toml").read_text(encoding="utf-8")
    return read_descriptors(text, "workloads.toml")


def _check_amount(name: str, value: float) -> None:
    if not MIN_AMOUNT <= value <= MAX_AMOUNT:
        msg = (
            f"{name} is {value}: use a number above 0, from {typed(MIN_AMOUNT)} to "
            f"{typed(MAX_AMOUNT)}"
        )
        raise DescriptorError(msg)
