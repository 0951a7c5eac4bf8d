"""Compiles a step's module with TensorRT, through torch_tensorrt."""

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

# How torch_tensorrt names the parts of the module that it returns.
IN_ENGINE, IN_TORCH = "_run_on_acc", "_run_on_gpu"


def tensorrt_step(torch: Foreign, call: FunctionCall, device: Device) -> TransformedStep:
    """Return a step that calls the module as TensorRT engines.

    Raises UnmeasurableError without CUDA or the package, and if no part became an engine.
    """
    name = VariantKind.TENSORRT
    if device is not Device.CUDA:
        raise unavailable(name, "needs a CUDA device", "measure it on a machine with one")
    package = load_package(name, "torch_tensorrt", package="torch-tensorrt")
    module = require_module(name, torch, call)
    try:
        with torch.no_grad():
            compiled = package.compile(module, ir="dynamo", inputs=list(call.inputs))
    except Exception as error:  # a boundary: an unknown operator, an old driver
        reason = f"cannot compile the module ({error_line(error)})"
        raise unavailable(name, reason, "see torch_tensorrt's list of operators") from error
    parts = [part for part, _ in compiled.named_children()]
    outside = sum(part.startswith(IN_TORCH) for part in parts)
    if not any(part.startswith(IN_ENGINE) for part in parts):
        advice = "give it more operators that TensorRT has: by default a part needs five"
        raise unavailable(name, "built no engine, so torch ran every part", advice)
    remarks = (f"parts of the module that run in torch: {outside}",) if outside else ()
    without_gradients = torch.no_grad()(compiled)
    call_of_engine = FunctionCall(without_gradients, call.inputs)
    return TransformedStep(step=call_of_engine.__call__, verify=lambda: remarks)
