"""Turns TOML into what a unit of a workload's work asks of a device: operations, bytes, messages.

[[workload]]
name = "gpt:train_step"
unit = "tokens"
devices = 8                       # that share a step
model = "gpt"                     # what is left out together when projections are checked

[[workload.arithmetic]]           # on one device, per unit of work
dtypes = ["float8", "bfloat16"]   # the first of these that a device has a peak for
flops = 1.8e9
source = "6 FLOP x 302 M parameters"

[[workload.memory]]               # read and written by one device, per unit of work
bytes = 4.2e6
source = "Korthikanti et al. 2022, 34 bytes per hidden unit and layer, five passes"
is_assumed = true

[[workload.communication]]        # what one device passes in, per unit of work
pattern = "all_reduce"
bytes = 1.2e4
source = "gradients in 2 bytes, over a batch"

[workload.fixed]                  # time that no device makes shorter; leave it out if not known
seconds = 1e-6
source = "idle share of a profile"
"""

from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Annotated

import msgspec

from perfledger_cost_models.toml_file import read_toml

MAX_CHARACTERS = 1_000_000
MAX_WORKLOADS = 1000
MAX_ENTRIES = 100  # of one kind in a workload
MAX_DEVICES = 1_000_000
# A unit of work that asks for more is a slip of the pen: training GPT-3 took 3e23 operations.
MAX_AMOUNT = 1e30
MIN_AMOUNT = 1e-30  # and less is lost in rounding

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
Dtypes = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1, max_length=20)]


class DescriptorError(ValueError):
    """A workload's declaration cannot be trusted as it is written."""


class Pattern(StrEnum):
    """How devices exchange what they communicate."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "all_to_all"
    BROADCAST = "broadcast"


class Arithmetic(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Operations of one kind; they run in the first of `dtypes` that a device has a peak for.

    As the other parts of a descriptor, raises DescriptorError for an amount that is none.
    """

    dtypes: Dtypes
    flops: float
    source: Text
    is_assumed: bool = False

    def __post_init__(self) -> None:
        _check_amount("flops", self.flops)


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Bytes to and from the device's memory."""

    bytes: float
    source: Text
    is_assumed: bool = False

    def __post_init__(self) -> None:
        _check_amount("bytes", self.bytes)


class Communication(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Bytes that a device passes into a collective, its S as nccl-tests counts it."""

    pattern: Pattern
    bytes: float
    source: Text
    is_assumed: bool = False

    def __post_init__(self) -> None:
        _check_amount("bytes", self.bytes)


class Fixed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Time of the host and of waiting for launches: the same on every device."""

    seconds: float
    source: Text
    is_assumed: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.seconds <= MAX_AMOUNT:
            msg = f"seconds is {self.seconds}: give a number, at least 0"
            raise DescriptorError(msg)


class Descriptor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one unit of work asks of each of the devices that share it.

    `fixed` is None where it is not known, which is not the same as none.
    """

    name: Text
    unit: Text
    arithmetic: Annotated[tuple[Arithmetic, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    memory: Annotated[tuple[Memory, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    communication: Annotated[tuple[Communication, ...], msgspec.Meta(max_length=MAX_ENTRIES)] = ()
    fixed: Fixed | None = None
    devices: Annotated[int, msgspec.Meta(ge=1, le=MAX_DEVICES)] = 1
    model: str = ""

    def __post_init__(self) -> None:
        if not (self.arithmetic or self.memory):
            msg = f"{self.name} asks for no operations and no bytes: say what it computes"
            raise DescriptorError(msg)
        if self.communication and self.devices == 1:
            msg = f"{self.name} communicates, but runs on one device: say how many share a step"
            raise DescriptorError(msg)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Return where the figures come from that nobody counted or published."""
        parts = (*self.arithmetic, *self.memory, *self.communication)
        fixed = () if self.fixed is None else (self.fixed,)
        return tuple(part.source for part in (*parts, *fixed) if part.is_assumed)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    workload: Annotated[
        tuple[Descriptor, ...], msgspec.Meta(min_length=1, max_length=MAX_WORKLOADS)
    ]


def read_descriptors(text: str, name: str) -> tuple[Descriptor, ...]:
    """Read declared workloads in TOML; raises DescriptorError that names the place."""
    found = read_toml(
        text, _File, name=f"workloads {name!r}", most=MAX_CHARACTERS, error=DescriptorError
    ).workload
    names = [each.name for each in found]
    if len(set(names)) < len(names):
        msg = f"workloads {name!r} have one name twice: rename one of them"
        raise DescriptorError(msg)
    return found


@cache
def packaged_descriptors() -> tuple[Descriptor, ...]:
    """Return what the benchmarks ask for whose published results projections are held against."""
    text = files("perfledger_cost_models").joinpath("workloads.toml").read_text(encoding="utf-8")
    return read_descriptors(text, "workloads.toml")


def _check_amount(name: str, value: float) -> None:
    if not MIN_AMOUNT <= value <= MAX_AMOUNT:
        msg = f"{name} is {value}: give a number above 0, from {MIN_AMOUNT:g} to {MAX_AMOUNT:g}"
        raise DescriptorError(msg)
