"""Reads how fast jobs run by accelerator and number of devices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from perfledger_cost_models.csv_table import read_rows
from perfledger_cost_models.job_logs.table import MAX_DEVICES, JobLogError

COLUMNS = ("accelerator", "devices", "speed")
KIND = "team"  # of the log, whose jobs a row describes; "" is any other job


@dataclass(frozen=True, slots=True)
class JobConfiguration:
    """Devices of one accelerator that a job can run on, with its speed there."""

    accelerator: str
    devices: int
    speed: float  # relative to whatever the table's speeds are relative to


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedTable:
    """The configurations of each kind of job; those of "" are for every other kind."""

    kinds: Mapping[str, tuple[JobConfiguration, ...]]
    accelerators: tuple[str, ...]

    def configurations(self, kind: str) -> tuple[JobConfiguration, ...]:
        """Return the configurations of a kind of job; none for one that is not in the table."""
        return self.kinds.get(kind, self.kinds.get("", ()))


def speed_on(
    configurations: Sequence[JobConfiguration], accelerator: str, devices: int
) -> float | None:
    """Return the speed on a number of devices of an accelerator; None outside the table's counts.

    Between two counts of the table the speed is linear.
    """
    points = [
        (each.devices, each.speed) for each in configurations if each.accelerator == accelerator
    ]
    counts = [count for count, _ in points]
    if not counts or not min(counts) <= devices <= max(counts):
        return None
    return float(np.interp(devices, counts, [speed for _, speed in points]))


def read_speeds(text: str, name: str) -> SpeedTable:
    """Read a CSV table of speeds by accelerator and number of devices, and by team if it has them.

    Raises PriceSheetError that names the cell, and JobLogError for an empty table.
    """
    configurations: dict[tuple[str, str, int], JobConfiguration] = {}
    for row in read_rows(text, name, columns=COLUMNS, optional=(KIND,)):
        kind = row.text(KIND, is_optional=True) if KIND in row.cells else ""
        accelerator, speed = row.text("accelerator"), float(row.decimal("speed"))
        devices = row.decimal("devices")
        if devices % 1 or not 1 <= devices <= MAX_DEVICES:
            row.reject("devices", f"is not a number of devices from 1 to {MAX_DEVICES}")
        if not speed:
            row.reject("speed", "is not a speed above 0")
        key = (kind, accelerator, int(devices))
        if key in configurations:
            row.reject("devices", "appears twice for this accelerator and team")
        configurations[key] = JobConfiguration(accelerator, int(devices), speed)
    if not configurations:
        msg = f"{name!r} has no speeds: add rows of accelerator, devices and speed"
        raise JobLogError(msg)
    return SpeedTable(
        kinds={
            kind: tuple(configurations[key] for key in same)
            for kind, same in groupby(sorted(configurations), key=lambda key: key[0])
        },
        accelerators=tuple(dict.fromkeys(accelerator for _, accelerator, _ in configurations)),
    )
