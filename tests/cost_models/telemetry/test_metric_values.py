import pytest

from perfledger_cost_models.prices.accelerator_names import nominal_bytes
from perfledger_cost_models.telemetry.activity_samples import DeviceOwner
from perfledger_cost_models.telemetry.metric_names import find_metric
from perfledger_cost_models.telemetry.metric_values import (
    NO_MEMORY_SIZE,
    SHARES_NOT_PERCENT,
    MetricValues,
    export_of_values,
)
from perfledger_cost_models.telemetry.signals import Signal

START = 1_790_812_800.0  # 2026-10-01T00:00:00Z
OWNER = DeviceOwner(team="nlp")
USED, FREE, TOTAL = "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_TOTAL"


def values(name, *numbers, **more):
    metric = find_metric(name)
    assert metric is not None
    samples = [(START + 60.0 * place, float(number)) for place, number in enumerate(numbers)]
    return MetricValues(metric=metric, owner=OWNER, device="a", samples=samples, **more)


def shares(export, signal):
    return [
        share
        for activity in export.activities
        if activity.signal is signal
        for share in activity.shares.tolist()
    ]


def export(*readings):
    return export_of_values("x", "made up", readings)


def test_percent_become_shares():
    assert shares(export(values("DCGM_FI_DEV_GPU_UTIL", 50, 100)), Signal.GPU_UTIL) == [0.5, 1.0]


def test_a_devices_memory_is_its_used_and_free_memory():
    activity_export = export(values(USED, 20, 60), values(FREE, 60, 20), values(TOTAL, 800, 800))

    assert shares(activity_export, Signal.MEMORY) == [0.25, 0.75]
    assert activity_export.notes == ()


def test_a_reported_total_is_the_greatest_possible_one():
    activity_export = export(values(USED, 20, 60), values(TOTAL, 80, 2**23 + 1))

    assert shares(activity_export, Signal.MEMORY) == [0.25, 0.75]


def test_the_nominal_size_is_that_of_the_model():
    nominal = nominal_bytes("NVIDIA H100 80GB HBM3")
    assert nominal is not None
    gibibytes = nominal / 2**30

    activity_export = export(
        values(USED, gibibytes * 512, gibibytes * 1100, model="NVIDIA H100 80GB HBM3")
    )

    assert shares(activity_export, Signal.MEMORY) == [pytest.approx(0.5), 1.0]
    assert nominal_bytes("Voodoo 2") is None


@pytest.mark.parametrize("more", [{}, {"model": "NVIDIA H100 80GB HBM3", "devices": 0.5}])
def test_memory_of_unknown_size_is_left_out_with_a_note(more):
    activity_export = export(values("DCGM_FI_DEV_GPU_UTIL", 50, 50), values(USED, 20, 20, **more))

    assert shares(activity_export, Signal.MEMORY) == []
    assert activity_export.notes == (NO_MEMORY_SIZE,)


def test_more_memory_than_the_device_has_is_all_of_it_and_an_error_code_is_unknown():
    activity_export = export(values(USED, 90, 40, 2**43), values(TOTAL, 80, 80, 80))

    assert shares(activity_export, Signal.MEMORY) == [1.0, 0.5]


@pytest.mark.parametrize(
    ("numbers", "is_noted"),
    [((0.5, 0.9), True), ((0.5, 1.0), True), ((0.0, 1.0), False), ((0.5, 2.0), False)],
)
def test_percent_that_look_like_shares_are_noted(numbers, is_noted):
    notes = export(values("DCGM_FI_DEV_GPU_UTIL", *numbers)).notes

    assert (SHARES_NOT_PERCENT in notes) is is_noted


def test_shares_that_are_meant_as_shares_are_not_noted():
    activity_export = export(values("nvidia_smi_utilization_gpu_ratio", 0.5, 0.9))

    assert shares(activity_export, Signal.GPU_UTIL) == [0.5, 0.9]
    assert activity_export.notes == ()


def test_a_device_without_a_free_byte_is_full_and_one_without_a_used_byte_is_empty():
    activity_export = export(values(USED, 0, 80), values(FREE, 80, 0))

    assert shares(activity_export, Signal.MEMORY) == [0.0, 1.0]
