"""Maps the metric names of exporters and clouds to their meaning and unit.

DCGM: dcgm_fields.h, with the names since 4.6 (GPU_UTIL is percent under either). nvidia_smi_...:
the CloudWatch agent (docs.aws.amazon.com, "Collect NVIDIA GPU metrics"), percent and MiB; with
_ratio and _bytes: utkuozdemir/nvidia_gpu_exporter; container_gpu_... and pod_gpu_...: CloudWatch's
Container Insights of EKS, percent; nvidia_gpu_...: Jobstats' exporter, percent and bytes. Google:
cloud.google.com/monitoring/api, metrics_kubernetes, metrics_gcp and metrics_opsagent; a duty cycle
is percent, and so are an agent's GPU values. A unit in an export takes precedence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from perfledger_cost_models.units import MEBI

PERCENT = 0.01


class MetricMeaning(StrEnum):
    """The meaning of a value: a share of one signal, or bytes of the device's memory."""

    GPU_UTIL = "gpu_util"
    SM_ACTIVE = "sm_active"
    TENSOR_ACTIVE = "tensor_active"
    MEMORY = "memory"
    ENGINE_ACTIVE = "gr_engine_active"
    MEMORY_USED = "memory_used"
    MEMORY_FREE = "memory_free"
    MEMORY_TOTAL = "memory_total"


@dataclass(frozen=True, slots=True)
class ActivityMetric:
    """The meaning of a metric; its value times the factor is a share, or bytes."""

    meaning: MetricMeaning
    factor: float = 1.0


def find_metric(name: str) -> ActivityMetric | None:
    """Return the meaning of a metric by name; None for one that is not about activity."""
    return METRICS.get(name.casefold())


def _metrics(meaning: MetricMeaning, factor: float, *names: str) -> dict[str, ActivityMetric]:
    return {name: ActivityMetric(meaning, factor) for name in names}


METRICS: Mapping[str, ActivityMetric] = {
    **_metrics(
        MetricMeaning.GPU_UTIL,
        PERCENT,
        "dcgm_fi_dev_gpu_util",
        "dcgm_fi_dev_gpu_util_ratio",
        "nvidia_smi_utilization_gpu",
        "container_gpu_utilization",
        "pod_gpu_utilization",
        "nvidia_gpu_duty_cycle",
        "kubernetes.io/container/accelerator/duty_cycle",
        "kubernetes.io/node/accelerator/duty_cycle",
        "tpu.googleapis.com/accelerator/duty_cycle",
        "agent.googleapis.com/gpu/utilization",
    ),
    **_metrics(MetricMeaning.GPU_UTIL, 1.0, "nvidia_smi_utilization_gpu_ratio"),
    **_metrics(
        MetricMeaning.SM_ACTIVE, 1.0, "dcgm_fi_prof_sm_active", "dcgm_fi_prof_sm_util_ratio"
    ),
    **_metrics(
        MetricMeaning.ENGINE_ACTIVE,
        1.0,
        "dcgm_fi_prof_gr_engine_active",
        "dcgm_fi_prof_gr_engine_util_ratio",
    ),
    **_metrics(
        MetricMeaning.TENSOR_ACTIVE,
        1.0,
        "dcgm_fi_prof_pipe_tensor_active",
        "dcgm_fi_prof_tensor_util_ratio",
    ),
    **_metrics(
        MetricMeaning.TENSOR_ACTIVE,
        PERCENT,
        "kubernetes.io/container/accelerator/tensorcore_utilization",
        "kubernetes.io/node/accelerator/tensorcore_utilization",
        "tpu.googleapis.com/accelerator/tensorcore_utilization",
    ),
    **_metrics(
        MetricMeaning.MEMORY, 1.0, "dcgm_fi_dev_fb_used_percent", "dcgm_fi_dev_fb_used_ratio"
    ),
    **_metrics(
        MetricMeaning.MEMORY,
        PERCENT,
        "container_gpu_memory_utilization",
        "pod_gpu_memory_utilization",
    ),
    **_metrics(MetricMeaning.MEMORY_USED, MEBI, "dcgm_fi_dev_fb_used", "nvidia_smi_memory_used"),
    **_metrics(
        MetricMeaning.MEMORY_USED,
        1.0,
        "nvidia_smi_memory_used_bytes",
        "nvidia_gpu_memory_used_bytes",
        "kubernetes.io/container/accelerator/memory_used",
        "kubernetes.io/node/accelerator/memory_used",
        "tpu.googleapis.com/accelerator/memory_used",
    ),
    **_metrics(MetricMeaning.MEMORY_FREE, MEBI, "dcgm_fi_dev_fb_free", "nvidia_smi_memory_free"),
    **_metrics(MetricMeaning.MEMORY_FREE, 1.0, "nvidia_smi_memory_free_bytes"),
    **_metrics(MetricMeaning.MEMORY_TOTAL, MEBI, "dcgm_fi_dev_fb_total", "nvidia_smi_memory_total"),
    **_metrics(
        MetricMeaning.MEMORY_TOTAL,
        1.0,
        "nvidia_smi_memory_total_bytes",
        "nvidia_gpu_memory_total_bytes",
        "kubernetes.io/container/accelerator/memory_total",
        "kubernetes.io/node/accelerator/memory_total",
        "tpu.googleapis.com/accelerator/memory_total",
    ),
}
