"""Reads device activity from Prometheus' series of dcgm-exporter and similar exporters.

https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries; labels as in dcgm-exporter
(internal/pkg/rendermetrics and internal/pkg/transformation). Functions such as avg_over_time drop
the metric's name: name the file after the metric then (DCGM_FI_DEV_GPU_UTIL.json). A scrape without
honor_labels renames the exporter's pod labels to exported_pod and so on, and `pod` is then the
exporter: where a file has any such label, the plain ones are the scrape's.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from perfledger_cost_models.prices.accelerator_names import nominal_bytes
from perfledger_cost_models.prices.mig_profiles import mig_share
from perfledger_cost_models.telemetry.activity_samples import ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.metric_names import find_metric
from perfledger_cost_models.telemetry.metric_values import MetricValues, export_of_values
from perfledger_cost_models.usage.device_spans import UsageFileError, first_label
from perfledger_cost_models.usage.prometheus import EXPORTED, LabelledSamples

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

_EXPORTER = "dcgm-exporter"
_PART_MARK = " #"


def read_prometheus(series: Sequence[LabelledSamples], name: str) -> ActivityExport:
    """Return the activity of series of known metrics; others are left out.

    Raises UsageFileError where no metric is known, or where a series is a sum over devices.
    """
    is_exported = any(key.startswith(EXPORTED) for labels, _ in series for key in labels)
    readings = list(_readings(series, name, is_exported=is_exported))
    if not readings:
        names = sorted({labels.get("__name__", "") for labels, _ in series})[:5]
        msg = (
            f"{name} has no metric of activity, only {names}: export DCGM_FI_DEV_GPU_UTIL or "
            "DCGM_FI_PROF_SM_ACTIVE. If the series have no name, name the file after the metric."
        )
        raise UsageFileError(msg)
    return export_of_values(name, KIND, mark_free_devices(tuple(_without_split_devices(readings))))


def mark_free_devices(readings: Sequence[MetricValues]) -> tuple[MetricValues, ...]:
    """Mark values without an owner as free devices if other values of the file have owners.

    If no series has an owner, owners are unknown and no device is free.
    """
    unknown = DeviceOwner()
    if all(each.owner == unknown for each in readings):
        return tuple(readings)
    free = DeviceOwner(is_free=True)
    return tuple(replace(each, owner=free) if each.owner == unknown else each for each in readings)


def device_of(labels: Mapping[str, str], where: str) -> str:
    """Return the identity of a device or part of one; raise UsageFileError if it has none."""
    identity = first_label(labels, IDENTITIES)
    index = first_label(labels, INDEXES)
    if not identity and not index:
        msg = f"{where}: a series does not name its device: keep the labels gpu and UUID"
        raise UsageFileError(msg)
    device = identity or f"{first_label(labels, HOSTS)} {index}".strip()
    part = labels.get("GPU_I_ID", "")
    return f"{device}{_PART_MARK}{part}" if part else device


def _readings(
    series: Sequence[LabelledSamples], name: str, *, is_exported: bool
) -> Iterator[MetricValues]:
    stem = PurePath(name).name.partition(".")[0]
    for labels, samples in series:
        metric = find_metric(labels.get("__name__", "") or stem)
        if metric is not None:
            yield MetricValues(
                metric=metric,
                owner=_owner(labels, is_exported=is_exported),
                device=device_of(labels, name),
                samples=samples,
                model=first_label(labels, MODELS),
                devices=_share_of_device(labels),
            )


def _without_split_devices(readings: Sequence[MetricValues]) -> Iterator[MetricValues]:
    """Yield values except those of devices split into parts, which would count twice."""
    part_times: dict[str, list[float]] = {}
    for each in readings:
        device, is_part, _ = each.device.partition(_PART_MARK)
        if is_part:
            part_times.setdefault(device, []).extend(time for time, _ in each.samples)
    ends = {device: (min(times), max(times)) for device, times in part_times.items() if times}
    for each in readings:
        first, last = ends.get(each.device, (math.inf, -math.inf))
        samples = [sample for sample in each.samples if not first <= sample[0] <= last]
        if samples:
            yield replace(each, samples=samples)


def _owner(labels: Mapping[str, str], *, is_exported: bool) -> DeviceOwner:
    prefix = EXPORTED if is_exported else ""
    pod = labels.get(f"{prefix}pod", "")
    if _EXPORTER in pod:
        return DeviceOwner()
    job = first_label(labels, JOBS) or pod
    namespace = labels.get(f"{prefix}namespace", "")
    return DeviceOwner(team=first_label(labels, TEAMS), namespace=namespace, job=job)


def _share_of_device(labels: Mapping[str, str]) -> float:
    """Return the share of a device that a series represents: 1 without MIG."""
    gpu_bytes = nominal_bytes(first_label(labels, MODELS))
    share = mig_share(labels.get("GPU_I_PROFILE", ""), gpu_bytes=gpu_bytes)
    return 1.0 if share is None else share
