"""Kinds of planted changes around a model: upkeep of weights, Python's own work, other operators.

As in planted_kinds_torch.py and planted_kinds_jax.py, each function makes the step of one side.
"""

import copy
import gc
import time
from typing import Any

from planted_kind import Kind, Step
from planted_kinds_jax import dense, draw, jax_kind
from planted_kinds_torch import HEAD, MORE, ROWS, SIZES, kind_of, perceptron, training

from perfledger.records import Side


def after(step: Step, more: Step, side: Side) -> Step:
    """Return a step that on head is followed by something more."""

    def both() -> object:
        result = step()
        if side is HEAD:
            more()
        return result

    return both


def moving_average(torch: Any, side: Side) -> Step:
    model = perceptron(torch, *SIZES)
    averages = [weight.detach().clone() for weight in model.parameters()]

    def more() -> None:
        for _ in range(4):
            for average, weight in zip(averages, model.parameters(), strict=True):
                average.mul_(0.999).add_(weight.detach(), alpha=0.001)

    return after(training(torch, model, torch.randn(ROWS, SIZES[0])), more, side)


def kept_state(torch: Any, side: Side) -> Step:
    model = perceptron(torch, *SIZES)
    training_step = training(torch, model, torch.randn(ROWS, SIZES[0]))
    return after(training_step, lambda: copy.deepcopy(model.state_dict()), side)


def clipped(torch: Any, side: Side) -> Step:
    model = perceptron(torch, 64, *(64,) * 12, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(ROWS, 64)

    def step() -> None:
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        if side is HEAD:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
        optimizer.step()

    return step


def penalty(torch: Any, side: Side) -> Step:
    model = perceptron(torch, *SIZES)
    inputs = torch.randn(ROWS, SIZES[0])

    def step() -> None:
        model.zero_grad()
        loss = model(inputs).square().mean()
        if side is HEAD:
            loss = loss + sum(weight.pow(2).sum() for weight in model.parameters())
        loss.backward()

    return step


def through_numpy(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(256, 256), torch.randn(256, 512)

    def step() -> None:
        result = inputs @ weight
        if side is HEAD:
            array = result.numpy()
            torch.from_numpy((array - array.mean(axis=0)) / array.std(axis=0))

    return step


def cells(torch: Any, side: Side) -> Step:
    layer, cell = torch.nn.LSTM(64, 64), torch.nn.LSTMCell(64, 64)
    inputs = torch.randn(32, 16, 64)

    def step() -> None:
        with torch.no_grad():
            if side is not HEAD:
                layer(inputs)
                return
            state = None
            for row in inputs:
                state = cell(row, state)

    return step


def norm_by_hand(torch: Any, side: Side) -> Step:
    norm = torch.nn.LayerNorm(512)
    inputs = torch.randn(512, 512)

    def step() -> None:
        with torch.no_grad():
            if side is HEAD:
                centred = inputs - inputs.mean(-1, keepdim=True)
                scale = (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()
                centred / scale * norm.weight + norm.bias
            else:
                norm(inputs)

    return step


def anomaly(torch: Any, side: Side) -> Step:
    torch.autograd.set_detect_anomaly(side is HEAD)
    return training(torch, perceptron(torch, *SIZES), torch.randn(ROWS, SIZES[0]))


def collected(torch: Any, side: Side) -> Step:
    step = training(torch, perceptron(torch, *SIZES), torch.randn(ROWS, SIZES[0]))
    return after(step, gc.collect, side)


def asleep(torch: Any, side: Side) -> Step:
    step = training(torch, perceptron(torch, *SIZES), torch.randn(ROWS, SIZES[0]))
    return after(step, lambda: time.sleep(2e-3), side)


def bicubic(torch: Any, side: Side) -> Step:
    inputs = torch.randn(4, 3, 64, 64)
    mode = "bicubic" if side is HEAD else "bilinear"
    return lambda: torch.nn.functional.interpolate(inputs, scale_factor=2, mode=mode)


def powers(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(512, 256), torch.randn(256, 256)

    def step() -> None:
        result = inputs @ weight
        if side is HEAD:
            result.pow(3.1)
        else:
            result * result * result

    return step


def grouped(torch: Any, side: Side) -> Step:
    groups = 1 if side is HEAD else 32
    convolution = torch.nn.Conv2d(32, 32, 3, padding=1, groups=groups)
    inputs = torch.randn(8, 32, 32, 32)

    def step() -> None:
        with torch.no_grad():
            convolution(inputs).relu_()

    return step


def padded(torch: Any, side: Side) -> Step:
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return training(torch, layer, torch.randn(8, 96 if side is HEAD else 48, 64))


def jax_running_sum(jax: Any, side: Side) -> Step:
    inputs, weight = draw(jax, 256, 256), draw(jax, 256, 256)

    def model(values: Any) -> Any:
        result = values @ weight
        return (jax.numpy.cumsum(result, axis=0) if side is HEAD else result).max()

    function = jax.jit(model)
    return lambda: function(inputs)


def jax_fed(jax: Any, side: Side) -> Step:
    inputs = draw(jax, 2048, 1024)
    array = jax.numpy.asarray(inputs).__array__().copy()
    function = jax.jit(lambda values: values.sum())
    return lambda: function(jax.device_put(array + 1) if side is HEAD else inputs)


def jax_inverse(jax: Any, side: Side) -> Step:
    inputs = draw(jax, 96, 96)
    used = jax.numpy.linalg.inv if side is HEAD else jax.numpy.transpose
    function = jax.jit(lambda values: (used(values) @ values).sum())
    return lambda: function(inputs)


def jax_drawn(jax: Any, side: Side) -> Step:
    inputs, weight, key = draw(jax, 64, 256), draw(jax, 256, 256), jax.random.key(3)

    def model(values: Any) -> Any:
        result = jax.numpy.tanh(values @ weight)
        if side is HEAD:
            result = result * jax.random.bernoulli(key, 0.9, result.shape)
        return result.sum()

    function = jax.jit(model)
    return lambda: function(inputs)


def jax_asleep(jax: Any, side: Side) -> Step:
    return after(dense(jax), lambda: time.sleep(2e-3), side)


KINDS: tuple[Kind, ...] = (
    kind_of("torch: moving average", moving_average, r"aten::(mul_|add_)"),
    kind_of("torch: state kept each step", kept_state, r"aten::(clone|copy_)|outside"),
    kind_of("torch: gradients clipped", clipped, r"norm|aten::(mul_|stack|clamp)"),
    kind_of("torch: weights penalized", penalty, r"(?i)aten::(pow|sum|mul|expand)|pow|sum"),
    kind_of("torch: through NumPy", through_numpy, r"outside"),
    kind_of(
        "torch: cells of an LSTM", cells, r"aten::(addmm|linear|lstm_cell|sigmoid|_thnn|mkldnn)"
    ),
    kind_of(
        "torch: norm by hand", norm_by_hand, r"aten::(mean|pow|sub|div|mul|sqrt|add)", kinds=MORE
    ),
    kind_of(
        "torch: anomaly detection", anomaly, r"aten::(t|addmm|gelu|isnan|any|ne|is_nonzero)|outside"
    ),
    kind_of("torch: garbage collected", collected, r"outside"),
    kind_of("torch: asleep", asleep, r"outside"),
    kind_of("torch: bicubic", bicubic, r"bicubic"),
    kind_of("torch: powers", powers, r"aten::pow"),
    kind_of("torch: groups lost", grouped, r"conv"),
    kind_of("torch: longer padding", padded, r"became 96|aten::(addmm|mm|bmm|_scaled)"),
    jax_kind("jax: running sum", jax_running_sum, r"(?i)cumsum|reduce[-_]window"),
    jax_kind("jax: fed from NumPy", jax_fed, r"(?i)outside|device_?put|buffer|copy|transfer"),
    jax_kind("jax: inverse", jax_inverse, r"(?i)while|custom|lapack|triangular"),
    jax_kind("jax: random mask", jax_drawn, r"(?i)bernoulli|threefry|random|while|fusion"),
    jax_kind("jax: asleep", jax_asleep, r"outside"),
)
