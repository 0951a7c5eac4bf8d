"""Makes the variant of a workload's step that its spec names."""

import importlib
from collections.abc import Callable, Mapping

from perfledger.records import Device, WorkloadSpec
from perfledger.registration.variant_name import VariantKind, parse_variant
from perfledger.variants.ahead_of_time import aot_step
from perfledger.variants.cuda_graphs import graphed_step
from perfledger.variants.jax_jit import jitted_step
from perfledger.variants.onnx_runtime import onnx_step
from perfledger.variants.tensorrt import tensorrt_step
from perfledger.variants.torch_compiler import compiled_step
from perfledger.variants.transformed_step import (
    Foreign,
    FunctionCall,
    TransformedStep,
    unavailable,
)
from perfledger.variants.triton_server import served_step
from perfledger.workload import AnyStep

# The functions that transform a torch step without options.
_ENGINES: Mapping[VariantKind, Callable[[Foreign, FunctionCall, Device], TransformedStep]] = {
    VariantKind.CUDAGRAPHS: graphed_step,
    VariantKind.AOTINDUCTOR: aot_step,
    VariantKind.ONNXRUNTIME: onnx_step,
    VariantKind.TENSORRT: tensorrt_step,
    VariantKind.TRITON_SERVER: served_step,
}


def transform_step(
    spec: WorkloadSpec,
    step: AnyStep,
    device: Device,
    *,
    load: Callable[[str], Foreign] = importlib.import_module,
) -> TransformedStep:
    """Return the step as the variant of `spec`.

    Raises UnmeasurableError if it cannot be transformed, or not here.
    """
    variant = parse_variant(spec.variant or VariantKind.EAGER)
    framework = variant.kind.framework
    if framework is None:
        return TransformedStep(step=step)
    if spec.framework is not framework:
        reason = f"transforms steps of {framework}, and this one is of {spec.framework}"
        raise unavailable(variant.name, reason, "give it variants of its own framework")
    if not isinstance(step, FunctionCall):
        reason = "needs a function and its inputs, and the set-up returns a step"
        raise unavailable(variant.name, reason, "return model, (images,) instead")
    module = load(str(framework))
    match variant.kind:
        case VariantKind.JIT:
            return jitted_step(module, variant, step)
        case VariantKind.COMPILE:
            return compiled_step(module, variant, step, device)
        case _:
            return _ENGINES[variant.kind](module, step, device)
