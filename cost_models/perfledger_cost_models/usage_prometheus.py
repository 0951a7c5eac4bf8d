"""Prometheus' answers to query_range, or their CSV, into the devices that each series stands for.

https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries. A series of dcgm-exporter
is one GPU, or a part of one (MIG): it counts while a pod or a job holds it (labels pod,
exported_pod, hpc_job), and where nothing says who does, while it is active. Several series of one
GPU at one time share it: it is time-sliced, or two exporters tell of it. A series of anything else
has to be a number of devices, such as
kube_pod_container_resource_requests{resource="nvidia_com_gpu"} or a sum of them.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, pairwise

import msgspec

from perfledger_cost_models.usage import (
    Span,
    Usage,
    UsageFileError,
    moment,
    rows_of,
    span_of,
    usage_of,
)

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
HOLDERS = ("pod", "exported_pod", "hpc_job")  # dcgm-exporter's labels; empty while nobody holds it
TIMES = ("timestamp", "time")
# A part of a GPU is a series of its own: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/.
MIG_SLICES = 7
A30, A30_SLICES = "A30", 4
_MIG_PROFILE = re.compile(r"(?P<slices>[1-7])g\.")

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


def is_prometheus_csv(header: Sequence[str]) -> bool:
    """Whether a table's header is that of samples: a time first or a time and a value."""
    names = [name.lower() for name in header]
    return ("value" in names and any(name in names for name in TIMES)) or names[0] in TIMES


def read_query_range(data: bytes, name: str) -> Usage:
    """Read the JSON of a range query; raises UsageFileError."""
    return _usage(name, series_of_query(data, name))


def read_samples(text: str, name: str) -> Usage:
    """Read samples in CSV: a time, a value and labels a row, or a time and a series a column."""
    return _usage(name, series_of_table(text, name))


def series_of_query(data: bytes, name: str) -> tuple[LabelledSamples, ...]:
    """Return the series of a range query's JSON; raises UsageFileError."""
    try:
        found = msgspec.json.decode(data, type=_Answer).data
    except (msgspec.DecodeError, RecursionError) as error:
        msg = f"{name} is no answer of Prometheus' query_range: {str(error)[:200]}"
        raise UsageFileError(msg) from error
    if found.kind != "matrix":
        msg = f"{name} has {found.kind[:40]!r} in it: ask query_range, which answers with a matrix"
        raise UsageFileError(msg)
    return tuple(
        (one.metric, [(time, _number(value, name)) for time, value in one.values])
        for one in found.result
    )


def series_of_table(text: str, name: str) -> tuple[LabelledSamples, ...]:
    """Return the series of samples in CSV, as `read_samples` takes them; raises UsageFileError."""
    rows = rows_of(text, name)
    _, header = next(rows, (0, list[str]()))
    lower = [column.lower() for column in header]
    found: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    time = next(lower.index(each) for each in TIMES if each in lower)
    for number, cells in rows:
        where = f"{name}, line {number}"
        if len(cells) != len(header):
            msg = f"{where}: {len(cells)} cells under {len(header)} columns: export it again"
            raise UsageFileError(msg)
        for labels, value in _cells(cells, header, lower, time):
            found.setdefault(labels, []).append((moment(cells[time], where), _number(value, where)))
    return tuple((dict(labels), sorted(each)) for labels, each in found.items())


def _cells(
    cells: Sequence[str], header: Sequence[str], lower: Sequence[str], time: int
) -> Iterator[tuple[tuple[tuple[str, str], ...], str]]:
    """Yield the series and values of a row; an empty cell is no sample."""
    if "value" in lower:
        value = lower.index("value")
        labels = tuple(
            (header[place], cell)
            for place, cell in enumerate(cells)
            if place not in {time, value} and cell
        )
        yield labels, cells[value]
        return
    for place, cell in enumerate(cells):
        if place != time and cell.strip():
            column = header[place]
            labels = tuple(_LABEL.findall(column)) or (("series", column),)
            metric = column.partition("{")[0].strip()
            yield ((("__name__", metric), *labels) if metric and "{" in column else labels), cell


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        msg = f"{where}: {text[:40]!r} is no number of devices and no share: export it again"
        raise UsageFileError(msg) from error


def _usage(name: str, series: Sequence[LabelledSamples]) -> Usage:
    metrics = {labels.get("__name__", "") for labels, _ in series}
    if len(metrics) > 1:
        msg = f"{name} has {len(metrics)} metrics in it, which count devices twice: export one"
        raise UsageFileError(msg)
    step = _step(name, series)
    spans: list[Span] = []
    for together in _by_device(series):
        for (labels, _), held in zip(together, _shared(name, together), strict=True):
            named = {key: value for key, value in labels.items() if key != "__name__"}
            spans += _spans(name, named, held, step)
    moments = [end for _, samples in series for time, _ in samples for end in (time, time + step)]
    return usage_of(name, KIND, spans, also=moments)


def _by_device(series: Sequence[LabelledSamples]) -> Iterable[Sequence[LabelledSamples]]:
    """Return series of one GPU, or of one part of it, together; those that say none alone.

    While there are parts of a GPU they tell of it, and it is not told once more as a whole.
    """
    found: dict[tuple[object, ...], list[LabelledSamples]] = {}
    cut: dict[str, list[float]] = {}
    for place, (labels, samples) in enumerate(series):
        is_device = labels.get("__name__", "").startswith(DCGM) and labels.get("UUID")
        key = (labels["UUID"], labels.get("GPU_I_ID", "")) if is_device else (place,)
        found.setdefault(key, []).append((labels, samples))
        if is_device and labels.get("GPU_I_ID"):
            cut.setdefault(labels["UUID"], []).extend(time for time, _ in samples)
    for uuid, times in cut.items():
        first, last = min(times, default=0.0), max(times, default=0.0)
        found[uuid, ""] = [
            (labels, [each for each in samples if not first <= each[0] <= last])
            for labels, samples in found.get((uuid, ""), ())
        ]
    return found.values()


def _shared(name: str, together: Sequence[LabelledSamples]) -> Iterator[_Samples]:
    """Yield for each series of one device how many devices it holds at each time.

    Whoever is named shares it; a series that names nobody tells the same once more.
    """
    held = [
        [(time, _devices(name, labels, value)) for time, value in samples]
        for labels, samples in together
    ]
    if len(held) == 1:
        yield from held
        return
    taken = [{time for time, devices in each if devices} for each in held]
    is_named = [any(labels.get(holder) for holder in HOLDERS) for labels, _ in together]
    claimed = Counter(time for each in compress(taken, is_named) for time in each)
    sharers = claimed | Counter(time for each in taken for time in each - claimed.keys())
    for each, known in zip(held, is_named, strict=True):
        yield [
            (time, devices / sharers[time] if devices and (known or not claimed[time]) else 0.0)
            for time, devices in each
        ]


def _step(name: str, series: Sequence[LabelledSamples]) -> float:
    """Return the seconds from one sample to the next: the shortest that there are."""
    gaps = (
        after[0] - before[0]
        for _, samples in series
        for before, after in pairwise(samples)
        if after[0] > before[0]
    )
    step = min(gaps, default=0.0)
    if step <= 0:
        msg = f"{name} has no two samples of one series: a step is needed to count hours"
        raise UsageFileError(msg)
    return step


def _devices(name: str, labels: Mapping[str, str], value: float) -> float:
    """Return how many devices a sample of a series stands for."""
    metric = labels.get("__name__", "")
    if metric.startswith(DCGM) and any(holder in labels for holder in HOLDERS):
        return _part(labels) * any(labels.get(holder) for holder in HOLDERS)  # busy or not
    if math.isnan(value):
        return 0.0
    if math.isinf(value) or value < 0:
        msg = f"{name}: {value} is no number of devices and no share: export it again"
        raise UsageFileError(msg)
    if not metric.startswith(DCGM):
        if value != int(value):
            msg = (
                f"{name}: {value} is no number of devices: export a metric that counts them, or "
                "one of dcgm-exporter's with its name"
            )
            raise UsageFileError(msg)
        return value
    if metric not in ACTIVITY:
        msg = f"{name}: {metric[:60]} does not say whether a GPU is used: export {min(ACTIVITY)}"
        raise UsageFileError(msg)
    return _part(labels) * (value > 0)


def _part(labels: Mapping[str, str]) -> float:
    """Return which part of a GPU a series is of: 1 without MIG, else its slices of all."""
    found = _MIG_PROFILE.match(labels.get("GPU_I_PROFILE", ""))
    if found is None:
        return 1.0
    return int(found["slices"]) / (A30_SLICES if A30 in labels.get("modelName", "") else MIG_SLICES)


def _spans(name: str, labels: Mapping[str, str], samples: _Samples, step: float) -> Iterator[Span]:
    """Yield spans of as many devices; a sample stands for the step that it begins."""
    start = end = devices = 0.0
    for time, value in samples:
        if value != devices or time > end:
            if devices:
                yield span_of(name, labels, start, end, devices)
            start, devices = time, value
        end = time + step
    if devices:
        yield span_of(name, labels, start, end, devices)
