"""Reads jobs from kube-state-metrics' series of pods in Prometheus' query_range.

https://github.com/kubernetes/kube-state-metrics/blob/main/docs/metrics/workload/pod-metrics.md.
Query kube_pod_created, kube_pod_status_scheduled_time (or kube_pod_start_time),
kube_pod_completion_time, kube_pod_container_resource_requests and kube_pod_labels at once.
"""

from collections.abc import Iterator, Mapping, Sequence

from perfledger_cost_models.job_logs.csv_rows import SkipReason, job_of
from perfledger_cost_models.job_logs.kubernetes import columns_of, plain_name
from perfledger_cost_models.job_logs.table import Job, JobLogError
from perfledger_cost_models.job_logs.time_columns import TimeColumns
from perfledger_cost_models.usage.device_spans import UsageFileError
from perfledger_cost_models.usage.prometheus import (
    EXPORTED,
    TIMES,
    LabelledSamples,
    series_of_query,
    series_of_table,
)
from perfledger_profiles.parsing.text_table import first_row, lower_name

_NAME = "the job log"
_CREATED = "kube_pod_created"
_MOMENTS = {
    _CREATED: "submit_time",
    "kube_pod_status_scheduled_time": "start_time",
    "kube_pod_start_time": "kube_pod_start_time",
    "kube_pod_completion_time": "end_time",
}
_REQUESTS = "kube_pod_container_resource_requests"
_LABELS = "kube_pod_labels"
_POD = ("namespace", "pod", "uid")


def metrics_jobs(text: str) -> Iterator[Job | SkipReason]:
    """Read the answer of query_range in JSON, or samples in CSV; a pod is a job.

    Raises JobLogError.
    """
    try:
        series = _series(text.lstrip("\ufeff \r\n\t"))
    except UsageFileError as error:
        raise JobLogError(str(error)) from error
    times = TimeColumns()
    for number, pod in enumerate(_pods(series), start=1):
        yield job_of(pod, number, times)


def is_samples(header: str) -> bool:
    """Return whether a line is the header of samples that name their metric."""
    names = set(map(lower_name, first_row(header)))
    return {"__name__", "value"} <= names and not names.isdisjoint(TIMES)


def _series(text: str) -> Sequence[LabelledSamples]:
    if text.startswith("{"):
        return series_of_query(text.encode(), _NAME)
    if not is_samples(text.partition("\n")[0]):
        msg = f"{_NAME} has no header with __name__, value and timestamp: {text[:60]!r}"
        raise JobLogError(msg)
    return series_of_table(text, _NAME)


def _pods(series: Sequence[LabelledSamples]) -> Iterator[dict[str, str]]:
    """Yield a row of columns for each pod; the last value of each series counts.

    A restarted exporter repeats a pod in a second series: these are not summed.
    """
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    requests: dict[tuple[str, ...], dict[tuple[str, str], float]] = {}
    for labels, samples in series:
        metric = labels.get("__name__", "")
        if not samples or not _label(labels, "pod"):
            continue
        key = tuple(_label(labels, name) for name in _POD)
        row = rows.setdefault(key, dict(zip(_POD, key, strict=True)))
        value = samples[-1][1]
        if metric in _MOMENTS:
            row[_MOMENTS[metric]] = f"{value:.17g}"
        elif metric == _LABELS:
            row |= {
                plain_name(name): word for name, word in labels.items() if name.startswith("label_")
            }
        elif metric == _REQUESTS:
            part = (plain_name(labels.get("resource", "")), _label(labels, "container"))
            requests.setdefault(key, {})[part] = value
    if not any(_MOMENTS[_CREATED] in row for row in rows.values()):
        names = sorted({labels.get("__name__", "") for labels, _ in series})[:5]
        msg = f"{_NAME} has no series {_CREATED} of a pod, only {names}: export all of them"
        raise JobLogError(msg)
    for key, row in rows.items():
        yield row | columns_of(_sum_requests(requests.get(key, {})))


def _sum_requests(requests: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """Return the sum of all containers' requests for each resource."""
    sums: dict[str, float] = {}
    for (resource, _), amount in requests.items():
        sums[resource] = sums.get(resource, 0.0) + amount
    return sums


def _label(labels: Mapping[str, str], name: str) -> str:
    return labels.get(EXPORTED + name) or labels.get(name, "")
