"""Reads GPU activity from CloudWatch: answers to get-metric-data and the console's CSV.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html. An answer
names a series only by its label. Request a complete one with dynamic labels:
"team=nlp InstanceId=${PROP('Dim.InstanceId')} index=${PROP('Dim.index')} ${PROP('MetricName')}".
Words with "=" are key and value; other words like i-... are the instance, and a number is the
index. The console's CSV has rows about its columns above the rows that begin with a time.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from perfledger_cost_models.telemetry.activity_samples import ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.metric_names import ActivityMetric, find_metric
from perfledger_cost_models.telemetry.metric_values import MetricValues, export_of_values
from perfledger_cost_models.usage.device_spans import (
    UsageFileError,
    any_number,
    decoded_json,
    parse_time,
)
from perfledger_profiles.parsing.text_table import untitled_rows

KIND = "CloudWatch"
# The rows above the console's columns that name the series; others have the period and statistic.
LABEL_ROWS = frozenset({"full label", "label", "metric name", "dimensions"})
INCOMPLETE = "CloudWatch's answer is incomplete: the missing time is unknown"
MAX_HEADER_ROWS = 100

_INSTANCE = re.compile(r"i-[0-9a-f]{8,17}")
_WORD = re.compile(r"(?:(\w{1,40})=)?([^\s,()]{1,300})")
_TIME = re.compile(r"\d{4}[-/]\d{2}[-/]\d{2}[T ]")


class _Result(msgspec.Struct):
    label: str = msgspec.field(default="", name="Label")
    id: str = msgspec.field(default="", name="Id")
    timestamps: list[str | float] = msgspec.field(
        default_factory=list[str | float], name="Timestamps"
    )
    values: list[float] = msgspec.field(default_factory=list[float], name="Values")
    status: str = msgspec.field(default="Complete", name="StatusCode")


class _Answer(msgspec.Struct):
    results: list[_Result] = msgspec.field(name="MetricDataResults")
    next: str | None = msgspec.field(default=None, name="NextToken")


_ANSWER_DECODER = msgspec.json.Decoder(_Answer)


def is_console_csv(header: Sequence[str]) -> bool:
    """Return whether a table's first row is that of the console's download."""
    return bool(header) and header[0].strip().lower() in LABEL_ROWS | {"id"}


def read_metric_data(data: bytes, name: str) -> ActivityExport:
    """Read the JSON of get-metric-data; pages of one answer are merged by series.

    Raises UsageFileError.
    """
    problem = f"{name} is not an answer of CloudWatch's get-metric-data"
    answer = decoded_json(data, _ANSWER_DECODER, problem)
    series: dict[str, list[tuple[float, float]]] = {}
    for result in answer.results:
        if len(result.timestamps) != len(result.values):
            msg = f"{name}: {result.label[:40]!r} lacks times of some values: export it again"
            raise UsageFileError(msg)
        series.setdefault(result.label or result.id, []).extend(
            (parse_time(str(time), name), value)
            for time, value in zip(result.timestamps, result.values, strict=True)
        )
    is_whole = answer.next is None and all(each.status == "Complete" for each in answer.results)
    return _export(name, series, notes=() if is_whole else (INCOMPLETE,))


def read_console_csv(text: str, name: str) -> ActivityExport:
    """Read the console's download; the header cells above a column are its label.

    Raises UsageFileError.
    """
    header_cells: dict[int, list[str]] = {}
    series: dict[str, list[tuple[float, float]]] = {}
    for number, cells in untitled_rows(text, name, error=UsageFileError):
        where = f"{name}, line {number}"
        if not _TIME.match(cells[0]):
            if series or number > MAX_HEADER_ROWS:
                msg = f"{where}: {cells[0][:40]!r} is not a time: download it again"
                raise UsageFileError(msg)
            if cells[0].strip().lower() in LABEL_ROWS:
                for place, cell in enumerate(cells[1:], start=1):
                    header_cells.setdefault(place, []).append(cell)
            continue
        time = parse_time(cells[0].replace("/", "-"), where)
        for place, cell in enumerate(cells[1:], start=1):
            if cell.strip():
                label = " ".join(header_cells.get(place, ()))
                series.setdefault(label, []).append((time, any_number(cell, where)))
    return _export(name, series)


def _export(
    name: str, series: Mapping[str, Sequence[tuple[float, float]]], *, notes: Sequence[str] = ()
) -> ActivityExport:
    readings = [
        reading for label, samples in series.items() if (reading := _reading(label, samples, name))
    ]
    if not readings:
        msg = (
            f"{name} has no GPU metric in its labels, only {sorted(series)[:3]}: use labels with "
            "the metric's name, such as nvidia_smi_utilization_gpu, the instance and the index"
        )
        raise UsageFileError(msg[:600])
    return export_of_values(name, KIND, readings, notes=notes)


def _reading(label: str, samples: Sequence[tuple[float, float]], name: str) -> MetricValues | None:
    properties, metric = _parse_label(label)
    if metric is None:
        return None
    pod = properties.get("fullpodname") or properties.get("podname", "")
    instance = (
        properties.get("instanceid")
        or properties.get("instance")
        or properties.get("nodename")
        or pod
    )
    index = properties.get("index") or properties.get("gpu") or properties.get("gpudevice", "")
    if not instance:  # an index alone matches many devices
        msg = f"{name}: {label[:80]!r} does not name the device: put the instance in the label"
        raise UsageFileError(msg)
    job = properties.get("job") or pod
    return MetricValues(
        metric=metric,
        owner=DeviceOwner(
            team=properties.get("team", ""),
            namespace=properties.get("namespace", ""),
            job=job or instance,
        ),
        device=f"{instance} {index}".strip(),
        samples=sorted(samples),
        model=properties.get("name", "").replace("_", " "),
    )


def _parse_label(label: str) -> tuple[dict[str, str], ActivityMetric | None]:
    properties: dict[str, str] = {}
    metric: ActivityMetric | None = None
    for key, word in _WORD.findall(label):
        word_metric = find_metric(word)
        if word_metric is not None:
            metric = word_metric
        elif key:
            properties.setdefault(key.lower(), word)
        elif _INSTANCE.fullmatch(word):
            properties.setdefault("instanceid", word)
        elif word.isdecimal() and len(word) < 3:  # noqa: PLR2004 - no host has a hundred
            properties.setdefault("index", word)
    return properties, metric
