"""Runs a step's module in ONNX Runtime, and writes it as an ONNX file."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
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

    Raises UnmeasurableError if the package, or its provider for the device, is missing (the session
    would otherwise run on the CPU), and for a module that it cannot run.
    """
    name = VariantKind.ONNXRUNTIME
    package = "onnxruntime-gpu" if device is Device.CUDA else "onnxruntime"
    runtime = load_package(name, "onnxruntime", package=package)
    provider = PROVIDERS[device]
    tensors = input_tensors(name, torch, call)
    with tempfile.TemporaryDirectory(prefix="perfledger-onnx-") as folder:
        path = Path(folder) / MODEL
        write_onnx(name, torch, call, path)
        session = _session(runtime, path, _provider_on_stream(torch, provider))
    providers: list[str] = session.get_providers()
    if providers[:1] != [provider]:
        reason = f"would run with {providers[:1]} instead of {provider}"
        raise unavailable(name, reason, f"install {package} for this driver and its libraries")
    names = [each.name for each in session.get_inputs()]
    if device is Device.CUDA:
        return TransformedStep(step=_bound_step(session, names, tensors).__call__)
    feed = {key: each.numpy() for key, each in zip(names, tensors, strict=True)}
    return TransformedStep(step=lambda: session.run(None, feed))


def input_tensors(name: str, torch: Foreign, call: FunctionCall) -> tuple[Foreign, ...]:
    """Return the inputs as an engine reads them: contiguous and without gradients.

    Raises UnmeasurableError for an input that is not a tensor.
    """
    constants = [each for each in call.inputs if not isinstance(each, torch.Tensor)]
    if constants:
        reason = f"takes tensors, and an input is {constants[0]!r:.100}"
        raise unavailable(name, reason, "let the module hold what is constant")
    tensors: tuple[Foreign, ...] = call.inputs
    return tuple(each.detach().contiguous() for each in tensors)


def write_onnx(name: str, torch: Foreign, call: FunctionCall, path: Path) -> None:
    """Write the module as ONNX. Raises UnmeasurableError if it, or a package, does not allow it."""
    module = require_module(name, torch, call)
    for package in ("onnx", "onnxscript"):
        load_package(name, package, package=package)
    try:
        with torch.no_grad():
            torch.onnx.export(module, call.inputs, str(path), dynamo=True, verbose=False)
    except Exception as error:  # a boundary: torch raises many types for what it cannot export
        reason = f"cannot write the module as ONNX ({error_line(error.__cause__ or error)})"
        raise unavailable(name, reason, "leave branches on values out of its forward") from error


def _provider_on_stream(torch: Foreign, provider: str) -> str | tuple[str, dict[str, Any]]:
    """Return the provider, on torch's own stream, which the clock reads."""
    if provider != PROVIDERS[Device.CUDA]:
        return provider
    return provider, {"user_compute_stream": str(torch.cuda.current_stream().cuda_stream)}


def _session(runtime: Foreign, model: Path, provider: object) -> Foreign:
    try:
        return runtime.InferenceSession(str(model), providers=[provider])
    except Exception as error:  # a boundary: its errors are of several types
        name = VariantKind.ONNXRUNTIME
        reason = f"cannot run the module ({error_line(error)})"
        raise unavailable(name, reason, "use operators and types that it has") from error


@dataclass(frozen=True, slots=True)
class _BoundStep:
    """A run of a session whose inputs and results stay on the device."""

    session: Foreign
    binding: Foreign
    tensors: tuple[Foreign, ...]  # the binding knows only their addresses

    def __call__(self) -> object:
        """Run the session, and return its results."""
        self.session.run_with_iobinding(self.binding)
        return self.binding.get_outputs()


def _bound_step(session: Foreign, names: list[str], tensors: tuple[Foreign, ...]) -> _BoundStep:
    binding = session.io_binding()
    for name, tensor in zip(names, tensors, strict=True):
        binding.bind_input(
            name=name,
            device_type="cuda",
            device_id=tensor.get_device(),
            element_type=_element_type(tensor),
            shape=tuple(tensor.shape),
            buffer_ptr=tensor.data_ptr(),
        )
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda")
    return _BoundStep(session, binding, tensors)


def _element_type(tensor: Foreign) -> object:
    return tensor.new_empty(0).cpu().numpy().dtype.type
