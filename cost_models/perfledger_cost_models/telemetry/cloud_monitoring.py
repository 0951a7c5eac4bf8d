"""Reads GPU and TPU activity from Google Cloud Monitoring's timeSeries.list.

https://cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.timeSeries/list (or the list alone,
as gcloud prints it). Points come newest first; the end of their interval is their time. For
compute.googleapis.com/instance/gpu/accumulated_context_utilization_seconds (busy seconds) the share
is its increase over the time of the increase.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from perfledger_cost_models.telemetry.activity_samples import MAX_SHARE, ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.metric_names import ActivityMetric, MetricMeaning, find_metric
from perfledger_cost_models.telemetry.metric_values import MetricValues, export_of_values
from perfledger_cost_models.telemetry.prometheus import JOBS, TEAMS, device_of, mark_free_devices
from perfledger_cost_models.usage.device_spans import (
    UsageFileError,
    decoded_json,
    first_label,
    parse_time,
)
from perfledger_cost_models.usage.prometheus import EXPORTED

KIND = "Google Cloud Monitoring"
BUSY_SECONDS = "compute.googleapis.com/instance/gpu/accumulated_context_utilization_seconds"
OPS_AGENT_MEMORY = "agent.googleapis.com/gpu/memory/bytes_used"  # used and free, by its label
MANAGED_PROMETHEUS = "prometheus.googleapis.com/"
NEXT_PAGE = "the answer has a next page, which is missing here"
# Labels that identify a series' device, location, job and so on; the first one present counts.
DEVICES = ("accelerator_id", "uuid", "gpu_number", "gpu_id", "UUID", "gpu", "device")
PLACES = ("node_name", "instance_id", "node_id", "worker_id", "pod_name", "instance")
NAMED_JOBS = (*JOBS, f"{EXPORTED}pod", "pod_name", "pod", "node_name", "instance_id", "node_id")
NAMESPACES = (f"{EXPORTED}namespace", "namespace_name", "project_id")
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


_SERIES_LIST_DECODER = msgspec.json.Decoder(list[_Series])
_ANSWER_DECODER = msgspec.json.Decoder(_Answer)


def read_time_series(data: bytes, name: str) -> ActivityExport:
    """Read the JSON of timeSeries.list; raise UsageFileError."""
    problem = f"{name} is not an answer of Cloud Monitoring's timeSeries.list"
    if data.lstrip()[:1] == b"[":
        answer = _Answer(decoded_json(data, _SERIES_LIST_DECODER, problem))
    else:
        answer = decoded_json(data, _ANSWER_DECODER, problem)
    # "1" is the unit of shares, but also appears with whole numbers of percent.
    percents = {
        series.metric.type
        for series in answer.series
        if any(_is_percent(point.value, name) for point in series.points)
    }
    series_values = (
        _reading(series, "" if series.metric.type in percents else series.unit or answer.unit, name)
        for series in answer.series
    )
    readings = [reading for reading in series_values if reading is not None]
    if not readings:
        types = sorted({series.metric.type for series in answer.series})[:3]
        msg = f"{name} has no metric of activity, only {types}: request accelerator/duty_cycle"
        raise UsageFileError(msg[:600])
    notes = (NEXT_PAGE,) if answer.next else ()
    return export_of_values(name, KIND, mark_free_devices(readings), notes=notes)


def metric_values_of(
    metric: ActivityMetric, labels: Mapping[str, str], samples: Samples, name: str
) -> MetricValues:
    """Return a series' values with the owner in its labels; raise UsageFileError for no device."""
    index, place = first_label(labels, DEVICES), first_label(labels, PLACES)
    return MetricValues(
        metric=metric,
        owner=_owner(labels),
        device=device_of({"gpu": index or place, "instance": place if index else ""}, name),
        samples=samples,
        model=first_label(labels, MODELS),
    )


def _reading(series: _Series, unit: str, name: str) -> MetricValues | None:
    labels = series.resource.labels | series.metric.labels | series.metadata.user
    metric = _metric(series, labels, unit)
    if metric is None:
        return None
    samples = _samples(series, name)
    is_busy_seconds = series.metric.type == BUSY_SECONDS
    return metric_values_of(metric, labels, _shares(samples) if is_busy_seconds else samples, name)


def _metric(series: _Series, labels: Mapping[str, str], unit: str) -> ActivityMetric | None:
    """Return the meaning of a series; a unit in the answer takes precedence."""
    kind = series.metric.type
    if kind == BUSY_SECONDS:
        return ActivityMetric(MetricMeaning.GPU_UTIL)
    if kind == OPS_AGENT_MEMORY:
        state = labels.get("memory_state", "")
        return ActivityMetric(
            MetricMeaning.MEMORY_FREE if state == "free" else MetricMeaning.MEMORY_USED
        )
    metric = find_metric(kind) or _managed_metric(kind)
    if metric is not None and metric.factor != 1 and unit in _RATIOS:
        return ActivityMetric(metric.meaning)
    return metric


def _managed_metric(kind: str) -> ActivityMetric | None:
    """Return the meaning of metrics like prometheus.googleapis.com/DCGM_FI_DEV_GPU_UTIL/gauge."""
    if not kind.startswith(MANAGED_PROMETHEUS):
        return None
    return find_metric(kind.removeprefix(MANAGED_PROMETHEUS).partition("/")[0])


def _owner(labels: Mapping[str, str]) -> DeviceOwner:
    return DeviceOwner(
        team=first_label(labels, TEAMS),
        namespace=first_label(labels, NAMESPACES),
        job=first_label(labels, NAMED_JOBS),
    )


def _samples(series: _Series, name: str) -> Samples:
    return sorted(
        (parse_time(point.interval.end, name), _number(point.value, name))
        for point in series.points
    )


def _shares(samples: Samples) -> Samples:
    """Return the increase of busy seconds over its time; NaN if the counter fell."""
    return [
        (before, max(now - was, 0.0) / (time - before) if now >= was else float("nan"))
        for (before, was), (time, now) in pairwise(samples)
        if time > before
    ]


def _is_percent(value: _Value, name: str) -> bool:
    return value.int64 is not None or _number(value, name) > MAX_SHARE


def _number(value: _Value, name: str) -> float:
    number = value.int64 if value.int64 is not None else value.double
    try:
        return float(number) if number is not None else float("nan")
    except (ValueError, OverflowError) as error:
        msg = f"{name}: {str(number)[:40]!r} is not a number: export it again"
        raise UsageFileError(msg) from error
