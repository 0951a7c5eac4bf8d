"""Presents the device utilization of workloads, as measured by checks.

GPU-util is the share of a profiled step in which any kernel ran; SM-active is the share of
multiprocessors with work, read while steps were timed.
"""

from collections.abc import Sequence

from perfledger_cost_models.telemetry.misleading_gpu_util import HIGH_GPU_UTIL, LOW_SM_ACTIVE
from perfledger_service.rendering.fleet.utilization import amount
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    facts,
    figure,
    name,
    notes,
    sentences,
    table,
)
from perfledger_service.values.fleet_views import MeasuredUtilization

NO_CHECKS_NOTE = (
    "no check has measured utilization on an attested commit of the default branch yet: run one "
    "on a CPU, or on a GPU that reports it"
)
WHAT_IS_ACTIVE = (
    "Active: share of multiprocessors (on a CPU: cores) with work during timed steps, in the "
    "newest check of an attested commit of the default branch. GPU-util: share of a profiled step "
    "in which any kernel ran."
)
WHAT_IS_IDLE = (
    "Hours a year: from the workload's fleet entries on the measured accelerator. Idle: those "
    "hours in which the multiprocessors of an allocated device had no work. Faster code, larger "
    "batches or a MIG slice can use them, a scheduler cannot."
)
_COLUMNS: tuple[Column[MeasuredUtilization], ...] = (
    name("repository", None, lambda use: use.repository),
    name("workload", "workload", lambda use: use.workload),
    name("machine_class", None, lambda use: use.machine_class),
    figure("active", "active", lambda use: use.active, number_format.share),
    *facts("low", "high", "readings"),
    figure("gpu_busy", "GPU-util", lambda use: use.gpu_busy, number_format.share),
    figure("device_hours_per_year", "h a year", lambda use: use.device_hours_per_year, amount),
    figure("idle_hours", "idle", lambda use: use.idle_hours, amount),
    *facts("upload_id", "created_at"),
)


def measured_utilization_document(uses: Sequence[MeasuredUtilization]) -> Document:
    """Return the utilization of workloads with notes; null is unknown."""
    misleading = [f"{use.workload}: {words}" for use in uses if (words := misleading_words(use))]
    names = [use.workload for use in uses]
    return Document(
        name="perfledger-measured-utilization",
        blocks=(
            table(_COLUMNS, uses, key="workloads"),
            *sentences(misleading if uses else [NO_CHECKS_NOTE], names=names),
            *notes((WHAT_IS_ACTIVE, WHAT_IS_IDLE) if uses else ()),
        ),
    )


def misleading_words(use: MeasuredUtilization) -> str:
    """Return a note if GPU-util makes the workload look busier than it is, else ""."""
    if use.gpu_busy is None or use.gpu_busy < HIGH_GPU_UTIL or use.active >= LOW_SM_ACTIVE:
        return ""
    return (
        f"looks busy but is not: GPU-util {number_format.share(use.gpu_busy)}, SM-active "
        f"{number_format.share(use.active)}"
    )
