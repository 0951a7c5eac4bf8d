"""Chooses the meter of a workload by its framework and the requested device."""

from collections.abc import Callable
from typing import assert_never

from perfledger.failure_reason import UnmeasurableError
from perfledger.meters.clock import Clock
from perfledger.meters.device import DeviceMeter, HostMeter
from perfledger.meters.jax_clock import JaxMeter, jax_device, load_jax
from perfledger.meters.torch_clock import TorchMeter, load_torch, torch_device
from perfledger.records import Device, FailureReason, Framework, WorkloadSpec


def choose_meter(
    spec: WorkloadSpec, *, requested: str, around: Callable[[Clock], Clock] = lambda clock: clock
) -> tuple[Device, DeviceMeter]:
    """Return the device that the workload runs on here, and its meter.

    `around` wraps the meter's clock. Raises UnmeasurableError if workload and request disagree or
    the device is missing.
    """
    device_name = requested_device(spec, requested=requested)
    device: Device
    meter: DeviceMeter
    match spec.framework:
        case Framework.TORCH:
            torch = load_torch()
            device = torch_device(device_name, torch)
            meter = TorchMeter(torch, device)
        case Framework.JAX:
            jax = load_jax()
            device = jax_device(device_name, jax)
            if spec.devices > jax.device_count():
                detail = (
                    f"{spec.id} is registered with devices={spec.devices} and JAX finds "
                    f"{jax.device_count()} here: run it on a machine with as many"
                )
                raise UnmeasurableError(FailureReason.NO_DEVICE, detail)
            meter = JaxMeter(jax, device)
        case Framework.HOST:
            if device_name not in {"auto", "cpu"}:
                detail = (
                    f"{spec.id} uses neither torch nor JAX as far as perfledger can see, so there "
                    f"is no clock for {device_name!r}: register it with framework= or device='cpu'"
                )
                raise UnmeasurableError(FailureReason.NO_DEVICE, detail)
            device, meter = Device.CPU, HostMeter()
        case _ as unreachable:
            assert_never(unreachable)
    meter.clock = around(meter.clock)
    return device, meter


def requested_device(spec: WorkloadSpec, *, requested: str) -> str:
    """Return "auto" or a device: the workload's choice, else the request's."""
    if spec.device == "auto":
        return requested
    if requested in {"auto", spec.device}:
        return spec.device
    detail = (
        f"{spec.id} is registered for {spec.device!r} and this check requests {requested!r}: "
        f"measure it with --device {spec.device}, or register it with device='auto'"
    )
    raise UnmeasurableError(FailureReason.NO_DEVICE, detail)
