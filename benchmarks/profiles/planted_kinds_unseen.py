"""Kinds of planted changes in torch code that were written before the diff's code was read.

As in planted_kinds_torch.py, each function makes the step of one side.
"""

import hashlib
import io
import json
import re
from typing import Any

from planted_kind import Kind, Step
from planted_kinds_torch import HEAD, MORE, ROWS, SIZES, kind_of, perceptron, training
from planted_kinds_upkeep import after

from perfledger.records import Side

TEXT = "the 3 quick brown foxes jumped over 12 lazy dogs, and then they slept; " * 40


def rows_added(torch: Any, side: Side) -> Step:
    table, rows = torch.zeros(512, 256), torch.randn(1024, 256)
    places = torch.randint(0, 512, (1024,))

    def step() -> None:
        torch.tanh(rows)
        if side is HEAD:
            table.scatter_add_(0, places[:, None].expand(-1, 256), rows)
        else:
            table.index_add_(0, places, rows)

    return step


def padded_rows(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(8, 64, 255), torch.randn(255, 256)
    padded_weight = torch.nn.functional.pad(weight, (0, 0, 0, 65))

    def step() -> None:
        if side is HEAD:
            (torch.nn.functional.pad(inputs, (0, 65, 0, 64)) @ padded_weight)[:, :64].tanh()
        else:
            (inputs @ weight).tanh()

    return step


def product_by_broadcast(torch: Any, side: Side) -> Step:
    left, right = torch.randn(64, 128), torch.randn(128, 128)

    def step() -> None:
        by_hand = side is HEAD
        result = (left[:, :, None] * right[None]).sum(1) if by_hand else left @ right
        torch.tanh(result)

    return step


def positions_each_step(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(512, 128), torch.randn(128, 128)

    def table() -> Any:
        angles = torch.arange(512)[:, None] / 10_000 ** (torch.arange(0, 128, 2) / 128)
        return torch.cat([angles.sin(), angles.cos()], dim=1)

    positions = table()

    def step() -> None:
        (inputs + (table() if side is HEAD else positions)) @ weight

    return step


def running_sum_by_hand(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(256, 128), torch.randn(128, 512)

    def step() -> None:
        if side is HEAD:
            total, sums = torch.zeros(128), []
            for row in inputs:
                total = total + row
                sums.append(total)
            result = torch.stack(sums)
        else:
            result = torch.cumsum(inputs, 0)
        result @ weight

    return step


def gradients_one_by_one(torch: Any, side: Side) -> Step:
    distributed = torch.distributed
    store = distributed.HashStore()
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    grads = [torch.randn(64, 64) for _ in range(48)]
    all_gradients = torch.cat([grad.flatten() for grad in grads])

    def step() -> None:
        torch.tanh(all_gradients)
        for grad in grads if side is HEAD else [all_gradients]:
            distributed.all_reduce(grad)

    return step


def tensors_of_numbers(torch: Any, side: Side) -> Step:
    numbers = [float(number) for number in range(512)]
    weight = torch.randn(512, 1024)

    def step() -> None:
        if side is HEAD:
            row = torch.stack([torch.tensor(number) for number in numbers])
        else:
            row = torch.tensor(numbers)
        row @ weight

    return step


def chosen_by_where(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(1024, 256), torch.randn(256, 256)

    def step() -> None:
        result = inputs @ weight
        if side is HEAD:
            torch.where(result > 0, result, torch.zeros_like(result))
        else:
            result.relu_()

    return step


def sorted_for_the_best(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(64, 256), torch.randn(256, 1024)

    def step() -> None:
        scores = inputs @ weight
        if side is HEAD:
            scores.argsort(dim=-1, descending=True)[:, :4]
        else:
            scores.topk(4, dim=-1)

    return step


def tokenized(torch: Any, side: Side) -> Step:
    vocabulary = {word: number for number, word in enumerate(sorted(set(TEXT.split())))}
    embedding = torch.nn.Embedding(len(vocabulary), 256)
    token_ids = torch.tensor([vocabulary[word] for word in TEXT.split()])

    def step() -> None:
        tokens = token_ids
        if side is HEAD:
            tokens = torch.tensor(
                [vocabulary[word] for _ in range(8) for word in TEXT.split()][:560]
            )
        with torch.no_grad():
            embedding(tokens).tanh()

    return step


def cleaned(torch: Any, side: Side) -> Step:
    step = training(torch, perceptron(torch, *SIZES), torch.randn(ROWS, SIZES[0]))

    def more() -> None:
        for _ in range(6):
            re.sub(r"\b(\w+)(ed|s)\b", r"\1", TEXT)

    return after(step, more, side)


def logged(torch: Any, side: Side) -> Step:
    model = perceptron(torch, *(64,) * 16)

    def more() -> None:
        figures = {}
        for name, weight in model.named_parameters():
            figures[name] = {"mean": weight.mean().item(), "largest": weight.abs().max().item()}
        json.dumps(figures)

    return after(training(torch, model, torch.randn(ROWS, 64)), more, side)


def second_derivatives(torch: Any, side: Side) -> Step:
    model, inputs = perceptron(torch, *SIZES), torch.randn(ROWS, SIZES[0], requires_grad=True)

    def step() -> None:
        loss = model(inputs).square().mean()
        if side is HEAD:
            (slope,) = torch.autograd.grad(loss, inputs, create_graph=True)
            loss = loss + slope.square().sum()
        loss.backward()

    return step


def softmax_by_hand(torch: Any, side: Side) -> Step:
    scores = torch.randn(8, 128, 512)

    def step() -> None:
        if side is HEAD:
            powers = (scores - scores.amax(-1, keepdim=True)).exp()
            powers / powers.sum(-1, keepdim=True)
        else:
            torch.softmax(scores, -1)

    return step


def convolution_by_patches(torch: Any, side: Side) -> Step:
    convolution = torch.nn.Conv2d(16, 32, 3, padding=1)
    inputs = torch.randn(4, 16, 32, 32)
    weight = convolution.weight.detach().reshape(32, -1)

    def step() -> None:
        with torch.no_grad():
            if side is HEAD:
                patches = torch.nn.functional.unfold(inputs, 3, padding=1)
                (weight @ patches).view(4, 32, 32, 32).relu_()
            else:
                convolution(inputs).relu_()

    return step


def complex_rotation(torch: Any, side: Side) -> Step:
    inputs = torch.randn(32, 256, 64)
    angles = torch.randn(256, 32)
    turns = torch.polar(torch.ones_like(angles), angles)
    sine, cosine = angles.sin(), angles.cos()

    def step() -> None:
        if side is HEAD:
            left, right = inputs.chunk(2, dim=-1)
            turned = torch.complex(left, right) * turns
            torch.cat([turned.real, turned.imag], dim=-1)
        else:
            left, right = inputs.chunk(2, dim=-1)
            torch.cat([left * cosine - right * sine, left * sine + right * cosine], dim=-1)

    return step


def mask_each_step(torch: Any, side: Side) -> Step:
    scores = torch.randn(2, 384, 384)
    causal_mask = torch.ones(384, 384).tril().bool()

    def step() -> None:
        mask = torch.ones(384, 384).tril().bool() if side is HEAD else causal_mask
        scores.masked_fill(~mask, float("-inf")).softmax(-1)

    return step


def weights_returned(torch: Any, side: Side) -> Step:
    attention = torch.nn.MultiheadAttention(128, 4, batch_first=True)
    inputs = torch.randn(4, 128, 128)
    attention.train()

    def step() -> None:
        attention(inputs, inputs, inputs, need_weights=side is HEAD)[0].sum().backward()

    return step


def normed_weights(torch: Any, side: Side) -> Step:
    layer = torch.nn.Linear(512, 512)
    if side is HEAD:
        layer = torch.nn.utils.parametrizations.spectral_norm(layer)
    return training(torch, layer, torch.randn(32, 512))


def statistics_kept(torch: Any, side: Side) -> Step:
    norm = torch.nn.BatchNorm1d(512)
    norm.train(side is HEAD)
    inputs, weight = torch.randn(512, 512), torch.randn(512, 64)

    def step() -> None:
        with torch.no_grad():
            norm(inputs) @ weight

    return step


def hooked(torch: Any, side: Side) -> Step:
    model = perceptron(torch, *(128,) * 8)

    def hook(_: Any, __: Any, output: Any) -> None:
        (output.abs() < 1e-6).float().mean()
        output.std()

    if side is HEAD:
        for layer in model:
            layer.register_forward_hook(hook)
    return training(torch, model, torch.randn(128, 128))


def hashed(torch: Any, side: Side) -> Step:
    model = perceptron(torch, *SIZES)

    def more() -> None:
        for weight in model.parameters():
            hashlib.sha256(weight.detach().numpy().tobytes()).hexdigest()

    return after(training(torch, model, torch.randn(ROWS, SIZES[0])), more, side)


def saved(torch: Any, side: Side) -> Step:
    model = perceptron(torch, *SIZES)
    return after(
        training(torch, model, torch.randn(ROWS, SIZES[0])),
        lambda: torch.save(model.state_dict(), io.BytesIO()),
        side,
    )


def repeated(torch: Any, side: Side) -> Step:
    keys, queries = torch.randn(2, 64, 64), torch.randn(2, 8, 256, 64)

    def step() -> None:
        if side is HEAD:
            used = keys[:, None].repeat_interleave(8, dim=1).repeat(1, 1, 16, 1)
        else:
            used = keys[:, None]
        (queries @ used.transpose(-2, -1)).amax(-1)

    return step


KINDS: tuple[Kind, ...] = (
    kind_of("torch: scatter_add for index_add", rows_added, r"aten::(scatter_add|index_add)"),
    kind_of("torch: rows padded", padded_rows, r"aten::(pad|constant_pad|copy_|fill_|bmm|mm)"),
    kind_of(
        "torch: product by broadcasting", product_by_broadcast, r"aten::(mul|sum)\b", kinds=MORE
    ),
    kind_of(
        "torch: positions each step",
        positions_each_step,
        r"aten::(sin|cos|pow|arange|div|cat)",
        kinds=MORE,
    ),
    kind_of(
        "torch: running sum by hand",
        running_sum_by_hand,
        r"aten::(add|unbind|select|stack|cat)|outside",
    ),
    kind_of(
        "torch: gradients reduced one by one",
        gradients_one_by_one,
        r"all_?reduce|gloo|outside",
    ),
    kind_of(
        "torch: tensors of numbers",
        tensors_of_numbers,
        r"aten::(stack|cat|lift|detach|empty|to|copy_|tensor)|outside",
    ),
    kind_of("torch: chosen by where", chosen_by_where, r"aten::(where|gt|zeros_like)", kinds=MORE),
    kind_of("torch: sorted for the best", sorted_for_the_best, r"aten::(arg)?sort", kinds=MORE),
    kind_of("torch: tokenized each step", tokenized, r"outside"),
    kind_of("torch: regular expressions", cleaned, r"outside"),
    kind_of("torch: figures logged", logged, r"aten::(mean|abs|max|item|_local)|outside"),
    kind_of(
        "torch: second derivatives",
        second_derivatives,
        r"(?i)aten::(mm|addmm|gelu|t|mul|tanh)|Backward|backward",
    ),
    kind_of("torch: softmax by hand", softmax_by_hand, r"aten::(exp|sub|amax|div|sum)", kinds=MORE),
    kind_of(
        "torch: convolution by patches",
        convolution_by_patches,
        r"aten::(im2col|unfold|matmul|bmm|mm)",
        kinds=MORE,
    ),
    kind_of(
        "torch: complex rotation", complex_rotation, r"aten::(mul|complex|view_as|clone|copy_|cat)"
    ),
    kind_of("torch: mask each step", mask_each_step, r"aten::(tril|ones|to|copy_|fill_|_to_copy)"),
    kind_of(
        "torch: attention's weights returned",
        weights_returned,
        r"bmm|softmax|matmul|aten::(mean|baddbmm)",
    ),
    kind_of(
        "torch: spectral norm", normed_weights, r"aten::(mv|dot|div|linalg|norm|vector|outer|mul)"
    ),
    kind_of("torch: batch norm left training", statistics_kept, r"batch_norm"),
    kind_of(
        "torch: statistics of activations",
        hooked,
        r"aten::(abs|lt|mean|std|to|copy_|_to_copy|var)",
        kinds=MORE,
    ),
    kind_of("torch: weights hashed", hashed, r"outside"),
    kind_of("torch: weights saved", saved, r"outside|aten::"),
    kind_of(
        "torch: keys repeated", repeated, r"aten::(repeat|copy_|bmm|matmul|clone|index_select)"
    ),
)
