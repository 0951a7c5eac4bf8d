import pytest

from perfledger_cost_models.telemetry.metric_names import METRICS, MetricMeaning, find_metric


@pytest.mark.parametrize(
    ("name", "meaning", "value", "expected"),
    [
        ("DCGM_FI_DEV_GPU_UTIL", MetricMeaning.GPU_UTIL, 50, 0.5),
        ("nvidia_smi_utilization_gpu_ratio", MetricMeaning.GPU_UTIL, 0.5, 0.5),
        ("DCGM_FI_PROF_SM_ACTIVE", MetricMeaning.SM_ACTIVE, 0.5, 0.5),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", MetricMeaning.ENGINE_ACTIVE, 0.5, 0.5),
        ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", MetricMeaning.TENSOR_ACTIVE, 0.5, 0.5),
        (
            "tpu.googleapis.com/accelerator/tensorcore_utilization",
            MetricMeaning.TENSOR_ACTIVE,
            50,
            0.5,
        ),
        ("DCGM_FI_DEV_FB_USED_PERCENT", MetricMeaning.MEMORY, 0.5, 0.5),
        ("pod_gpu_memory_utilization", MetricMeaning.MEMORY, 50, 0.5),
        ("DCGM_FI_DEV_FB_USED", MetricMeaning.MEMORY_USED, 3, 3 * 1024**2),
        ("nvidia_gpu_memory_used_bytes", MetricMeaning.MEMORY_USED, 3, 3),
        ("DCGM_FI_DEV_FB_FREE", MetricMeaning.MEMORY_FREE, 3, 3 * 1024**2),
        ("nvidia_smi_memory_free_bytes", MetricMeaning.MEMORY_FREE, 3, 3),
        ("DCGM_FI_DEV_FB_TOTAL", MetricMeaning.MEMORY_TOTAL, 3, 3 * 1024**2),
        ("nvidia_smi_memory_total_bytes", MetricMeaning.MEMORY_TOTAL, 3, 3),
    ],
)
def test_a_metrics_value_times_its_factor_is_a_share_or_bytes(name, meaning, value, expected):
    metric = find_metric(name)

    assert metric.meaning is meaning
    assert value * metric.factor == pytest.approx(expected)


def test_no_value_of_full_use_is_beyond_the_whole_of_a_device():
    shares = [one for one in METRICS.values() if not one.meaning.startswith("memory_")]

    assert {one.factor for one in shares} == {1.0, 0.01}


def test_other_metrics_are_not_about_activity():
    assert find_metric("DCGM_FI_DEV_GPU_TEMP") is None
