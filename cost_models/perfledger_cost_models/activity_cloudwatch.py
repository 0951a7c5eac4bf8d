"""CloudWatch's answers to get-metric-data, and its console's CSV, into what they tell of activity.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html. An answer
names a series by its label alone. Ask for one that says all, with dynamic labels:
"team=nlp InstanceId=${PROP('Dim.InstanceId')} index=${PROP('Dim.index')} ${PROP('MetricName')}".
Words with "=" are read as what they say; else a word i-... is the instance and a number the index.
The console's CSV has rows of words about its columns before the rows that begin with a time.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from perfledger_cost_models.activity import Export, Holder
from perfledger_cost_models.activity_metrics import Metric, metric_named
from perfledger_cost_models.activity_readings import Reading, export_of_readings
from perfledger_cost_models.usage import UsageFileError, moment, rows_of

KIND = "CloudWatch"
# The rows above the console's columns that say what they are of; others tell period and statistic.
LABEL_ROWS = frozenset({"full label", "label", "metric name", "dimensions"})
INCOMPLETE = "CloudWatch answered with a part only: what is missing is not known"
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


def is_console_csv(header: Sequence[str]) -> bool:
    """Whether a table's first row is that of the console's download."""
    return bool(header) and header[0].strip().lower() in LABEL_ROWS | {"id"}


def read_metric_data(data: bytes, name: str) -> Export:
    """Read the JSON of get-metric-data; pages of one answer are merged by series.

    Raises UsageFileError.
    """
    try:
        answer = msgspec.json.decode(data, type=_Answer)
    except (msgspec.DecodeError, RecursionError) as error:
        msg = f"{name} is no answer of CloudWatch's get-metric-data: {str(error)[:200]}"
        raise UsageFileError(msg) from error
    series: dict[str, list[tuple[float, float]]] = {}
    for result in answer.results:
        if len(result.timestamps) != len(result.values):
            msg = f"{name}: {result.label[:40]!r} has not a time for each value: export it again"
            raise UsageFileError(msg)
        series.setdefault(result.label or result.id, []).extend(
            (moment(str(time), name), value)
            for time, value in zip(result.timestamps, result.values, strict=True)
        )
    is_whole = answer.next is None and all(each.status == "Complete" for each in answer.results)
    return _export(name, series, notes=() if is_whole else (INCOMPLETE,))


def read_console_csv(text: str, name: str) -> Export:
    """Read the console's download; the words above a column are its label.

    Raises UsageFileError.
    """
    words: dict[int, list[str]] = {}
    series: dict[str, list[tuple[float, float]]] = {}
    for number, cells in rows_of(text, name):
        where = f"{name}, line {number}"
        if not _TIME.match(cells[0]):
            if series or number > MAX_HEADER_ROWS:
                msg = f"{where}: {cells[0][:40]!r} is no time: download it again"
                raise UsageFileError(msg)
            if cells[0].strip().lower() in LABEL_ROWS:
                for place, cell in enumerate(cells[1:], start=1):
                    words.setdefault(place, []).append(cell)
            continue
        time = moment(cells[0].replace("/", "-"), where)
        for place, cell in enumerate(cells[1:], start=1):
            if cell.strip():
                label = " ".join(words.get(place, ()))
                series.setdefault(label, []).append((time, _number(cell, where)))
    return _export(name, series)


def _export(
    name: str, series: Mapping[str, Sequence[tuple[float, float]]], *, notes: Sequence[str] = ()
) -> Export:
    readings = [
        reading for label, samples in series.items() if (reading := _reading(label, samples, name))
    ]
    if not readings:
        msg = (
            f"{name} has no metric of a GPU in its labels, but {sorted(series)[:3]}: give labels "
            "with the metric's name, such as nvidia_smi_utilization_gpu, the instance and index"
        )
        raise UsageFileError(msg[:600])
    return export_of_readings(name, KIND, readings, notes=notes)


def _reading(label: str, samples: Sequence[tuple[float, float]], name: str) -> Reading | None:
    said, metric = _said(label)
    if metric is None:
        return None
    pod = said.get("fullpodname") or said.get("podname", "")
    instance = said.get("instanceid") or said.get("instance") or said.get("nodename") or pod
    index = said.get("index") or said.get("gpu") or said.get("gpudevice", "")
    if not instance:  # an index alone is that of many devices
        msg = f"{name}: {label[:80]!r} does not say of which device: put the instance in the label"
        raise UsageFileError(msg)
    job = said.get("job") or pod
    return Reading(
        metric=metric,
        holder=Holder(
            team=said.get("team", ""), namespace=said.get("namespace", ""), job=job or instance
        ),
        device=f"{instance} {index}".strip(),
        samples=sorted(samples),
        model=said.get("name", "").replace("_", " "),
    )


def _said(label: str) -> tuple[dict[str, str], Metric | None]:
    said: dict[str, str] = {}
    metric: Metric | None = None
    for key, word in _WORD.findall(label):
        found = metric_named(word)
        if found is not None:
            metric = found
        elif key:
            said.setdefault(key.lower(), word)
        elif _INSTANCE.fullmatch(word):
            said.setdefault("instanceid", word)
        elif word.isdecimal() and len(word) < 3:  # noqa: PLR2004 - no host has a hundred
            said.setdefault("index", word)
    return said, metric


def _number(text: str, where: str) -> float:
    with suppress(ValueError):
        return float(text)
    msg = f"{where}: {text[:40]!r} is no number: download it again"
    raise UsageFileError(msg)
