"""Reports the utilization of a team's devices, what could be freed, and the evidence.

The gain of a target is arithmetic: the same work on fewer device-hours. The known steps towards it
are separate: free devices, and jobs that held devices without using them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from perfledger.rounding import for_programs
from perfledger.time_units import HOURS_PER_YEAR, SECONDS_PER_HOUR
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.telemetry.activity_samples import ActivityExport
from perfledger_cost_models.telemetry.idle_periods import IdleJob, idle_jobs
from perfledger_cost_models.telemetry.mig_candidates import MigCandidate, MigSlice, mig_candidates
from perfledger_cost_models.telemetry.misleading_gpu_util import (
    MisleadingUtilization,
    misleading_utilizations,
)
from perfledger_cost_models.telemetry.sample_table import ActivityTable, table_of
from perfledger_cost_models.telemetry.signals import OwnerLevel, Signal
from perfledger_cost_models.telemetry.utilization import (
    OwnerUtilization,
    best_signal,
    total_utilization,
    utilization_by_owner,
    week_levels,
)
from perfledger_cost_models.usage.device_spans import UsageFileError

# A week has every weekday; a shorter period does not represent a year.
MIN_YEAR_HOURS = 168.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilizationGain:
    """The device-hours that a target utilization frees, and how much of it has evidence.

    `freed_hours` are device-hours of the period, a minimum if utilization is an upper bound.
    `reached` is the utilization once idle jobs and free devices are released; None if nothing else
    is left.
    """

    target: float
    freed_hours: float
    idle_hours: float  # held by jobs without use
    free_hours: float  # without an owner
    reached: float | None
    years: float  # the period's length
    rate: HourlyRate | None

    @property
    def freed_usd(self) -> Decimal | None:
        """Return the cash that the freed device-hours save; None without a rate.

        Hours that are paid for whether used or not save none.
        """
        return None if self.rate is None else self._usd(self.rate.usd_per_device_hour)

    @property
    def freed_usd_ends(self) -> tuple[Decimal, Decimal] | None:
        """Return that cash at the rate's low and high end."""
        return None if self.rate is None else (self._usd(self.rate.low), self._usd(self.rate.high))

    @property
    def yearly_hours(self) -> float | None:
        """Return the hours freed in a year like the period; None for less than a week."""
        is_enough = self.years * HOURS_PER_YEAR >= MIN_YEAR_HOURS * (1 - 1e-9)
        return self.freed_hours / self.years if is_enough else None

    def _usd(self, usd_per_hour: Decimal) -> Decimal:
        if self.rate is None or self.rate.is_committed:
            return Decimal(0)
        return to_decimal(self.freed_hours) * usd_per_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilizationReport:
    """The device utilization in exports: in total, by owner, and the outliers."""

    files: tuple[str, ...]
    kinds: tuple[str, ...]
    start: float
    end: float
    devices: float
    level: OwnerLevel
    signal: Signal
    total: OwnerUtilization
    by_owner: tuple[OwnerUtilization, ...]
    idle: tuple[IdleJob, ...]
    misleading: tuple[MisleadingUtilization, ...]
    candidates: tuple[MigCandidate, ...]
    week: tuple[float | None, ...]
    gain: UtilizationGain
    left_out: int  # samples that are not shares
    notes: tuple[str, ...]


def utilization_report(
    exports: Sequence[ActivityExport],
    *,
    level: OwnerLevel,
    target: float,
    signal: Signal | None = None,
    parts: Mapping[str, Sequence[MigSlice]] | None = None,
    rate: HourlyRate | None = None,
) -> UtilizationReport:
    """Return the utilization in files by one signal, by default the most common one available.

    `parts` are the MIG parts of each device model. Raises UsageFileError.
    """
    if not 0 < target <= 1:
        msg = (
            f"a target of {for_programs(target * 100)} % is not a share of device time: give a "
            "percentage above 0 and up to 100"
        )
        raise UsageFileError(msg)
    table = table_of(exports)
    signal = signal or best_signal(table)
    if signal not in table.signals:
        available = ", ".join(table.signals)
        msg = f"no file has {signal}: choose one of {available}"
        raise UsageFileError(msg)
    total = total_utilization(table, signal)
    idle = idle_jobs(table)
    return UtilizationReport(
        files=tuple(export.name for export in exports),
        kinds=tuple(sorted({export.kind for export in exports})),
        start=table.start,
        end=table.end,
        devices=table.device_count,
        level=level,
        signal=signal,
        total=total,
        by_owner=utilization_by_owner(table, level, signal),
        idle=idle,
        misleading=misleading_utilizations(table),
        candidates=mig_candidates(table, parts or {}),
        week=week_levels(table, signal),
        gain=_gain(table, idle, target=target, signal=signal, rate=rate),
        left_out=sum(export.left_out for export in exports),
        notes=tuple(dict.fromkeys(note for export in exports for note in export.notes)),
    )


def _gain(
    table: ActivityTable,
    idle: Sequence[IdleJob],
    *,
    target: float,
    signal: Signal,
    rate: HourlyRate | None,
) -> UtilizationGain:
    samples = table.signals[signal]
    is_free = np.array([owner.is_free for owner in table.owners])[samples.owner]
    hours = float(samples.seconds.sum()) / SECONDS_PER_HOUR
    used = float((samples.shares * samples.seconds).sum()) / SECONDS_PER_HOUR
    free_hours = float(samples.seconds[is_free].sum()) / SECONDS_PER_HOUR
    idle_hours = sum(job.device_hours for job in idle)
    left = hours - idle_hours - free_hours
    return UtilizationGain(
        target=target,
        freed_hours=max(0.0, hours - used / target),
        idle_hours=idle_hours,
        free_hours=free_hours,
        reached=used / left if left > used else None,
        years=table.hours / HOURS_PER_YEAR,
        rate=rate,
    )
