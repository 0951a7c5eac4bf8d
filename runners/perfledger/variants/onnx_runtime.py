"""Runs a step's module in ONNX Runtime, and writes it as an ONNX file."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfledger.failure_reason import error_line
from perfledger.records import Device
from perfledger.registration.variant_name import VariantKind
from perfledger.variants.transformed_step import (
    Foreign,
    FunctionCall,
    TransformedStep,
    load_package,
    require_module,
    unavailable,
)

PROVIDERS: Mapping[Device, str] = {
    Device.CPU: "CPUExecutionProvider",
    Device.CUDA: "CUDAExecutionProvider",
}
MODEL = "model.onnx"


def onnx_step(torch: Foreign, call: FunctionCall, device: Device) -> TransformedStep:
    """Return a step that runs the exported module in a session of ONNX Runtime.

    Raises UnmeasurableError where the package, or its provider for the device, is missing: the
    session would else run on the CPU.
    """
    name = VariantKind.ONNXRUNTIME
    package = "onnxruntime-gpu" if device is Device.CUDA else "onnxruntime"
    runtime = load_package(name, "onnxruntime", package=package)
    provider = PROVIDERS[device]
    with tempfile.TemporaryDirectory(prefix="perfledger-onnx-") as folder:
        path = Path(folder) / MODEL
        write_onnx(name, torch, call, path)
        session = runtime.InferenceSession(str(path), providers=[_placed(torch, provider)])
    providers: list[str] = session.get_providers()
    if providers[:1] != [provider]:
        reason = f"would run with {providers[:1]} instead of {provider}"
        raise unavailable(name, reason, f"install {package} for this driver and its libraries")
    names = [each.name for each in session.get_inputs()]
    if device is Device.CUDA:
        return TransformedStep(step=_bound_step(session, names, call))
    feed = {key: each.numpy() for key, each in zip(names, _tensors(torch, call), strict=True)}
    return TransformedStep(step=lambda: session.run(None, feed))


def write_onnx(name: str, torch: Foreign, call: FunctionCall, path: Path) -> None:
    """Write the module as ONNX. Raises UnmeasurableError if it, or a package, does not allow it."""
    module = require_module(name, torch, call)
    for package in ("onnx", "onnxscript"):
        load_package(name, package, package=package)
    try:
        with torch.no_grad():
            torch.onnx.export(module, call.inputs, str(path), dynamo=True, verbose=False)
    except Exception as error:  # a boundary: torch raises many types for what it cannot export
        reason = f"cannot write the module as ONNX ({error_line(error)})"
        raise unavailable(name, reason, "leave branches on values out of its forward") from error


def _placed(torch: Foreign, provider: str) -> str | tuple[str, dict[str, Any]]:
    """Return the provider, on torch's own stream: its clock reads what runs there."""
    if provider != PROVIDERS[Device.CUDA]:
        return provider
    return provider, {"user_compute_stream": str(torch.cuda.current_stream().cuda_stream)}


def _bound_step(session: Foreign, names: list[str], call: FunctionCall) -> Any:  # noqa: ANN401
    """Return a step whose inputs and results stay on the device."""
    binding = session.io_binding()
    for name, tensor in zip(names, call.inputs, strict=True):
        value: Foreign = tensor
        binding.bind_input(
            name=name,
            device_type="cuda",
            device_id=value.get_device(),
            element_type=_element_type(value),
            shape=tuple(value.shape),
            buffer_ptr=value.data_ptr(),
        )
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda")

    def step() -> object:
        session.run_with_iobinding(binding)
        return binding.get_outputs()

    return step


def _element_type(tensor: Foreign) -> object:
    return tensor.new_empty(0).cpu().numpy().dtype.type


def _tensors(torch: Foreign, call: FunctionCall) -> tuple[Foreign, ...]:
    constants = [each for each in call.inputs if not isinstance(each, torch.Tensor)]
    if constants:
        reason = f"takes tensors, and an input is {constants[0]!r:.100}"
        raise unavailable(VariantKind.ONNXRUNTIME, reason, "let the module hold what is constant")
    return tuple(call.inputs)
