"""What carries a change over to other devices: peaks, bottlenecks and counted work."""

from datetime import date
from importlib.resources import files

import pytest

from perfledger.bundle import FleetUse, PricingConfig
from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import Device, Machine, Side
from perfledger_cost_models.change_price.device_transfer import TransferError
from perfledger_cost_models.change_price.fleet_entry import MeasuredChange
from perfledger_service.rendering.check.comment import comment
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.cost.device_transfers import (
    bound_outside,
    counted_work,
    device_transfers,
)

V100 = Machine(
    device=Device.CUDA, model="Tesla V100-SXM2-16GB", memory_bytes=17_000_000_000, cpu_model="Xeon"
)
FLEET = (FleetUse(workload="gpt:*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0),)


@pytest.fixture
def report(make_bundle):
    def make(**values):
        pricing = PricingConfig(fleet=FLEET)
        bundle = make_bundle(ratio=1.2, machine=V100, pricing=pricing, **values)
        return build_report(bundle, today=date(2026, 11, 20), is_local=True)

    return make


def profile(side, **seconds):
    operations = tuple(
        Operation(name=name, bucket=Bucket(name), seconds=spent, count=1)
        for name, spent in seconds.items()
    )
    return Profile(
        workload="gpt:step",
        side=side,
        tool="torch.profiler",
        steps=5,
        step_seconds=sum(seconds.values()),
        operations=operations,
    )


def test_a_ratio_of_another_device_is_projected_and_not_said_to_be_proven(report):
    text = comment(report())

    (price,) = report().change_prices
    assert price.projected_from == "V100-16GB"
    assert "**Costs" not in text
    assert "not proven" in text
    assert "projected, not measured" in text.lower()


def test_an_input_bound_step_of_one_device_has_no_price_on_another(report):
    sides = tuple(profile(side, input=0.008, compute=0.002) for side in Side)

    (price,) = report(profiles=sides).change_prices

    assert price.usd is None
    assert "its step is bound by input, not by the device" in price.note


def test_a_step_of_the_device_s_own_work_is_bound_by_nothing_outside(make_bundle):
    sides = tuple(profile(side, input=0.0001, compute=0.0099) for side in Side)
    bundle = make_bundle(machine=V100, profiles=sides)

    assert bound_outside(bundle, "gpt:step", V100) == ""
    assert bound_outside(bundle, "gpt:other", V100) == ""


def test_work_that_nobody_counted_is_unknown(make_bundle):
    bundle = make_bundle(machine=V100)

    assert counted_work(bundle, bundle.workloads[0]) is None
    assert counted_work(bundle, None) is None


@pytest.mark.parametrize(
    ("source", "target"), [("A100-80GB", "H100-80GB"), ("V100-16GB", "H100-80GB")]
)
def test_a_change_may_differ_more_between_designs_that_are_further_apart(source, target):
    def factor(source, target):
        change = MeasuredChange(workload="w", change=(0.1, 0.1, 0.1), measured_on=source)
        return device_transfers().factor(change, target)

    assert 1.05 < factor("A100-40GB", "A100-80GB") < factor(source, target)
    assert factor("A100-80GB", "H100-80GB") < factor("A100-80GB", "TPU-v4")


def test_a_processor_is_no_device_of_the_table():
    change = MeasuredChange(workload="w", change=(0.1, 0.1, 0.1), measured_on="AMD EPYC 7B13")

    with pytest.raises(TransferError, match="the peaks of AMD EPYC 7B13 are unknown"):
        device_transfers().factor(change, "H100-80GB")


@pytest.mark.parametrize(
    ("measured_on", "device", "factor"),
    [
        ("A100-80GB", "H100-80GB", 1.5),
        ("V100-16GB", "H100-80GB", 2.5),
        ("A100-80GB", "TPU-v4", 7.5),
    ],
)
def test_the_factors_are_those_of_the_readme(measured_on, device, factor):
    change = MeasuredChange(workload="a", change=(0.1, 0.2, 0.3), measured_on=measured_on)
    readme = files("perfledger_cost_models.change_price").joinpath("README.md").read_text()

    assert round(device_transfers().factor(change, device), 1) == factor
    assert f"1 / {factor} to {factor} times" in " ".join(readme.split())
