"""Google Cloud Monitoring's timeSeries.list into what it tells of GPUs' and TPUs' activity.

https://cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.timeSeries/list (or the list alone,
as gcloud prints it). Points come newest first; their interval's end is their time. Of
compute.googleapis.com/instance/gpu/accumulated_context_utilization_seconds (busy seconds) the share
is what it grew by over the time in which it did.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from perfledger_cost_models.activity import MAX_SHARE, Export, Holder
from perfledger_cost_models.activity_metrics import Metric, Tells, metric_named
from perfledger_cost_models.activity_prometheus import JOBS, TEAMS, device_of, with_free
from perfledger_cost_models.activity_readings import Reading, export_of_readings
from perfledger_cost_models.usage import UsageFileError, moment

KIND = "Google Cloud Monitoring"
BUSY_SECONDS = "compute.googleapis.com/instance/gpu/accumulated_context_utilization_seconds"
OPS_AGENT_MEMORY = "agent.googleapis.com/gpu/memory/bytes_used"  # used and free, by its label
MANAGED_PROMETHEUS = "prometheus.googleapis.com/"
NEXT_PAGE = "the answer has a next page: what that holds is not known here"
# By which a series says what it is of; the first that it has.
DEVICES = ("accelerator_id", "uuid", "gpu_number", "gpu_id", "UUID", "gpu", "device")
PLACES = ("node_name", "instance_id", "node_id", "worker_id", "pod_name", "instance")
NAMED_JOBS = (*JOBS, "exported_pod", "pod_name", "pod", "node_name", "instance_id", "node_id")
NAMESPACES = ("exported_namespace", "namespace_name", "project_id")
MODELS = ("model", "modelName", "accelerator_type")
_RATIOS = frozenset({"1", "10^2.%"})

Samples = Sequence[tuple[float, float]]


class _Value(msgspec.Struct):
    int64: str | int | None = msgspec.field(default=None, name="int64Value")
    double: float | str | None = msgspec.field(default=None, name="doubleValue")


class _Interval(msgspec.Struct):
    end: str = msgspec.field(name="endTime")
    start: str = msgspec.field(default="", name="startTime")


class _Point(msgspec.Struct):
    interval: _Interval
    value: _Value


class _Typed(msgspec.Struct):
    type: str = ""
    labels: dict[str, str] = {}


class _Metadata(msgspec.Struct):
    user: dict[str, str] = msgspec.field(default_factory=dict[str, str], name="userLabels")


class _Series(msgspec.Struct):
    metric: _Typed
    resource: _Typed = msgspec.field(default_factory=_Typed)
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    points: list[_Point] = []
    unit: str = ""
    kind: str = msgspec.field(default="GAUGE", name="metricKind")


class _Answer(msgspec.Struct):
    series: list[_Series] = msgspec.field(name="timeSeries")
    next: str = msgspec.field(default="", name="nextPageToken")
    unit: str = ""


def read_time_series(data: bytes, name: str) -> Export:
    """Read the JSON of timeSeries.list; raises UsageFileError."""
    try:
        if data.lstrip()[:1] == b"[":
            answer = _Answer(msgspec.json.decode(data, type=list[_Series]))
        else:
            answer = msgspec.json.decode(data, type=_Answer)
    except (msgspec.DecodeError, RecursionError) as error:
        msg = f"{name} is no answer of Cloud Monitoring's timeSeries.list: {str(error)[:200]}"
        raise UsageFileError(msg) from error
    # "1" is the unit of shares, and is also stated of whole numbers of percent.
    percents = {
        one.metric.type
        for one in answer.series
        if any(_is_percent(point.value, name) for point in one.points)
    }
    found = (
        _reading(one, "" if one.metric.type in percents else one.unit or answer.unit, name)
        for one in answer.series
    )
    readings = [reading for reading in found if reading is not None]
    if not readings:
        types = sorted({one.metric.type for one in answer.series})[:3]
        msg = f"{name} has no metric of activity in it, but {types}: ask for accelerator/duty_cycle"
        raise UsageFileError(msg[:600])
    notes = (NEXT_PAGE,) if answer.next else ()
    return export_of_readings(name, KIND, with_free(readings), notes=notes)


def reading_of(metric: Metric, labels: Mapping[str, str], samples: Samples, name: str) -> Reading:
    """Return a series' values with whom its labels name; raises UsageFileError for no device."""
    index = next((labels[key] for key in DEVICES if labels.get(key)), "")
    place = next((labels[key] for key in PLACES if labels.get(key)), "")
    return Reading(
        metric=metric,
        holder=_holder(labels),
        device=device_of({"gpu": index or place, "instance": place if index else ""}, name),
        samples=samples,
        model=next((labels[key] for key in MODELS if labels.get(key)), ""),
    )


def _reading(series: _Series, unit: str, name: str) -> Reading | None:
    labels = series.resource.labels | series.metric.labels | series.metadata.user
    metric = _metric(series, labels, unit)
    if metric is None:
        return None
    samples = _samples(series, name)
    is_busy_seconds = series.metric.type == BUSY_SECONDS
    return reading_of(metric, labels, _shares(samples) if is_busy_seconds else samples, name)


def _metric(series: _Series, labels: Mapping[str, str], unit: str) -> Metric | None:
    """Return what a series tells; where a unit is stated, that counts."""
    kind = series.metric.type
    if kind == BUSY_SECONDS:
        return Metric(Tells.GPU_UTIL)
    if kind == OPS_AGENT_MEMORY:
        state = labels.get("memory_state", "")
        return Metric(Tells.MEMORY_FREE if state == "free" else Tells.MEMORY_USED)
    known = metric_named(kind) or _managed(kind)
    if known is not None and known.factor != 1 and unit in _RATIOS:
        return Metric(known.tells)
    return known


def _managed(kind: str) -> Metric | None:
    """Return what prometheus.googleapis.com/DCGM_FI_DEV_GPU_UTIL/gauge and its like tell."""
    if not kind.startswith(MANAGED_PROMETHEUS):
        return None
    return metric_named(kind.removeprefix(MANAGED_PROMETHEUS).partition("/")[0])


def _holder(labels: Mapping[str, str]) -> Holder:
    job = next((labels[key] for key in NAMED_JOBS if labels.get(key)), "")
    return Holder(
        team=next((labels[key] for key in TEAMS if labels.get(key)), ""),
        namespace=next((labels[key] for key in NAMESPACES if labels.get(key)), ""),
        job=job,
    )


def _samples(series: _Series, name: str) -> Samples:
    return sorted(
        (moment(one.interval.end, name), _number(one.value, name)) for one in series.points
    )


def _shares(samples: Samples) -> Samples:
    """Return what busy seconds grew by over the time in which they did; unknown where they fell."""
    return [
        (before, max(now - was, 0.0) / (time - before) if now >= was else float("nan"))
        for (before, was), (time, now) in pairwise(samples)
        if time > before
    ]


def _is_percent(value: _Value, name: str) -> bool:
    return value.int64 is not None or _number(value, name) > MAX_SHARE


def _number(value: _Value, name: str) -> float:
    told = value.int64 if value.int64 is not None else value.double
    try:
        return float(told) if told is not None else float("nan")
    except (ValueError, OverflowError) as error:
        msg = f"{name}: {str(told)[:40]!r} is no number: export it again"
        raise UsageFileError(msg) from error
