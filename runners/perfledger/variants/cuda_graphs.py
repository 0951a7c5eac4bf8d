"""Captures a step as one CUDA graph."""

import warnings

from perfledger.failure_reason import error_line
from perfledger.records import Device
from perfledger.registration.variant_name import VariantKind
from perfledger.variants.transformed_step import (
    Foreign,
    FunctionCall,
    TransformedStep,
    unavailable,
)

# Calls before the capture of a CUDA graph, on a separate stream. Calls before the capture, on a
# separate stream, as torch's notes on CUDA graphs require: lazily initialised libraries cannot be
# captured.
CALLS_BEFORE_CAPTURE = 3
EMPTY = "The CUDA Graph is empty"


def graphed_step(torch: Foreign, call: FunctionCall, device: Device) -> TransformedStep:
    """Return a step that replays the call's kernels, on the same inputs and into the same result.

    Raises UnmeasurableError without CUDA, and if the call cannot be captured.
    """
    if device is not Device.CUDA:
        reason = "needs a CUDA device"
        raise unavailable(VariantKind.CUDAGRAPHS, reason, "measure it on a machine with one")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=EMPTY)
        try:
            graph, result = _capture(torch, call)
        except Exception as error:  # a boundary: any operator may refuse to be captured
            reason = f"cannot capture the function ({error_line(error)})"
            advice = "leave .item(), prints, copies to the host and changing shapes out of it"
            raise unavailable(VariantKind.CUDAGRAPHS, reason, advice) from error

    def step() -> object:
        graph.replay()
        return result

    return TransformedStep(step=step, close=graph.reset)


def _capture(torch: Foreign, call: FunctionCall) -> tuple[Foreign, object]:
    cuda = torch.cuda
    stream = cuda.Stream()
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        for _ in range(CALLS_BEFORE_CAPTURE):
            call()
    cuda.current_stream().wait_stream(stream)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        result = call()
    return graph, result
