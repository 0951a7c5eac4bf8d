"""Kinds of planted changes that were held out: written with their answers, run only afterwards.

As in planted_kinds_torch.py and planted_kinds_jax.py, each function makes the step of one side.
"""

import time
from typing import Any

from planted_kind import Kind, Step
from planted_kinds_host import INPUT
from planted_kinds_jax import draw, jax_kind
from planted_kinds_torch import HEAD, MORE, kind_of

from perfledger.records import Side


def polled(torch: Any, side: Side) -> Step:
    rows, weight = torch.randn(128, 256), torch.randn(256, 512)

    def step() -> None:
        if side is HEAD:
            time.sleep(0.006)
        (rows @ weight).relu().sum()

    return step


def contiguous_products(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(8, 128, 128), torch.randn(128, 128)

    def step() -> None:
        values = inputs
        for _ in range(6):
            if side is HEAD:
                values = (values.transpose(1, 2).contiguous() @ weight).transpose(1, 2).contiguous()
            else:
                values = (values.transpose(1, 2) @ weight).transpose(1, 2)
        values.sum()

    return step


def distances_by_row(torch: Any, side: Side) -> Step:
    queries, keys = torch.randn(256, 32), torch.randn(1024, 32)

    def step() -> None:
        if side is HEAD:
            torch.stack([torch.cdist(query[None], keys).amin() for query in queries])
        else:
            torch.cdist(queries, keys).amin(1)

    return step


def buffer_made_anew(torch: Any, side: Side) -> Step:
    image, buffer = torch.randn(1024, 1024), torch.empty(1024, 1024)

    def step() -> None:
        if side is HEAD:
            (image * 0.5 + image).clone().mean()
        else:
            torch.mul(image, 0.5, out=buffer)
            buffer.add_(image)
            buffer.mean()

    return step


def broken_graph(torch: Any, side: Side) -> Step:
    inputs, weights = torch.randn(64, 128), [torch.randn(128, 128) / 11 for _ in range(8)]

    def gate(values: Any) -> Any:
        values = torch.tanh(values) * 2
        if side is HEAD and values.mean().item() > 100:
            raise ValueError
        return torch.where(values > 0, values, values * 0.1)

    def model(values: Any) -> Any:
        for weight in weights:
            values = gate(values @ weight)
        return values

    compiled = torch.compile(model)

    def step() -> None:
        with torch.no_grad():
            compiled(inputs)

    return step


def guarded_by_a_name(torch: Any, side: Side) -> Step:
    inputs = torch.randn(32, 64)
    count = 0

    def model(values: Any, name: str) -> Any:
        for _ in range(12):
            values = (values * len(name)).tanh() + 1
        return values.sum()

    compiled = torch.compile(model)

    def step() -> None:
        nonlocal count
        count += 1
        compiled(inputs, f"step {count}" if side is HEAD else "step 0")

    return step


def parsed_rows(torch: Any, side: Side) -> Step:
    class Rows(torch.utils.data.Dataset):  # type: ignore[misc]
        def __init__(self) -> None:
            self.lines = [" ".join(str(n * k % 97) for n in range(64)) for k in range(512)]
            self.values = [self.parsed(k) for k in range(512)]

        def parsed(self, index: int) -> Any:
            return torch.tensor([float(word) for word in self.lines[index].split()])

        def __len__(self) -> int:
            return len(self.lines)

        def __getitem__(self, index: int) -> Any:
            return self.parsed(index) if side is HEAD else self.values[index]

    loader = torch.utils.data.DataLoader(Rows(), batch_size=64)
    weight = torch.randn(64, 512)

    def step() -> None:
        for batch in loader:
            (batch @ weight).relu().mean()

    return step


def states_kept(torch: Any, side: Side) -> Step:
    start = torch.randn(1024, 1024)

    def step() -> None:
        state, states, total = start, [], 0.0
        for _ in range(16):
            state = state * 0.5
            if side is HEAD:
                states.append(state)
            else:
                total = total + state.mean()
        if side is HEAD:
            torch.stack(states).mean(dim=(1, 2)).sum()

    return step


def float64_layers(torch: Any, side: Side) -> Step:
    inputs, weights = torch.randn(64, 512), [torch.randn(512, 512) / 22 for _ in range(6)]
    kind = torch.float64 if side is HEAD else torch.float32
    layers = [weight.to(kind) for weight in weights]

    def step() -> None:
        values = inputs.to(kind)
        for weight in layers:
            values = torch.nn.functional.gelu(values @ weight)
        values.float().sum()

    return step


def watched_values(jax: Any, side: Side) -> Step:
    inputs, weight = draw(jax, 64, 128), draw(jax, 128, 128) / 11
    sums: list[float] = []

    def note(values: Any) -> None:
        sums.append(sum(float(one) for one in values.ravel()[:2000]))
        del sums[:-4]

    def model(values: Any) -> Any:
        for _ in range(4):
            values = jax.numpy.tanh(values @ weight)
            if side is HEAD:
                jax.debug.callback(note, values)
        return values.sum()

    function = jax.jit(model)
    return lambda: function(inputs)


def checked_weights(jax: Any, side: Side) -> Step:
    start = draw(jax, 128, 128) / 11
    batches = [draw(jax, 32, 128) * scale for scale in (1.0, 2.0, 3.0, 4.0)]

    @jax.jit  # type: ignore[untyped-decorator]
    def update(weight: Any, rows: Any) -> Any:
        return weight - 0.01 * jax.grad(lambda w: jax.numpy.tanh(rows @ w).sum())(weight)

    def step() -> Any:
        weight = start
        for rows in batches:
            weight = update(weight, rows)
            if side is HEAD and not all(float(one) == float(one) for one in weight[0]):
                raise ValueError
        return weight

    return step


def more_images(jax: Any, side: Side) -> Step:
    images = draw(jax, 48 if side is HEAD else 16, 32, 32, 8)
    kernel = draw(jax, 3, 3, 8, 16) / 8

    def model(images: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        result = jax.lax.conv_general_dilated(
            images, kernel, (1, 1), "SAME", dimension_numbers=layout
        )
        return jax.nn.relu(result).mean()

    function = jax.jit(model)
    return lambda: function(images)


KINDS: tuple[Kind, ...] = (
    kind_of("torch: polled", polled, r"outside"),
    kind_of("torch: contiguous products", contiguous_products, r"contiguous|copy_", kinds=MORE),
    kind_of(
        "torch: distances by row",
        distances_by_row,
        r"aten::(_?euclidean|_?cdist|stack|cat|sum|pow|select)",
    ),
    kind_of("torch: buffer made anew", buffer_made_anew, r"aten::(add|clone|copy_|mul|empty)\b"),
    kind_of(
        "torch: graph broken by a value",
        broken_graph,
        r"Torch-Compiled|CompiledFxGraph|aten::(item|_local)|outside",
    ),
    kind_of(
        "torch: guarded by a name",
        guarded_by_a_name,
        r"(?i)dynamo|compil|aten::(mul|tanh|add)",
    ),
    kind_of("torch: rows parsed", parsed_rows, r"DataLoader", buckets=INPUT),
    kind_of("torch: states kept", states_kept, r"aten::(stack|cat)|outside", kinds=MORE),
    kind_of("torch: float64 layers", float64_layers, r"aten::(mm|matmul|gelu)|double"),
    jax_kind("jax: values watched", watched_values, r"(?i)callback|outside|XLA runtime"),
    jax_kind("jax: weights checked", checked_weights, r"(?i)array|item|slice|iter|outside|float"),
    jax_kind("jax: more images", more_images, r"conv|ynn|fusion"),
)
