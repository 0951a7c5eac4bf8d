"""Reads device activity from the text of `dcgmi dmon`.

dcgmi prints no times: put them before each line, as in `dcgmi dmon -e 203,1002,1004 -d 15000 | ts
'%Y-%m-%dT%H:%M:%SZ'` with a clock in UTC. The names of its columns repeat; a second line has "ID".
"""

from collections.abc import Mapping
from pathlib import PurePath

from perfledger_cost_models.telemetry.activity_samples import ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.metric_names import (
    PERCENT,
    ActivityMetric,
    MetricMeaning,
)
from perfledger_cost_models.telemetry.metric_values import MetricValues, export_of_values
from perfledger_cost_models.units import MEBI
from perfledger_cost_models.usage.device_spans import UsageFileError, any_number, parse_time

KIND = "dcgmi dmon"
_ENTITY = "#Entity"
_DEVICE = "GPU"
DCGMI_METRICS: Mapping[str, ActivityMetric] = {
    "GPUTL": ActivityMetric(MetricMeaning.GPU_UTIL, PERCENT),
    "GRACT": ActivityMetric(MetricMeaning.ENGINE_ACTIVE),
    "SMACT": ActivityMetric(MetricMeaning.SM_ACTIVE),
    "TENSO": ActivityMetric(MetricMeaning.TENSOR_ACTIVE),
    "FBTTL": ActivityMetric(MetricMeaning.MEMORY_TOTAL, MEBI),
    "FBFRE": ActivityMetric(MetricMeaning.MEMORY_FREE, MEBI),
    "FBUSD": ActivityMetric(MetricMeaning.MEMORY_USED, MEBI),
}


def is_dcgmi(first_line: str) -> bool:
    """Return whether a line is the header of `dcgmi dmon`."""
    return _ENTITY in first_line.replace("# ", "#").split()


def read_dmon(text: str, name: str) -> ActivityExport:
    """Read the text of one host; raise UsageFileError."""
    host = PurePath(name).name.partition(".")[0]
    columns: list[str] = []
    series: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number, line in enumerate(text.replace("# ", "#").splitlines(), start=1):
        words, where = line.split(), f"{name}, line {number}"
        if _ENTITY in words:
            columns = words[words.index(_ENTITY) + 1 :]
        elif _DEVICE in words:
            place = words.index(_DEVICE)
            device, *cells = words[place + 1 :]
            if len(cells) != len(columns):
                msg = f"{where}: {len(cells)} values for {columns}: remove the line"
                raise UsageFileError(msg)
            time = _time(" ".join(words[:place]), where)
            for column, cell in zip(columns, cells, strict=True):
                if column in DCGMI_METRICS and cell != "N/A":
                    value = any_number(cell, f"{where}, {column}")
                    series.setdefault((device, column), []).append((time, value))
    return export_of_values(
        name,
        KIND,
        [
            MetricValues(
                metric=DCGMI_METRICS[column],
                owner=DeviceOwner(job=host),
                device=f"{host} gpu {device}",
                samples=samples,
            )
            for (device, column), samples in sorted(series.items())
        ],
    )


def _time(text: str, where: str) -> float:
    if not text:
        msg = (
            f"{where} has no time, which dcgmi does not print: put it before each line with "
            "dcgmi dmon ... | ts '%Y-%m-%dT%H:%M:%SZ'"
        )
        raise UsageFileError(msg)
    return parse_time(text, where)
