"""Reads device activity from the CSV of `nvidia-smi --query-gpu`.

As written by `nvidia-smi --query-gpu=timestamp,uuid,name,utilization.gpu,memory.used,memory.total
--format=csv --loop=15`: a header with units in brackets, cells with units or, with `nounits`,
without. Times are local to the host and have no zone: they count as UTC. `utilization.memory` is
memory traffic and is not read.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from perfledger_cost_models.telemetry.activity_samples import ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.metric_names import (
    PERCENT,
    ActivityMetric,
    MetricMeaning,
)
from perfledger_cost_models.telemetry.metric_values import MetricValues, export_of_values
from perfledger_cost_models.units import MEBI
from perfledger_cost_models.usage.device_spans import (
    UsageFileError,
    any_number,
    first_label,
    parse_time,
)
from perfledger_profiles.parsing.text_table import read_table

KIND = "nvidia-smi"
TIME = "timestamp"
DEVICE = ("uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "index")
NAME = ("name", "gpu_name")
NVIDIA_SMI_METRICS: Mapping[str, ActivityMetric] = {
    "utilization.gpu": ActivityMetric(MetricMeaning.GPU_UTIL, PERCENT),
    "memory.used": ActivityMetric(MetricMeaning.MEMORY_USED, MEBI),
    "memory.free": ActivityMetric(MetricMeaning.MEMORY_FREE, MEBI),
    "memory.total": ActivityMetric(MetricMeaning.MEMORY_TOTAL, MEBI),
}

_UNIT = re.compile(r"(?<=\d)\s*[A-Za-z%]+$")  # of a cell: "61 %", "40000 MiB"


def is_nvidia_smi(header: Sequence[str]) -> bool:
    """Return whether these columns are those of a query with activity."""
    return not NVIDIA_SMI_METRICS.keys().isdisjoint(map(_column, header))


def read_query(text: str, name: str) -> ActivityExport:
    """Read the CSV of one host; raise UsageFileError."""
    table = read_table(text, name, error=UsageFileError, name_of=_column)
    if TIME not in table.header or set(DEVICE).isdisjoint(table.header):
        msg = f"{name} has no timestamp or no uuid: add both to --query-gpu=timestamp,uuid,..."
        raise UsageFileError(msg)
    host = PurePath(name).name.partition(".")[0]
    series: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for number, cells in table.rows:
        where = f"{name}, line {number}"
        row = dict(zip(table.header, (cell.strip() for cell in cells), strict=True))
        time = parse_time(row[TIME].replace("/", "-"), where)
        device, model = first_label(row, DEVICE), first_label(row, NAME)
        for column in NVIDIA_SMI_METRICS.keys() & row.keys():
            if row[column] and not row[column].startswith("["):  # [N/A], [Not Supported]
                value = any_number(_UNIT.sub("", row[column]), f"{where}, {column}")
                series.setdefault((device, model, column), []).append((time, value))
    return export_of_values(
        name,
        KIND,
        [
            MetricValues(
                metric=NVIDIA_SMI_METRICS[column],
                owner=DeviceOwner(job=host),
                device=f"{host} {device}",
                samples=samples,
                model=model,
            )
            for (device, model, column), samples in sorted(series.items())
        ],
    )


def _column(heading: str) -> str:
    """Return a column's name without its unit: "utilization.gpu [%]"."""
    return heading.partition("[")[0].strip().lower()
