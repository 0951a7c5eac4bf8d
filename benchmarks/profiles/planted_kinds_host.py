"""Kinds of planted changes around torch's operations: Python, reading back, loading, compiling.

As in planted_kinds_torch.py, each function makes the step of one side.
"""

import time
from typing import Any

from planted_kind import Kind, Step
from planted_kinds_torch import HEAD, MORE, ROWS, SIZES, kind_of, perceptron

from perfledger.profile import Bucket
from perfledger.records import Side


def python_loop(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(256, 256), torch.randn(256, 512)

    def step() -> None:
        torch.tanh(inputs @ weight)
        sum(number * number for number in range(40_000 if side is HEAD else 400))

    return step


def read_back(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(256, 256), torch.randn(256, 512)

    def step() -> None:
        result = torch.tanh(inputs @ weight)
        if side is HEAD:
            sum(value.item() for value in result[0])
            sum(value.item() for value in result[1])

    return step


def small_calls(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(256, 256), torch.randn(256, 512)

    def step() -> None:
        if side is HEAD:
            torch.cat([torch.tanh(row + 1) for row in inputs.split(1)])
        else:
            torch.tanh(inputs + 1)
        inputs @ weight

    return step


class Items:
    """A data set whose items take a while to make, as decoding a picture does."""

    def __init__(self, torch: Any, seconds: float) -> None:
        self.torch = torch
        self.seconds = seconds

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, number: int) -> Any:
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass
        return self.torch.zeros(256)


def loading(torch: Any, *, seconds: float, workers: int) -> Step:
    data = torch.utils.data.DataLoader(Items(torch, seconds), batch_size=4, num_workers=workers)
    batches = iter(data)
    model = perceptron(torch, *SIZES)

    def step() -> None:
        next(batches)
        model(torch.ones(ROWS, SIZES[0])).square().mean().backward()

    return step


def fewer_workers(torch: Any, side: Side) -> Step:
    return loading(torch, seconds=6e-4, workers=0 if side is HEAD else 1)


def slower_items(torch: Any, side: Side) -> Step:
    return loading(torch, seconds=2e-3 if side is HEAD else 1e-4, workers=0)


def pointwise(torch: Any, inputs: Any) -> Any:
    return torch.sin(inputs) * torch.cos(inputs) + torch.tanh(inputs) * 0.5 + inputs.abs().sqrt()


def lost_fusion(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(128, 512), torch.randn(512, 64)
    inner = torch.compiler.disable(pointwise) if side is HEAD else pointwise
    compiled = torch.compile(lambda values: inner(torch, values) @ weight)

    def step() -> None:
        with torch.no_grad():
            compiled(inputs)

    return step


def recompiling(torch: Any, side: Side) -> Step:
    import torch._dynamo as dynamo  # noqa: PLC0415 - heavy, and only this kind needs it

    dynamo.config.recompile_limit = 1000
    compiled = torch.compile(lambda one: pointwise(torch, one), backend="eager", dynamic=False)
    inputs, weight = torch.randn(256, 64), torch.randn(256, 256)
    lengths = iter(range(10_000))

    def step() -> None:
        rows = 64 + (next(lengths) % 100 if side is HEAD else 0)
        compiled(inputs[:rows].contiguous())
        weight @ weight

    return step


INPUT = frozenset({Bucket.INPUT})
KINDS: tuple[Kind, ...] = (
    kind_of("torch: Python loop", python_loop, r"outside"),
    kind_of("torch: item() in a loop", read_back, r"aten::(item|select|unbind|_local)|outside"),
    kind_of(
        "torch: row by row",
        small_calls,
        r"aten::(tanh|add|split|cat)|outside|256 times",
        kinds=MORE,
    ),
    kind_of("torch: fewer loader workers", fewer_workers, r"DataLoader", buckets=INPUT),
    kind_of("torch: slower data set", slower_items, r"DataLoader", buckets=INPUT),
    kind_of("torch: fusion lost", lost_fusion, r"aten::(sin|cos|tanh|mul|abs|sqrt|add)|Compiled"),
    kind_of("torch: recompiling", recompiling, r"(?i)dynamo|compile"),
)
