"""Reports how well devices are used, from exports of their activity."""

from collections.abc import Iterable, Mapping, Sequence

from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.telemetry.activity_samples import ActivityExport, clip_export
from perfledger_cost_models.telemetry.mig_candidates import MigSlice
from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.telemetry.signals import OwnerLevel, Signal
from perfledger_cost_models.telemetry.utilization_report import (
    UtilizationReport,
    utilization_report,
)
from perfledger_profiles.hardware.device_lookup import (
    MIG_COMPUTE_SLICES,
    MIG_MEMORY_SLICES,
    MIG_MULTIPROCESSORS,
)
from perfledger_profiles.hardware.device_peaks import HardwareSpec, find_specs
from perfledger_profiles.parsing.units import GIGA
from perfledger_service.errors import UsageError
from perfledger_service.usecases.fleet.hours import UsagePeriod
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import NamedBytes, errors_about

# Compute and memory slices of the MIG profiles that all boards have ("Supported MIG Profiles" in
# NVIDIA's MIG User Guide), without the full device.
MIG_PARTS = ((1, 1), (1, 2), (2, 2), (3, 4), (4, 4))
# Smallest share of multiprocessors in a compute slice that the table does not list: an H100's 1g
# has 16 of 132 (nvidia-smi mig -lgip).
MIN_SLICE = 0.12


def utilization_at(
    files: Sequence[NamedBytes],
    *,
    level: OwnerLevel,
    signal: Signal | None,
    target: float,
    rate: HourlyRate | None,
    period: UsagePeriod | None = None,
) -> UtilizationReport:
    """Return the utilization in activity files, limited to a period if one is given.

    `rate` is the price of a device-hour. Raises UsageError for files that cannot be read.
    """
    with translate_errors():
        exports = [read_activity_file(file) for file in files]
        if period is not None:
            between = (period.start.timestamp(), period.end.timestamp())
            exports = [clip_export(export, *between) for export in exports]
            if not any(export.activities for export in exports):
                days = f"{period.start:%Y-%m-%d} to {period.end:%Y-%m-%d}"
                msg = f"the files have no activity from {days}: choose days that they cover"
                raise UsageError(msg)
        models = {each.model for export in exports for each in export.activities if each.model}
        return utilization_report(
            exports, level=level, signal=signal, target=target, parts=mig_parts(models), rate=rate
        )


def read_activity_file(file: NamedBytes) -> ActivityExport:
    """Read a file of device activity; raise UsageError."""
    with errors_about(file):
        return read_activity(file.data, file.name)


def mig_parts(models: Iterable[str]) -> Mapping[str, tuple[MigSlice, ...]]:
    """Return the MIG slices of each model that supports MIG, by the model's name."""
    rows = {model: find_specs(model) for model in models}
    return {
        model: tuple(_part(matches[0], *slices) for slices in MIG_PARTS)
        for model, matches in rows.items()
        if len(matches) == 1 and matches[0].compute_capability in MIG_MULTIPROCESSORS
    }


def _part(row: HardwareSpec, compute: int, memory: int) -> MigSlice:
    counts = MIG_MULTIPROCESSORS[row.compute_capability]
    is_known = compute in counts and row.multiprocessors
    share = counts[compute] / row.multiprocessors if is_known and row.multiprocessors else None
    gigabytes = int(row.memory_bytes / GIGA * memory / MIG_MEMORY_SLICES + 0.5)
    return MigSlice(
        name=f"{compute}g.{gigabytes}gb",
        multiprocessors=compute * MIN_SLICE if share is None else share,
        memory=memory / MIG_MEMORY_SLICES,
        occupied=max(compute / MIG_COMPUTE_SLICES, memory / MIG_MEMORY_SLICES),
    )
