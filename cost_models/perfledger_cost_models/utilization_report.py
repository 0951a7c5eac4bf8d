"""Exports of devices' activity into what a team would do about its utilization, with the evidence.

What a target would free is arithmetic: the same work on fewer device-hours. What is known how to
get there is apart from it: devices that nobody held, and jobs that held theirs and did nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from perfledger_cost_models.activity import Export, Level, Signal
from perfledger_cost_models.activity_table import HOUR, ActivityTable, table_of
from perfledger_cost_models.idle_stretch import IdleJob, idle_jobs
from perfledger_cost_models.mig_fit import MigCandidate, Slice, mig_candidates
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.onprem import HOURS_PER_YEAR
from perfledger_cost_models.quote import Rate
from perfledger_cost_models.red_herring import RedHerring, red_herrings
from perfledger_cost_models.usage import UsageFileError
from perfledger_cost_models.utilization import (
    Use,
    best_signal,
    use_of,
    use_of_all,
    week_levels,
)

# A week has every weekday; less cannot stand for a year.
FEWEST_YEAR_HOURS = 168.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What all devices' work would take at a target, and how far the evidence leads there.

    `freed_hours` are device-hours of the period, at least so many where use is an upper bound.
    `reached` is the utilization once idle jobs and free devices are given back; None where they
    are all that there is.
    """

    target: float
    freed_hours: float
    idle_hours: float  # that jobs held and did not use
    free_hours: float  # that nobody held
    reached: float | None
    years: float  # the period's length
    rate: Rate | None

    @property
    def freed_usd(self) -> Decimal | None:
        """Return what the freed device-hours cost at the rate; None without one."""
        return None if self.rate is None else self._usd(self.rate.usd_per_device_hour)

    @property
    def freed_usd_ends(self) -> tuple[Decimal, Decimal] | None:
        """Return what they cost at the rate's low and high end."""
        return None if self.rate is None else (self._usd(self.rate.low), self._usd(self.rate.high))

    @property
    def yearly_hours(self) -> float | None:
        """Return what would be freed in a year like the period; None of less than a week."""
        is_enough = self.years * HOURS_PER_YEAR >= FEWEST_YEAR_HOURS * (1 - 1e-9)
        return self.freed_hours / self.years if is_enough else None

    def _usd(self, usd_per_hour: Decimal) -> Decimal:
        return to_decimal(self.freed_hours) * usd_per_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilization:
    """What exports tell of devices' use: all together, by holder, and what stands out."""

    files: tuple[str, ...]
    kinds: tuple[str, ...]
    start: float
    end: float
    devices: float
    level: Level
    signal: Signal
    all: Use
    uses: tuple[Use, ...]
    idle: tuple[IdleJob, ...]
    herrings: tuple[RedHerring, ...]
    candidates: tuple[MigCandidate, ...]
    week: tuple[float | None, ...]
    gain: Gain
    left_out: int  # samples that are no share
    notes: tuple[str, ...]


def utilization_of(
    exports: Sequence[Export],
    *,
    level: Level,
    target: float,
    signal: Signal | None = None,
    parts: Mapping[str, Sequence[Slice]] | None = None,
    rate: Rate | None = None,
) -> Utilization:
    """Return the utilization that files tell by one signal, the commonest that they have if None.

    `parts` are the parts (MIG) that each model of device can be cut into. Raises UsageFileError.
    """
    if not 0 < target <= 1:
        msg = f"a target of {target:g} is no share of a device's time: give one such as 0.7"
        raise UsageFileError(msg)
    table = table_of(exports)
    signal = signal or best_signal(table)
    if signal not in table.signals:
        there = ", ".join(table.signals)
        msg = f"no file tells {signal}: there are {there}"
        raise UsageFileError(msg)
    every = use_of_all(table, signal)
    idle = idle_jobs(table)
    return Utilization(
        files=tuple(export.name for export in exports),
        kinds=tuple(sorted({export.kind for export in exports})),
        start=table.start,
        end=table.end,
        devices=float(table.sizes.sum()),
        level=level,
        signal=signal,
        all=every,
        uses=use_of(table, level, signal),
        idle=idle,
        herrings=red_herrings(table),
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
    rate: Rate | None,
) -> Gain:
    samples = table.signals[signal]
    is_free = np.array([holder.is_free for holder in table.holders])[samples.holder]
    hours = float(samples.seconds.sum()) / HOUR
    used = float((samples.shares * samples.seconds).sum()) / HOUR
    free_hours = float(samples.seconds[is_free].sum()) / HOUR
    idle_hours = sum(job.device_hours for job in idle)
    left = hours - idle_hours - free_hours
    return Gain(
        target=target,
        freed_hours=max(0.0, hours - used / target),
        idle_hours=idle_hours,
        free_hours=free_hours,
        reached=min(1.0, used / left) if left > used else None,
        years=table.hours / HOURS_PER_YEAR,
        rate=rate,
    )
