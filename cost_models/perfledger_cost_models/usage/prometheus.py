"""Reads device usage from Prometheus' answers to query_range, or their CSV.

https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries. A series of dcgm-exporter
is one GPU, or a part of one (MIG). It counts while a pod or a job holds it (labels pod,
exported_pod, hpc_job); without these labels it counts while it is active. Several series of one GPU
at one time share it: it is time-sliced, or two exporters report it. A series of any other metric
must be a number of devices, such as kube_pod_container_resource_requests{resource="nvidia_com_gpu"}
or a sum of them.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, pairwise

import msgspec

from perfledger_cost_models.prices.accelerator_names import nominal_bytes
from perfledger_cost_models.prices.mig_profiles import mig_share
from perfledger_cost_models.usage.device_spans import (
    DeviceSpan,
    DeviceUsage,
    UsageFileError,
    any_number,
    decoded_json,
    parse_time,
    span_of,
    usage_of,
)
from perfledger_profiles.parsing.text_table import read_table

KIND = "Prometheus"
DCGM = "DCGM_FI_"
ACTIVITY = frozenset(
    {
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        "DCGM_FI_PROF_SM_ACTIVE",
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    }
)
# The prefix of the pod's own labels in a scrape without honor_labels; others are the exporter's.
EXPORTED = "exported_"
OWNER_LABELS = (
    "pod",
    f"{EXPORTED}pod",
    "hpc_job",
)  # dcgm-exporter's labels; empty while the GPU is free
TIMES = ("timestamp", "time")

_Samples = Sequence[tuple[float, float]]
LabelledSamples = tuple[Mapping[str, str], _Samples]  # in the order of their times
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(msgspec.Struct):
    result: list[_Series]
    kind: str = msgspec.field(default="", name="resultType")


class _Answer(msgspec.Struct):
    data: _Data


_ANSWER_DECODER = msgspec.json.Decoder(_Answer)


def is_prometheus_csv(header: Sequence[str]) -> bool:
    """Return whether a table's header is that of samples: a time first, or a time and a value."""
    names = [name.lower() for name in header]
    return ("value" in names and any(name in names for name in TIMES)) or names[0] in TIMES


def read_query_range(data: bytes, name: str) -> DeviceUsage:
    """Read the JSON of a range query; raise UsageFileError."""
    return _usage(name, series_of_query(data, name))


def read_samples(text: str, name: str) -> DeviceUsage:
    """Read samples in CSV: time, value and labels per row, or a time and a series per column."""
    return _usage(name, series_of_table(text, name))


def series_of_query(data: bytes, name: str) -> tuple[LabelledSamples, ...]:
    """Return the series of a range query's JSON; raise UsageFileError."""
    answer = decoded_json(
        data, _ANSWER_DECODER, f"{name} is not an answer of Prometheus' query_range"
    ).data
    if answer.kind != "matrix":
        msg = f"{name} has the type {answer.kind[:40]!r}: use query_range, which gives a matrix"
        raise UsageFileError(msg)
    return tuple(
        (one.metric, [(time, _number(value, name)) for time, value in one.values])
        for one in answer.result
    )


def series_of_table(text: str, name: str) -> tuple[LabelledSamples, ...]:
    """Return the series of samples in CSV, as `read_samples` reads them; raise UsageFileError."""
    table = read_table(text, name, error=UsageFileError)
    lower = [column.lower() for column in table.header]
    samples_by_series: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    time = next(lower.index(each) for each in TIMES if each in lower)
    for number, cells in table.rows:
        where = f"{name}, line {number}"
        for labels, value in _cells(cells, table.header, lower, time):
            samples_by_series.setdefault(labels, []).append(
                (parse_time(cells[time], where), _number(value, where))
            )
    return tuple((dict(labels), sorted(each)) for labels, each in samples_by_series.items())


def _cells(
    cells: Sequence[str], header: Sequence[str], lower: Sequence[str], time: int
) -> Iterator[tuple[tuple[tuple[str, str], ...], str]]:
    """Yield the series and values of a row; an empty cell is no sample."""
    if "value" in lower:
        value = lower.index("value")
        labels = tuple(
            (header[index], cell)
            for index, cell in enumerate(cells)
            if index not in {time, value} and cell
        )
        yield labels, cells[value]
        return
    for index, cell in enumerate(cells):
        if index != time and cell.strip():
            column = header[index]
            labels = tuple(_LABEL.findall(column)) or (("series", column),)
            metric = column.partition("{")[0].strip()
            yield ((("__name__", metric), *labels) if metric and "{" in column else labels), cell


def _number(text: str, where: str) -> float:
    return any_number(text, where, otherwise="is neither a number of devices nor a share")


def _usage(name: str, series: Sequence[LabelledSamples]) -> DeviceUsage:
    metrics = {labels.get("__name__", "") for labels, _ in series}
    if len(metrics) > 1:
        msg = f"{name} has {len(metrics)} metrics, which would count devices twice: export one"
        raise UsageFileError(msg)
    step = _step(name, series)
    spans: list[DeviceSpan] = []
    for device_series in _by_device(series):
        for (labels, _), shared_samples in zip(
            device_series, _samples_by_sharing(name, device_series), strict=True
        ):
            named = {key: value for key, value in labels.items() if key != "__name__"}
            spans += _spans(name, named, shared_samples, step)
    moments = [end for _, samples in series for time, _ in samples for end in (time, time + step)]
    return usage_of(name, KIND, spans, idle_moments=moments)


def _by_device(series: Sequence[LabelledSamples]) -> Iterable[Sequence[LabelledSamples]]:
    """Group the series of one GPU, or of one part of it; a series without a device stands alone.

    While a GPU is cut into parts only its parts count, not the whole GPU as well.
    """
    groups: dict[tuple[object, ...], list[LabelledSamples]] = {}
    part_times: dict[str, list[float]] = {}
    for index, (labels, samples) in enumerate(series):
        is_device = labels.get("__name__", "").startswith(DCGM) and labels.get("UUID")
        key = (labels["UUID"], labels.get("GPU_I_ID", "")) if is_device else (index,)
        groups.setdefault(key, []).append((labels, samples))
        if is_device and labels.get("GPU_I_ID"):
            part_times.setdefault(labels["UUID"], []).extend(time for time, _ in samples)
    for uuid, times in part_times.items():
        first, last = min(times, default=math.inf), max(times, default=-math.inf)
        groups[uuid, ""] = [
            (labels, [each for each in samples if not first <= each[0] <= last])
            for labels, samples in groups.get((uuid, ""), ())
        ]
    return groups.values()


def _samples_by_sharing(name: str, device_series: Sequence[LabelledSamples]) -> Iterator[_Samples]:
    """Yield for each series of one device how many devices it holds at each time.

    Named owners share the device; a series without an owner repeats the same usage.
    """
    device_samples = [
        [(time, _devices(name, labels, value)) for time, value in samples]
        for labels, samples in device_series
    ]
    if len(device_samples) == 1:
        yield from device_samples
        return
    held_times = [{time for time, devices in each if devices} for each in device_samples]
    is_named = [any(labels.get(label) for label in OWNER_LABELS) for labels, _ in device_series]
    named_counts = Counter(time for each in compress(held_times, is_named) for time in each)
    sharers = named_counts | Counter(
        time for each in held_times for time in each - named_counts.keys()
    )
    for each, has_owner in zip(device_samples, is_named, strict=True):
        yield [
            (
                time,
                devices / sharers[time]
                if devices and (has_owner or not named_counts[time])
                else 0.0,
            )
            for time, devices in each
        ]


def _step(name: str, series: Sequence[LabelledSamples]) -> float:
    """Return the seconds from one sample to the next: the shortest gap."""
    gaps = (
        after[0] - before[0]
        for _, samples in series
        for before, after in pairwise(samples)
        if after[0] > before[0]
    )
    step = min(gaps, default=0.0)
    if step <= 0:
        msg = f"{name} has no series with two samples: export a longer period"
        raise UsageFileError(msg)
    return step


def _devices(name: str, labels: Mapping[str, str], value: float) -> float:
    """Return how many devices a sample of a series stands for."""
    metric = labels.get("__name__", "")
    if metric.startswith(DCGM) and any(label in labels for label in OWNER_LABELS):
        return _part(labels) * any(labels.get(label) for label in OWNER_LABELS)  # busy or not
    if math.isnan(value):
        return 0.0
    if math.isinf(value) or value < 0:
        msg = f"{name}: {value} is neither a number of devices nor a share: export it again"
        raise UsageFileError(msg)
    if not metric.startswith(DCGM):
        if value != int(value):
            msg = (
                f"{name}: {value} is not a number of devices: export a metric that counts them, or "
                "one of dcgm-exporter's with its name"
            )
            raise UsageFileError(msg)
        return value
    if metric not in ACTIVITY:
        msg = f"{name}: {metric[:60]} does not show whether a GPU is used: export {min(ACTIVITY)}"
        raise UsageFileError(msg)
    return _part(labels) * (value > 0)


def _part(labels: Mapping[str, str]) -> float:
    """Return the share of a GPU that a series represents: 1 without MIG."""
    gpu_bytes = nominal_bytes(labels.get("modelName", ""))
    share = mig_share(labels.get("GPU_I_PROFILE", ""), gpu_bytes=gpu_bytes)
    return 1.0 if share is None else share


def _spans(
    name: str, labels: Mapping[str, str], samples: _Samples, step: float
) -> Iterator[DeviceSpan]:
    """Yield spans of a constant number of devices; a sample holds for the step that it begins."""
    start = end = devices = 0.0
    for time, value in samples:
        if value != devices or time > end:
            if devices:
                yield span_of(name, labels, start, end, devices)
            start, devices = time, value
        end = time + step
    if devices:
        yield span_of(name, labels, start, end, devices)
