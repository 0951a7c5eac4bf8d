"""Turns how busy checks saw workloads keep their devices into terminal text, CSV, JSON, and rows.

GPU-util is the share of a profiled step in which any kernel ran; SM-active is that of the
multiprocessors with work, read while the steps were timed.
"""

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from io import StringIO

from rich.console import Group
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.red_herring import HIGH_GPU_UTIL, LOW_SM_ACTIVE
from perfledger_service.pages import figures, stored
from perfledger_service.pages.escape import cell, clean
from perfledger_service.pages.utilized import amount
from perfledger_service.views import MeasuredUse

# 1: first version. Keys are only ever added.
FORMAT = "perfledger-measured-use"
VERSION = 1
NOTHING = (
    "no check measured how busy a device is yet: GPUs tell it to a check's runner, CPUs always"
)
WHAT_IS_ACTIVE = (
    "Active: multiprocessors with work (of a CPU its cores), while steps were timed in the newest "
    "check of the default branch. GPU-util: any kernel ran, in a profiled step."
)
WHAT_IS_IDLE = (
    "Hours a year are those of the fleet's entries that the workload matches, on the accelerator "
    "that was measured; idle is the share of them in which multiprocessors had no work though the "
    "device was held: faster code, a larger batch or a part of a device (MIG) takes them, no "
    "scheduler does."
)
_NAME = 34


@dataclass(frozen=True, slots=True, kw_only=True)
class UseRow:
    """One workload's use as it is shown; "" is not known."""

    repository: str
    workload: str
    device: str
    active: str
    range: str
    gpu_busy: str
    hours: str
    apart: str
    herring: str
    upload_id: str


def use_rows(uses: Sequence[MeasuredUse]) -> tuple[UseRow, ...]:
    """Return workloads' use as rows, in their order."""
    return tuple(
        UseRow(
            repository=use.repository,
            workload=use.workload,
            device=stored.device(use.device_class),
            active=figures.share(use.active),
            range=figures.TO.join(map(figures.share, (use.low, use.high))),
            gpu_busy="" if use.gpu_busy is None else figures.share(use.gpu_busy),
            hours="" if use.device_hours_per_year is None else amount(use.device_hours_per_year),
            apart="" if use.hours_apart is None else amount(use.hours_apart),
            herring=_herring(use),
            upload_id=use.upload_id,
        )
        for use in uses
    )


def measured_text(uses: Sequence[MeasuredUse]) -> Group | Text:
    """Return workloads' use for a terminal, and what it means."""
    if not uses:
        return Text(NOTHING)
    table = Table.grid(padding=(0, 1))
    table.add_column(max_width=_NAME, overflow="fold")
    for _ in range(4):
        table.add_column(justify="right", no_wrap=True)
    table.add_row("workload", "active", "GPU-util", "h a year", "of them idle", style="dim")
    for row in use_rows(uses):
        table.add_row(
            Text(clean(row.workload, limit=_NAME)),
            Text(row.active, style="bold"),
            *(row.gpu_busy, row.hours, row.apart),
        )
    herrings = [
        Text(f"{clean(row.workload)}: {row.herring}") for row in use_rows(uses) if row.herring
    ]
    return Group(
        table,
        Text(),
        *herrings,
        *(Text(note, style="dim") for note in (WHAT_IS_ACTIVE, WHAT_IS_IDLE)),
    )


def measured_csv(uses: Sequence[MeasuredUse]) -> str:
    """Return a row for each workload and device, in base units; unknown is empty."""
    written = StringIO()
    table = csv.writer(written, lineterminator="\n")
    names = tuple(MeasuredUse.__dataclass_fields__)
    table.writerow([*names, "hours_apart"])
    for use in uses:
        values = asdict(use) | {"created_at": use.created_at.isoformat()}
        words = (cell(value) if isinstance(value, str) else value for value in values.values())
        table.writerow([*words, use.hours_apart])
    return written.getvalue()


def measured_json(uses: Sequence[MeasuredUse]) -> str:
    """Return all of it as JSON; null is not known."""
    workloads = [
        asdict(use)
        | {
            "repository": clean(use.repository, limit=200),
            "workload": clean(use.workload, limit=200),
            "device_class": clean(use.device_class, limit=200),
            "created_at": use.created_at.isoformat(),
            "hours_apart": use.hours_apart,
        }
        for use in uses
    ]
    document = {"format": FORMAT, "version": VERSION, "workloads": workloads}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _herring(use: MeasuredUse) -> str:
    if use.gpu_busy is None or use.gpu_busy < HIGH_GPU_UTIL or use.active >= LOW_SM_ACTIVE:
        return ""
    return (
        f"looks busy and is not: GPU-util {figures.share(use.gpu_busy)}, SM-active "
        f"{figures.share(use.active)}"
    )
