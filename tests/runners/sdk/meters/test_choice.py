import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.meters.choice import choose_meter, requested_device
from perfledger.meters.device import HostMeter
from perfledger.meters.jax_clock import JaxMeter
from perfledger.meters.torch_clock import TorchMeter
from perfledger.records import Device, FailureReason, Framework, WorkloadSpec


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
    assert requested_device(spec(device=declared), requested=requested) == expected


def test_a_workload_for_another_device_than_asked_for_is_not_measured():
    with pytest.raises(UnmeasurableError, match="--device cuda") as caught:
        requested_device(spec(device="cuda"), requested="tpu")
    assert caught.value.reason is FailureReason.NO_DEVICE


@pytest.mark.parametrize("requested", ["auto", "cpu"])
def test_plain_python_runs_on_the_cpu(requested):
    device, meter = choose_meter(spec(), requested=requested)

    assert device is Device.CPU
    assert isinstance(meter, HostMeter)


@pytest.mark.parametrize("requested", ["cuda", "tpu"])
def test_plain_python_runs_nowhere_else(requested):
    with pytest.raises(UnmeasurableError, match="uses neither torch nor JAX") as caught:
        choose_meter(spec(), requested=requested)
    assert caught.value.reason is FailureReason.NO_DEVICE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "kind"),
    [
        pytest.param(Framework.TORCH, TorchMeter, marks=pytest.mark.torch),
        (Framework.JAX, JaxMeter),
    ],
)
def test_each_framework_has_its_meter(framework, kind):
    device, meter = choose_meter(spec(framework=framework), requested="cpu")

    assert device is Device.CPU
    assert isinstance(meter, kind)
