import platform
import sys

import pytest

from perfledger.clock import HostClock
from perfledger.device import choose_meter, wanted_device
from perfledger.facts import facts
from perfledger.failure import UnmeasurableError
from perfledger.jax_clock import JaxMeter
from perfledger.meter import HostMeter
from perfledger.records import Device, Framework, Why, WorkloadSpec
from perfledger.torch_clock import TorchMeter


def spec(*, device="auto", framework=Framework.HOST):
    return WorkloadSpec(id="m:f", module="m", function="f", device=device, framework=framework)


@pytest.mark.parametrize(
    ("declared", "requested", "expected"),
    [
        ("auto", "auto", "auto"),
        ("auto", "cuda", "cuda"),
        ("cuda", "auto", "cuda"),
        ("cuda", "cuda", "cuda"),
    ],
)
def test_the_workloads_own_device_comes_first_and_the_request_fills_auto(
    declared, requested, expected
):
    assert wanted_device(spec(device=declared), requested=requested) == expected


def test_a_workload_for_another_device_than_asked_for_is_not_measured():
    with pytest.raises(UnmeasurableError, match="--device cuda") as caught:
        wanted_device(spec(device="cuda"), requested="tpu")
    assert caught.value.why is Why.NO_DEVICE


@pytest.mark.parametrize("requested", ["auto", "cpu"])
def test_plain_python_runs_on_the_cpu(requested):
    device, meter = choose_meter(spec(), requested=requested)

    assert device is Device.CPU
    assert isinstance(meter, HostMeter)


@pytest.mark.parametrize("requested", ["cuda", "tpu"])
def test_plain_python_runs_nowhere_else(requested):
    with pytest.raises(UnmeasurableError, match="uses neither torch nor JAX") as caught:
        choose_meter(spec(), requested=requested)
    assert caught.value.why is Why.NO_DEVICE


def test_the_hosts_meter_knows_time_and_memory_and_no_more(tmp_path):
    meter = HostMeter()
    meter.reset_peak()
    peak = meter.peak_bytes()

    assert isinstance(meter.clock, HostClock)
    assert peak is not None
    assert peak > 1_000_000
    assert meter.trace(lambda: list, tmp_path, "0") is None
    with meter.placed() as nothing:
        assert nothing is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "kind"), [(Framework.TORCH, TorchMeter), (Framework.JAX, JaxMeter)]
)
def test_each_framework_has_its_meter(framework, kind):
    device, meter = choose_meter(spec(framework=framework), requested="cpu")

    assert device is Device.CPU
    assert isinstance(meter, kind)


def test_the_facts_of_plain_python_are_its_version():
    found = facts([Framework.HOST])

    assert found.python == platform.python_version()
    assert found.device == {}


@pytest.mark.slow
def test_the_facts_name_the_frameworks_in_use():
    found = facts([Framework.TORCH, Framework.JAX, Framework.TORCH])

    assert {"torch", "jax", "jaxlib", "numpy"} <= set(found.frameworks)
    assert "platform" in found.device


def test_a_framework_that_cannot_be_imported_is_an_answer_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)

    found = facts([Framework.TORCH])

    assert "ModuleNotFoundError" in str(found.device["error"])
    assert "torch" not in found.frameworks
