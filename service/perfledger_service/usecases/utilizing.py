"""Exports of devices' activity in, how well they are used and what to do about it out."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path

from perfledger_cost_models.activity import Level, Signal
from perfledger_cost_models.activity_file import read_activity
from perfledger_cost_models.mig_fit import Slice
from perfledger_cost_models.rates import rate_of
from perfledger_cost_models.sheet import packaged_sheet
from perfledger_cost_models.usage import MAX_USAGE_BYTES
from perfledger_cost_models.utilization_report import Utilization, utilization_of
from perfledger_profiles.hardware import Hardware, rows_named
from perfledger_profiles.hardware_match import (
    MIG_COMPUTE_SLICES,
    MIG_MEMORY_SLICES,
    MIG_MULTIPROCESSORS,
)
from perfledger_service.usecases.text_files import read_bytes
from perfledger_service.usecases.translating import translated

# Compute and memory slices of the parts that all boards have ("Supported MIG Profiles" in NVIDIA's
# MIG User Guide), without the whole one.
MIG_PARTS = ((1, 1), (1, 2), (2, 2), (3, 4), (4, 4))
# Of the multiprocessors that a compute slice has at least where the table does not know: those of
# an H100's 1g are 16 of 132 (nvidia-smi mig -lgip).
LEAST_SLICE = 0.12
_GIGA = 1e9


def utilization_at(
    files: Sequence[Path],
    *,
    level: Level,
    signal: Signal | None,
    target: float,
    option: str | None,
    today: date,
) -> Utilization:
    """Return the utilization that files tell; `option` says what a device-hour costs.

    Raises NotFoundError, TooLargeError, and UsageError for what cannot be read or priced.
    """
    with translated():
        rate = None if option is None else rate_of(packaged_sheet(), option, today=today)
        exports = [
            read_activity(read_bytes(file, most_bytes=MAX_USAGE_BYTES), file.name) for file in files
        ]
        models = {each.model for export in exports for each in export.activities if each.model}
        return utilization_of(
            exports,
            level=level,
            signal=signal,
            target=target,
            parts=mig_parts(models),
            rate=rate,
        )


def mig_parts(models: Iterable[str]) -> Mapping[str, tuple[Slice, ...]]:
    """Return the parts that each model can be cut into, by its own name; none for most."""
    rows = {model: rows_named(model) for model in models}
    return {
        model: tuple(_part(found[0], *slices) for slices in MIG_PARTS)
        for model, found in rows.items()
        if len(found) == 1 and found[0].compute_capability in MIG_MULTIPROCESSORS
    }


def _part(row: Hardware, compute: int, memory: int) -> Slice:
    counts = MIG_MULTIPROCESSORS[row.compute_capability]
    is_known = compute in counts and row.multiprocessors
    share = counts[compute] / row.multiprocessors if is_known and row.multiprocessors else None
    gigabytes = int(row.memory_bytes / _GIGA * memory / MIG_MEMORY_SLICES + 0.5)
    return Slice(
        name=f"{compute}g.{gigabytes}gb",
        multiprocessors=compute * LEAST_SLICE if share is None else share,
        memory=memory / MIG_MEMORY_SLICES,
        occupied=max(compute / MIG_COMPUTE_SLICES, memory / MIG_MEMORY_SLICES),
    )
