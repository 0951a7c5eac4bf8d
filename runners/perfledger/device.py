"""What a workload declares and what was asked for become the meter that it is measured with."""

from typing import assert_never

from perfledger.failure import UnmeasurableError
from perfledger.jax_clock import JaxMeter, jax_device, load_jax
from perfledger.meter import HostMeter, Meter
from perfledger.records import Device, Framework, Why, WorkloadSpec
from perfledger.torch_clock import TorchMeter, load_torch, torch_device


def choose_meter(spec: WorkloadSpec, *, requested: str) -> tuple[Device, Meter]:
    """Return the device that the workload runs on here, and the meter for it.

    Raises UnmeasurableError when the workload and the request disagree or the device is not here.
    """
    wanted = wanted_device(spec, requested=requested)
    match spec.framework:
        case Framework.TORCH:
            torch = load_torch()
            device = torch_device(wanted, torch)
            return device, TorchMeter(torch, device)
        case Framework.JAX:
            jax = load_jax()
            device = jax_device(wanted, jax)
            return device, JaxMeter(jax, device)
        case Framework.HOST:
            if wanted in {"auto", "cpu"}:
                return Device.CPU, HostMeter()
            detail = (
                f"{spec.id} uses neither torch nor JAX as far as perfledger can see, so it cannot "
                f"tell when {wanted!r} has finished: register it with framework= or device='cpu'"
            )
            raise UnmeasurableError(Why.NO_DEVICE, detail)
        case _ as unreachable:
            assert_never(unreachable)


def wanted_device(spec: WorkloadSpec, *, requested: str) -> str:
    """Return "auto" or a device: the workload's own choice, or where it has none, the request's."""
    if spec.device == "auto":
        return requested
    if requested in {"auto", spec.device}:
        return spec.device
    detail = (
        f"{spec.id} is registered for {spec.device!r} and this check asks for {requested!r}: "
        f"measure it with --device {spec.device}, or register it with device='auto'"
    )
    raise UnmeasurableError(Why.NO_DEVICE, detail)
