"""Prometheus' series of dcgm-exporter and its like into what they tell of devices' activity.

https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries; labels as in dcgm-exporter
(internal/pkg/rendermetrics and internal/pkg/transformation). Functions such as avg_over_time drop
the metric's name: a file that is called by it (DCGM_FI_DEV_GPU_UTIL.json) tells it all the same.
A scrape without honor_labels moves the exporter's own words for a pod to exported_pod, and `pod` is
then the exporter: where a file has any such label, the plain ones are the scrape's.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from perfledger_cost_models.activity import Export, Holder
from perfledger_cost_models.activity_metrics import metric_named
from perfledger_cost_models.activity_readings import Reading, export_of_readings
from perfledger_cost_models.room import MIG_SLICES
from perfledger_cost_models.usage import UsageFileError
from perfledger_cost_models.usage_prometheus import LabelledSamples

KIND = "Prometheus"
TEAMS = (
    "team",
    "label_team",
    "label_kueue_x_k8s_io_queue_name",
    "label_volcano_sh_queue_name",
    "label_queue",
    "label_runai_queue",
    "label_project",
    "account",
    "user",
)
JOBS = (
    "hpc_job",
    "jobid",
    "label_training_kubeflow_org_job_name",
    "label_batch_kubernetes_io_job_name",
    "label_job_name",
)
IDENTITIES = ("UUID", "uuid", "gpu_uuid")
HOSTS = ("Hostname", "hostname", "node", "instance")
INDEXES = ("gpu", "device", "index", "minor_number")
MODELS = ("modelName", "model_name", "name")

_EXPORTED = "exported_"
_EXPORTER = "dcgm-exporter"
_PART_MARK = " #"
_PROFILE = re.compile(r"(\d)g\.\d{1,4}gb(?:\+\S*)?")
# Of a part the thousandths of the device that it takes, by its compute slices.
_PARTS: Mapping[int, int] = dict(zip((1, 2, 3, 4, 7), MIG_SLICES, strict=True))


def read_prometheus(series: Sequence[LabelledSamples], name: str) -> Export:
    """Return what series of metrics that are known tell; others are left out.

    Raises UsageFileError where none is known, or where one is a sum over devices.
    """
    is_exported = any(key.startswith(_EXPORTED) for labels, _ in series for key in labels)
    readings = list(_readings(series, name, is_exported=is_exported))
    if not readings:
        names = sorted({labels.get("__name__", "") for labels, _ in series})[:5]
        msg = (
            f"{name} has no metric of activity in it, but {names}: export DCGM_FI_DEV_GPU_UTIL or "
            "DCGM_FI_PROF_SM_ACTIVE, and call the file by the metric if the series do not say it"
        )
        raise UsageFileError(msg)
    return export_of_readings(name, KIND, with_free(tuple(_without_cut(readings))))


def with_free(readings: Sequence[Reading]) -> tuple[Reading, ...]:
    """Return readings with those free that nobody holds, where others of the file are held.

    Where no series says who holds it, that is not told, and no device is free.
    """
    nobody = Holder()
    if all(each.holder == nobody for each in readings):
        return tuple(readings)
    free = Holder(is_free=True)
    return tuple(replace(each, holder=free) if each.holder == nobody else each for each in readings)


def device_of(labels: Mapping[str, str], where: str) -> str:
    """Return what tells a device, or a part of one, from all others; raises UsageFileError."""
    identity = _first(labels, IDENTITIES)
    index = _first(labels, INDEXES)
    if not identity and not index:
        msg = f"{where}: a series does not say of which device: keep the labels gpu and UUID"
        raise UsageFileError(msg)
    device = identity or f"{_first(labels, HOSTS)} {index}".strip()
    part = labels.get("GPU_I_ID", "")
    return f"{device}{_PART_MARK}{part}" if part else device


def _readings(
    series: Sequence[LabelledSamples], name: str, *, is_exported: bool
) -> Iterator[Reading]:
    stem = PurePath(name).name.partition(".")[0]
    for labels, samples in series:
        metric = metric_named(labels.get("__name__", "") or stem)
        if metric is not None:
            yield Reading(
                metric=metric,
                holder=_holder(labels, is_exported=is_exported),
                device=device_of(labels, name),
                samples=samples,
                model=_first(labels, MODELS),
                devices=_part(labels.get("GPU_I_PROFILE", "")),
            )


def _without_cut(readings: Sequence[Reading]) -> Iterator[Reading]:
    """Yield readings; none of a whole device while there are parts of it: it would count twice."""
    cut: dict[str, list[float]] = {}
    for each in readings:
        whole, is_part, _ = each.device.partition(_PART_MARK)
        if is_part:
            cut.setdefault(whole, []).extend(time for time, _ in each.samples)
    ends = {whole: (min(times), max(times)) for whole, times in cut.items() if times}
    for each in readings:
        first, last = ends.get(each.device, (math.inf, -math.inf))
        kept = [sample for sample in each.samples if not first <= sample[0] <= last]
        if kept:
            yield replace(each, samples=kept)


def _holder(labels: Mapping[str, str], *, is_exported: bool) -> Holder:
    prefix = _EXPORTED if is_exported else ""
    pod = labels.get(f"{prefix}pod", "")
    if _EXPORTER in pod:
        return Holder()
    job = _first(labels, JOBS) or pod
    namespace = labels.get(f"{prefix}namespace", "")
    return Holder(team=_first(labels, TEAMS), namespace=namespace, job=job)


def _part(profile: str) -> float:
    """Return what part of a device a MIG profile is; 1 for a whole one."""
    found = _PROFILE.fullmatch(profile)
    return _PARTS.get(int(found[1]), 1000) / 1000 if found else 1.0


def _first(labels: Mapping[str, str], names: Sequence[str]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")
