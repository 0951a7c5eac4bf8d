"""CUDA graphs: what is captured, and what cannot be."""

import warnings

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.records import Device
from perfledger.variants.cuda_graphs import CALLS_BEFORE_CAPTURE, EMPTY, graphed_step
from perfledger.variants.transformed_step import FunctionCall


def test_a_cpu_has_no_cuda_graphs(fake_torch):
    with pytest.raises(UnmeasurableError, match="'cudagraphs' needs a CUDA device"):
        graphed_step(fake_torch, FunctionCall(abs, (-1,)), Device.CPU)


def test_a_step_replays_what_was_captured_after_some_calls(fake_torch):
    calls = []

    def function(value):
        calls.append(fake_torch.cuda.is_capturing)
        return value

    step = graphed_step(fake_torch, FunctionCall(function, (5,)), Device.CUDA)

    assert (step.run(), step.run()) == (5, 5)
    (graph,) = fake_torch.cuda.graphs
    assert graph.replays == 2
    assert calls == [False] * CALLS_BEFORE_CAPTURE + [True]
    step.close()
    assert graph.is_reset


def test_a_function_that_refuses_capture_is_not_available(fake_torch):
    def function():
        if fake_torch.cuda.is_capturing:
            msg = "operation not permitted when stream is capturing"
            raise RuntimeError(msg)

    with pytest.raises(UnmeasurableError, match=r"cannot capture.*not permitted.*\.item\(\)"):
        graphed_step(fake_torch, FunctionCall(function, ()), Device.CUDA)


def test_an_empty_graph_is_not_a_step(fake_torch):
    def function():
        if fake_torch.cuda.is_capturing:
            warnings.warn(f"{EMPTY}. This usually means", stacklevel=1)

    with pytest.raises(UnmeasurableError, match=r"cannot capture.*is empty"):
        graphed_step(fake_torch, FunctionCall(function, ()), Device.CUDA)
