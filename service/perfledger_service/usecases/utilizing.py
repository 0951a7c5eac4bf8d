"""Exports of devices' activity in, how well they are used and what to do about it out."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from perfledger_cost_models.activity import Level, Signal, within
from perfledger_cost_models.activity_file import read_activity
from perfledger_cost_models.mig_fit import Slice
from perfledger_cost_models.rates import rate_of
from perfledger_cost_models.sheet import packaged_sheet
from perfledger_cost_models.utilization_report import Utilization, utilization_of
from perfledger_profiles.hardware import Hardware, rows_named
from perfledger_profiles.hardware_match import (
    MIG_COMPUTE_SLICES,
    MIG_MEMORY_SLICES,
    MIG_MULTIPROCESSORS,
)
from perfledger_service.errors import UsageError
from perfledger_service.usecases.fleets import Period
from perfledger_service.usecases.text_files import NamedBytes
from perfledger_service.usecases.translating import translated

# Compute and memory slices of the parts that all boards have ("Supported MIG Profiles" in NVIDIA's
# MIG User Guide), without the whole one.
MIG_PARTS = ((1, 1), (1, 2), (2, 2), (3, 4), (4, 4))
# Of the multiprocessors that a compute slice has at least where the table does not know: those of
# an H100's 1g are 16 of 132 (nvidia-smi mig -lgip).
LEAST_SLICE = 0.12
_GIGA = 1e9


def utilization_at(
    files: Sequence[NamedBytes],
    *,
    level: Level,
    signal: Signal | None,
    target: float,
    option: str | None,
    today: date,
    period: Period | None = None,
) -> Utilization:
    """Return the utilization that files tell, in a period if one is given.

    `option` says what a device-hour costs. Raises UsageError for what cannot be read or priced.
    """
    with translated():
        rate = None if option is None else rate_of(packaged_sheet(), option, today=today)
        exports = [read_activity(file.data, file.name) for file in files]
        if period is not None:
            between = (period.start.timestamp(), period.end.timestamp())
            exports = [within(export, *between) for export in exports]
            if not any(export.activities for export in exports):
                days = f"{period.start:%Y-%m-%d} to {period.end:%Y-%m-%d}"
                msg = f"nothing is told of {days}: ask for days that the files are of"
                raise UsageError(msg)
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
