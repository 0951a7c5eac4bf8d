"""Reads device activity from a W&B run's system metrics in CSV or JSON.

https://docs.wandb.ai/ref/python/experiments/system-metrics; as written by
`api.run("entity/project/id").history(stream="events").to_csv("id.csv")`, or its rows as JSON: for
each GPU a column `system.gpu.0.gpu` and one `system.gpu.0.memoryAllocated` (percent), for each TPU
`system.tpu.0.dutyCycle`, `tensorcoreUtilization` and `memoryUsage` (percent), also with "/" in
place of the first dot, and "/l:host" behind it for each host. The file's name is the run, unless
columns `run`, `project` and `entity` give it. `system.gpu.0.memory` is memory traffic and is not
read; nor is `system.gpu.process.0...`, which counts the same GPU again.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath

import msgspec

from perfledger_cost_models.telemetry.activity_samples import ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.metric_names import PERCENT, ActivityMetric, MetricMeaning
from perfledger_cost_models.telemetry.metric_values import MetricValues, export_of_values
from perfledger_cost_models.usage.device_spans import (
    UsageFileError,
    decoded_json,
    first_label,
    parse_time,
)
from perfledger_profiles.parsing.text_table import number_problem, read_table

KIND = "W&B system metrics"
TIME = "_timestamp"
RUN = ("run", "run_id", "run_name")
WANDB_METRICS: Mapping[str, ActivityMetric] = {
    "gpu": ActivityMetric(MetricMeaning.GPU_UTIL, PERCENT),
    "memoryAllocated": ActivityMetric(MetricMeaning.MEMORY, PERCENT),
    "memoryAllocatedBytes": ActivityMetric(MetricMeaning.MEMORY_USED),
    "smActive": ActivityMetric(MetricMeaning.SM_ACTIVE, PERCENT),
    "pipeTensorActive": ActivityMetric(MetricMeaning.TENSOR_ACTIVE, PERCENT),
    "dutyCycle": ActivityMetric(MetricMeaning.GPU_UTIL, PERCENT),
    "tensorcoreUtilization": ActivityMetric(MetricMeaning.TENSOR_ACTIVE, PERCENT),
    "memoryUsage": ActivityMetric(MetricMeaning.MEMORY, PERCENT),
}

_COLUMN = re.compile(r"system[./]([gt]pu)\.(\d{1,3})\.(\w{1,40})(?:/l:(.{1,100}))?")
_Row = Mapping[str, object]


_ROWS_DECODER = msgspec.json.Decoder(list[dict[str, object]])


def is_wandb(names: Iterable[str]) -> bool:
    """Return whether some of these columns are system metrics of GPUs or TPUs."""
    return any(_COLUMN.fullmatch(name) for name in names)


def read_events_json(data: bytes, name: str) -> ActivityExport:
    """Read rows in a JSON list; raise UsageFileError."""
    problem = (
        f"{name} is not a list of W&B events: write the frame with to_csv() or "
        'to_json(orient="records")'
    )
    rows = decoded_json(data, _ROWS_DECODER, problem)
    return _export(name, ((f"{name}, row {at}", row) for at, row in enumerate(rows, start=1)))


def read_events_csv(text: str, name: str) -> ActivityExport:
    """Read rows in CSV; raise UsageFileError."""
    table = read_table(text, name, error=UsageFileError)
    return _export(
        name,
        (
            (f"{name}, line {line}", dict(zip(table.header, cells, strict=True)))
            for line, cells in table.rows
        ),
    )


def _export(name: str, rows: Iterable[tuple[str, _Row]]) -> ActivityExport:
    series: dict[tuple[DeviceOwner, str, str], list[tuple[float, float]]] = {}
    columns: dict[str, tuple[str, str] | None] = {}
    for where, row in rows:
        owner = _owner(row, name)
        for key, value in row.items():
            if key not in columns:
                columns[key] = _column(key)
            column = columns[key]
            if column is not None and value is not None and value != "":
                time = parse_time(str(row.get(TIME, "")), where)
                series.setdefault((owner, *column), []).append((time, _number(value, where)))
    readings = [
        MetricValues(
            metric=WANDB_METRICS[metric_name],
            owner=owner,
            device=f"{owner.job} {device}",
            samples=samples,
        )
        for (owner, device, metric_name), samples in series.items()
        if metric_name != "memoryAllocatedBytes" or (owner, device, "memoryAllocated") not in series
    ]
    if not readings:
        msg = f'{name} has no column such as system.gpu.0.gpu: export history(stream="events")'
        raise UsageFileError(msg)
    return export_of_values(name, KIND, readings)


def _column(name: str) -> tuple[str, str] | None:
    """Return a column's device and metric, None for another column."""
    match = _COLUMN.fullmatch(name)
    if match is None or match[3] not in WANDB_METRICS:
        return None
    return " ".join(filter(None, (match[1], match[4], match[2]))), match[3]


def _owner(row: _Row, name: str) -> DeviceOwner:
    properties = {key: str(row.get(key) or "") for key in (*RUN, "project", "entity")}
    return DeviceOwner(
        team=properties["entity"],
        namespace=properties["project"],
        job=first_label(properties, RUN) or PurePath(name).name.partition(".")[0],
    )


def _number(value: object, where: str) -> float:
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return float(value)
    except (ValueError, OverflowError):
        pass
    msg = f"{where}: {str(value)[:40]!r} {number_problem(str(value))}: export it again"
    raise UsageFileError(msg)
