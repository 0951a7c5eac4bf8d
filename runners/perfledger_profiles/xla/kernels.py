"""Tabulates XLA's kernels: time, launches, FLOPs and bytes per step."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TypeVar

import numpy as np

from perfledger.profile import Bucket, Kernel, OperationFamily
from perfledger_profiles.parsing.operation_family import family_of
from perfledger_profiles.timeline.breakdown import TimeSpan
from perfledger_profiles.timeline.intervals import NO_CALL, TimeSegments
from perfledger_profiles.timeline.kernel_table import fold_rows
from perfledger_profiles.xla.device_plane import KERNEL_DETAILS, STREAM, DeviceCall, DeviceWork
from perfledger_profiles.xla.planes import Stats
from perfledger_profiles.xla.step_windows import XlaSteps

_Begun = TypeVar("_Begun", bound=TimeSpan)

# XLA's counts of an instruction's work; model FLOPs exclude rematerialisation.
FLOPS, MODEL_FLOPS, BYTES = "flops", "model_flops", "bytes_accessed"

_PICO = 1e-12
_MAX_DIGITS = 10
_MAX_DETAILS = 300

# The source operation of an instruction in jax and TensorFlow: the last part of
# "jit(f)/jit(main)/dot_general:".
_SOURCES = {
    "dot_general": OperationFamily.GEMM,
    "einsum": OperationFamily.GEMM,
    "matmul": OperationFamily.GEMM,
    "batchmatmulv2": OperationFamily.GEMM,
    "conv_general_dilated": OperationFamily.CONVOLUTION,
    "conv2d": OperationFamily.CONVOLUTION,
    "gather": OperationFamily.EMBEDDING,
    "sort": OperationFamily.SORTING,
    "top_k": OperationFamily.SORTING,
}
# Additions of the compiler to the names of fused or wrapped operations: "wrapped_add.2",
# "input_reduce_fusion_1".
_WRAPPING = re.compile(r"^wrapped_|(?<=.)_fusion(?=[._\d]*$)")
_MATRIX_FAMILIES = (OperationFamily.GEMM, OperationFamily.CONVOLUTION)
# Runs code that XLA cannot analyse.
_OPAQUE = "custom-call"


def kernels_of(works: Sequence[DeviceWork], steps: Sequence[XlaSteps]) -> tuple[Kernel, ...]:
    """Return the longest kernels per step and device; `steps` are each device's.

    An operation that runs others, such as a loop, has only its exclusive time. Operations of the
    same name in two programs get the program's name as a prefix.
    """
    number = sum(each.windows.owner.size for each in steps)
    rows: dict[tuple[str, str, str], _Row] = {}
    for call in calls_in_steps(works, steps):
        key = (call.label.name, *_kind(call))
        rows.setdefault(key, _Row(call)).add(call)
    programs: dict[str, set[str]] = {}
    for name, program, _ in rows:
        programs.setdefault(name, set()).add(program)
    return fold_rows(
        row.kernel(f"{program}:{name}" if len(programs[name]) > 1 else name, steps=number)
        for (name, program, _), row in rows.items()
    )


def calls_in_steps(works: Sequence[DeviceWork], steps: Sequence[XlaSteps]) -> Iterator[DeviceCall]:
    """Yield the calls in the kept steps of their device: by launch if the host runs ahead."""
    for work, each in zip(works, steps, strict=True):
        yield from each.calls_in_steps(work.calls)


def began_in(calls: Sequence[_Begun], windows: TimeSegments) -> Iterator[_Begun]:
    """Yield the calls that began in the windows."""
    starts = np.array([call.start_ns for call in calls], dtype=np.int64)
    for call, place in zip(calls, windows.at(starts).tolist(), strict=True):
        if place != NO_CALL:
            yield call


def first_count(facts: Stats, *names: str) -> float | None:
    """Return the first of these facts that is a count, or None."""
    for name in names:
        value = facts.get(name)
        if isinstance(value, int | float) and value >= 0 and isfinite(value):
            return float(value)
    return None


@dataclass(slots=True)
class _Leaves:
    """The number of leaf calls that share the same facts."""

    facts: Stats
    count: int = 0


@dataclass(slots=True)
class _Row:
    """The sums over the calls of one kernel."""

    call: DeviceCall
    picoseconds: int = 0
    count: int = 0
    leaves: dict[int, _Leaves] = field(default_factory=dict[int, _Leaves])

    def add(self, call: DeviceCall) -> None:
        """Add one call; FLOPs and bytes count only for leaf calls."""
        self.picoseconds += call.picoseconds
        self.count += 1
        if call.is_leaf:
            self.leaves.setdefault(id(call.facts), _Leaves(call.facts)).count += 1

    def total(self, fact: str) -> float | None:
        """Return the sum of a fact over the calls, or None if a call lacks it."""
        values = [(first_count(each.facts, fact), each.count) for each in self.leaves.values()]
        products = [value * count for value, count in values if value is not None]
        return sum(products, 0.0) if len(products) == len(values) else None

    def kernel(self, name: str, *, steps: int) -> Kernel:
        """Return the row per step."""
        call = self.call
        stats = {**call.facts, **call.stats}
        family = instruction_family(call.label.name, call.label.bucket, stats)
        launch = _launch(call.stats)
        return Kernel(
            name=name,
            family=family,
            seconds=self.picoseconds * _PICO / steps,
            count=self.count / steps,
            grid=launch.get("grid", ""),
            block=launch.get("block", ""),
            registers=_integer(launch.get("regs", "")),
            shared_memory_bytes=_shared_memory(launch),
            flops=_per_step(self.total(FLOPS), steps),
            bytes=_per_step(self.total(BYTES), steps),
            is_tensor=None if launch else runs_on_matrix_unit(family, stats),
        )


def instruction_family(name: str, bucket: Bucket, facts: Stats) -> OperationFamily:
    """Return the family of an operation by its bucket, source operation, name or category.

    The TPU compiler treats a matrix product as a convolution, so the source operation comes before
    the category.
    """
    match bucket:
        case Bucket.COMMUNICATION:
            return OperationFamily.COMMUNICATION
        case Bucket.COPY | Bucket.DEVICE_COPY | Bucket.PEER_COPY:
            return OperationFamily.COPY
        case Bucket.MEMSET:
            return OperationFamily.MEMSET
        case _:
            pass
    source = str(facts.get("tf_op", "")).rstrip(":").rpartition("/")[2].partition(":")[0]
    source_family = _SOURCES.get(source.lower())
    if source_family is not None:
        return source_family
    texts = (name, str(facts.get("hlo_category", "")), str(facts.get("hlo_op", "")))
    families = (family_of(_WRAPPING.sub("", text)) for text in texts)
    known_families = (
        family
        for family in families
        if family not in (OperationFamily.FUSION, OperationFamily.OTHER)
    )
    return next(known_families, _rest(texts))


def runs_on_matrix_unit(family: OperationFamily, facts: Stats) -> bool | None:
    """Return whether a TPU computes the operation on its matrix unit; None if XLA cannot know."""
    category = str(facts.get("hlo_category", ""))
    if not category or _OPAQUE in category:
        return None
    return "convolution" in category or family in _MATRIX_FAMILIES


def _rest(texts: tuple[str, ...]) -> OperationFamily:
    return OperationFamily.FUSION if any("fus" in text for text in texts) else OperationFamily.OTHER


def _kind(call: DeviceCall) -> tuple[str, str]:
    """Return what distinguishes kernels of the same name: the program (TPU) or the launch (GPU)."""
    details = call.stats.get(KERNEL_DETAILS)
    if isinstance(details, str):
        return "", details
    return ("", "") if call.lane.startswith(STREAM) else (call.label.path, "")


def _per_step(total: float | None, steps: int) -> float | None:
    return None if total is None else total / steps


def _launch(stats: Stats) -> dict[str, str]:
    """Parse "regs:32 static_shared:0 dynamic_shared:0 grid:20,1,1 block:1024,1,1 occ_pct:100"."""
    details = stats.get(KERNEL_DETAILS)
    if not isinstance(details, str):
        return {}
    parts = (part.partition(":") for part in details[:_MAX_DETAILS].split())
    return {name: value for name, _, value in parts if _is_number_list(value)}


def _is_number_list(value: str) -> bool:
    return all(part.isdecimal() and len(part) <= _MAX_DIGITS for part in value.split(","))


def _integer(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _shared_memory(launch: Mapping[str, str]) -> int | None:
    fixed = _integer(launch.get("static_shared", ""))
    chosen = _integer(launch.get("dynamic_shared", ""))
    return None if fixed is None or chosen is None else fixed + chosen
