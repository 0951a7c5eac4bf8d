import pytest

from perfledger_profiles.hardware.efficiency_metrics import MetricError
from perfledger_profiles.hardware.step_metrics import (
    StepFacts,
    TransformerShape,
    step_metrics,
    transformer_flops,
)


def values(facts, *, peak=None):
    return {m.name: m.value for m in step_metrics(facts, peak_flops_per_second=peak)}


def test_time_alone_has_no_metric():
    assert values(StepFacts(seconds=0.5), peak=1e12) == {}


def test_items_and_work_give_a_speed():
    assert values(StepFacts(seconds=0.5, items=32, model_flops=1e12)) == {
        "throughput": 64.0,
        "achieved_flops": 2e12,
    }


def test_a_peak_gives_utilization_of_all_devices():
    facts = StepFacts(seconds=1.0, devices=2, model_flops=1e12, recomputed_flops=5e11)

    metrics = values(facts, peak=1e12)

    assert (metrics["mfu"], metrics["hfu"]) == (0.5, 0.75)


def test_without_recomputation_there_is_no_hfu():
    assert "hfu" not in values(StepFacts(seconds=1.0, model_flops=1e12), peak=1e12)


def test_energy_needs_items():
    assert values(StepFacts(seconds=1.0, items=8, joules=4.0))["perf_per_watt"] == 2.0
    assert values(StepFacts(seconds=1.0, joules=4.0)) == {}


@pytest.mark.parametrize(
    ("is_work_split", "name", "value"),
    [(True, "scaling_eff_strong", 0.8), (False, "scaling_eff_weak", 3.2)],
)
def test_the_step_on_one_device_gives_the_scaling(is_work_split, name, value):
    facts = StepFacts(seconds=1.0, devices=4, alone_seconds=3.2, is_work_split=is_work_split)

    assert values(facts) == {name: pytest.approx(value)}


def test_a_transformers_work_grows_with_its_tokens():
    shape = TransformerShape(parameters=1e9, layers=24, heads=16, head_size=64, context=2048)

    once = transformer_flops(shape, tokens=1)
    assert transformer_flops(shape, tokens=10) == pytest.approx(10 * once)
    assert once == pytest.approx(6 * 1e9 + 12 * 24 * 16 * 64 * 2048)


def test_a_step_of_no_time_is_an_error():
    with pytest.raises(MetricError):
        step_metrics(StepFacts(seconds=0.0, items=1), peak_flops_per_second=None)
