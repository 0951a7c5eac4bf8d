"""W&B's system metrics of a run, in CSV or JSON, into what they tell of its devices' activity.

https://docs.wandb.ai/ref/python/experiments/system-metrics; as written by
`api.run("entity/project/id").history(stream="events").to_csv("id.csv")`, or its rows as JSON: for
each GPU a column `system.gpu.0.gpu` and one `system.gpu.0.memoryAllocated` (percent), for each TPU
`system.tpu.0.dutyCycle`, `tensorcoreUtilization` and `memoryUsage` (percent), also with "/" in
place of the first dot, and "/l:host" behind it for each host. The run is what the file is called
by, unless columns `run`, `project` and `entity` say it. `system.gpu.0.memory` is the memory's
traffic and is not read; nor is `system.gpu.process.0...`, which counts the same GPU once more.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

import msgspec

from perfledger_cost_models.activity import Export, Holder
from perfledger_cost_models.activity_metrics import Metric, Tells
from perfledger_cost_models.activity_readings import Reading, export_of_readings
from perfledger_cost_models.usage import UsageFileError, moment, rows_of

KIND = "W&B system metrics"
TIME = "_timestamp"
RUN = ("run", "run_id", "run_name")
TELLS: Mapping[str, Metric] = {
    "gpu": Metric(Tells.GPU_UTIL, 0.01),
    "memoryAllocated": Metric(Tells.MEMORY, 0.01),
    "memoryAllocatedBytes": Metric(Tells.MEMORY_USED),
    "smActive": Metric(Tells.SM_ACTIVE, 0.01),
    "pipeTensorActive": Metric(Tells.TENSOR_ACTIVE, 0.01),
    "dutyCycle": Metric(Tells.GPU_UTIL, 0.01),
    "tensorcoreUtilization": Metric(Tells.TENSOR_ACTIVE, 0.01),
    "memoryUsage": Metric(Tells.MEMORY, 0.01),
}

_COLUMN = re.compile(r"system[./]([gt]pu)\.(\d{1,3})\.(\w{1,40})(?:/l:(.{1,100}))?")
_Row = Mapping[str, object]


def is_wandb(names: Iterable[str]) -> bool:
    """Whether some of these columns are GPUs' or TPUs' system metrics."""
    return any(_COLUMN.fullmatch(name) for name in names)


def read_events_json(data: bytes, name: str) -> Export:
    """Read rows in a JSON list; raises UsageFileError."""
    try:
        rows = msgspec.json.decode(data, type=list[dict[str, object]])
    except (msgspec.DecodeError, RecursionError) as error:
        msg = (
            f"{name} is no list of W&B's events: {str(error)[:200]}: write the frame with "
            'to_csv(), or with to_json(orient="records")'
        )
        raise UsageFileError(msg) from error
    return _export(name, ((f"{name}, row {at}", row) for at, row in enumerate(rows, start=1)))


def read_events_csv(text: str, name: str) -> Export:
    """Read rows in CSV; raises UsageFileError."""
    rows = rows_of(text, name)
    _, header = next(rows, (0, list[str]()))
    return _export(
        name,
        ((f"{name}, line {number}", dict(zip(header, row, strict=False))) for number, row in rows),
    )


def _export(name: str, rows: Iterable[tuple[str, _Row]]) -> Export:
    found: dict[tuple[Holder, str, str], list[tuple[float, float]]] = {}
    columns: dict[str, tuple[str, str] | None] = {}
    for where, row in rows:
        holder = _holder(row, name)
        for key, value in row.items():
            if key not in columns:
                columns[key] = _column(key)
            column = columns[key]
            if column is not None and value is not None and value != "":
                time = moment(str(row.get(TIME, "")), where)
                found.setdefault((holder, *column), []).append((time, _number(value, where)))
    readings = [
        Reading(
            metric=TELLS[tells],
            holder=holder,
            device=f"{holder.job} {device}",
            samples=samples,
        )
        for (holder, device, tells), samples in found.items()
        if tells != "memoryAllocatedBytes" or (holder, device, "memoryAllocated") not in found
    ]
    if not readings:
        msg = f'{name} has no column such as system.gpu.0.gpu: export history(stream="events")'
        raise UsageFileError(msg)
    return export_of_readings(name, KIND, readings)


def _column(name: str) -> tuple[str, str] | None:
    """Return a column's device and what it tells of it, None for another one."""
    found = _COLUMN.fullmatch(name)
    if found is None or found[3] not in TELLS:
        return None
    return " ".join(filter(None, (found[1], found[4], found[2]))), found[3]


def _holder(row: _Row, name: str) -> Holder:
    said = {key: str(row.get(key) or "") for key in (*RUN, "project", "entity")}
    return Holder(
        team=said["entity"],
        namespace=said["project"],
        job=_first(said, RUN) or PurePath(name).name.partition(".")[0],
    )


def _first(said: Mapping[str, str], names: Sequence[str]) -> str:
    return next((said[name] for name in names if said[name]), "")


def _number(value: object, where: str) -> float:
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return float(value)
    except (ValueError, OverflowError):
        pass
    msg = f"{where}: {str(value)[:40]!r} is no number: export it again"
    raise UsageFileError(msg)
