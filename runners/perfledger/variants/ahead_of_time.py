"""Exports a step's module and compiles it ahead of time, with AOTInductor."""

import os
import tempfile
from pathlib import Path

from perfledger.failure_reason import error_line
from perfledger.records import Device
from perfledger.registration.variant_name import VariantKind
from perfledger.variants.transformed_step import (
    Foreign,
    FunctionCall,
    TransformedStep,
    require_cxx,
    require_module,
    unavailable,
)


def aot_step(torch: Foreign, call: FunctionCall, device: Device) -> TransformedStep:
    """Return a step that calls the compiled package of the exported module.

    Raises UnmeasurableError for a function that is not a module, one that cannot be exported, an
    old torch, and a missing compiler.
    """
    name = VariantKind.AOTINDUCTOR
    module = require_module(name, torch, call)
    inductor = torch._inductor  # where torch documents these functions
    if not hasattr(inductor, "aoti_compile_and_package"):
        reason = f"needs torch 2.6 or later, and this is {torch.__version__}"
        raise unavailable(name, reason, f"install a later torch, or leave {name} out")
    if device is not Device.CUDA:
        require_cxx(name, os.environ)
    folder = tempfile.TemporaryDirectory(prefix="perfledger-aot-", ignore_cleanup_errors=True)
    program = exported_program(name, torch, module, call)
    path = inductor.aoti_compile_and_package(
        program, package_path=str(Path(folder.name) / "model.pt2")
    )
    compiled = FunctionCall(inductor.aoti_load_package(path), call.inputs)
    return TransformedStep(step=compiled.__call__, close=folder.cleanup)


def exported_program(name: str, torch: Foreign, module: Foreign, call: FunctionCall) -> Foreign:
    """Return the module as a graph, without gradients. Raises UnmeasurableError if it has none."""
    try:
        with torch.no_grad():
            return torch.export.export(module, call.inputs)
    except Exception as error:  # a boundary: torch raises many types for what it cannot export
        reason = f"cannot export the module ({error_line(error)})"
        advice = "leave branches on values, prints and other effects out of its forward"
        raise unavailable(name, reason, advice) from error
