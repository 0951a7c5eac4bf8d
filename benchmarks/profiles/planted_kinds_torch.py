"""Kinds of planted changes in torch code: base's step and head's, in one function each.

Each makes the step of one side; `side is HEAD` is the change. Names are those that torch's
profiler gives to what the change adds.
"""

from itertools import pairwise
from typing import Any

from planted_kind import Kind, Step

from perfledger.records import Framework, Side
from perfledger_profiles.diff.cause import ChangeKind

HEAD = Side.HEAD
# A step of a millisecond or two: shorter than what a busy machine gives a process at a time.
ROWS = 64
SIZES = (128, 256, 256, 128)


def training(torch: Any, model: Any, inputs: Any, optimizer: Any = None) -> Step:
    """Return a training step: forward, a loss, backward, an update."""
    used = optimizer or torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> None:
        used.zero_grad()
        model(inputs).square().mean().backward()
        used.step()

    return step


def perceptron(torch: Any, *sizes: int) -> Any:
    layers = []
    for inputs, outputs in pairwise(sizes):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.GELU()]
    return torch.nn.Sequential(*layers)


def same_code(torch: Any, _: Side) -> Step:
    return training(torch, perceptron(torch, *SIZES), torch.randn(ROWS, SIZES[0]))


def float64(torch: Any, side: Side) -> Step:
    dtype = torch.float64 if side is HEAD else torch.float32
    model = perceptron(torch, *SIZES).to(dtype)
    return training(torch, model, torch.randn(ROWS, SIZES[0], dtype=dtype))


def larger_batch(torch: Any, side: Side) -> Step:
    model = perceptron(torch, *SIZES)
    return training(torch, model, torch.randn(4 * ROWS if side is HEAD else ROWS, SIZES[0]))


def wider_layer(torch: Any, side: Side) -> Step:
    width = 1024 if side is HEAD else 256
    return training(torch, perceptron(torch, 128, 256, width, 128), torch.randn(ROWS, 128))


def extra_layer(torch: Any, side: Side) -> Step:
    sizes = (128, 256, 256, 256, 256, 128) if side is HEAD else SIZES
    return training(torch, perceptron(torch, *sizes), torch.randn(ROWS, 128))


def accumulation(torch: Any, side: Side) -> Step:
    model = perceptron(torch, *SIZES)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(ROWS, SIZES[0])

    def step() -> None:
        optimizer.zero_grad()
        for _ in range(3 if side is HEAD else 1):
            model(inputs).square().mean().backward()
        optimizer.step()

    return step


def vocabulary(torch: Any, side: Side) -> Step:
    words = 6_000 if side is HEAD else 1_000
    embedding, output = torch.nn.Embedding(words, 32), torch.nn.Linear(32, words)
    tokens = torch.randint(0, 1_000, (2, 32))

    def step() -> None:
        logits = output(torch.tanh(embedding(tokens)))
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten()).backward()

    return step


def extra_copies(torch: Any, side: Side) -> Step:
    model, inputs = perceptron(torch, *SIZES), torch.randn(ROWS, SIZES[0])
    cache = torch.randn(512, 512)

    def step() -> None:
        for _ in range(16 if side is HEAD else 0):
            cache.clone()
        model(inputs).square().mean().backward()

    return step


def contiguous(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(16, 256, 256), torch.randn(256, 128)

    def step() -> None:
        turned = inputs.transpose(1, 2)
        turned = turned.contiguous() if side is HEAD else turned
        (turned.sum(dim=1) @ weight).relu_()
        (inputs[0] @ weight).relu_()

    return step


def conversions(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(2048, 512), torch.randn(512, 16)

    def step() -> None:
        used = inputs.to(torch.bfloat16).to(torch.float32) if side is HEAD else inputs
        torch.tanh(used @ weight)

    return step


def optimizer_loop(torch: Any, side: Side) -> Step:
    model = perceptron(torch, *(64,) * 16)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=side is not HEAD)
    return training(torch, model, torch.randn(16, 64), optimizer)


def gradients_kept(torch: Any, side: Side) -> Step:
    model = perceptron(torch, 1024, 1024, 1024)
    inputs = torch.randn(2, 1024)

    def step() -> None:
        model.zero_grad(set_to_none=side is not HEAD)
        model(inputs).square().mean().backward()

    return step


def attention_in_parts(torch: Any, side: Side) -> Step:
    heads = torch.randn(1, 8, 192, 32, requires_grad=True)

    def step() -> None:
        if side is HEAD:
            weights = torch.softmax(heads @ heads.transpose(-2, -1) / 8, dim=-1)
            result = weights @ heads
        else:
            result = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)
        result.sum().backward()

    return step


def loop_over_heads(torch: Any, side: Side) -> Step:
    left, right = torch.randn(256, 32, 32), torch.randn(256, 32, 32)

    def step() -> None:
        if side is HEAD:
            torch.stack([left[head] @ right[head] for head in range(256)]).relu_()
        else:
            torch.bmm(left, right).relu_()

    return step


def one_hot(torch: Any, side: Side) -> Step:
    table, tokens = torch.randn(2048, 64), torch.randint(0, 2048, (256,))
    weight = torch.randn(64, 1024)

    def step() -> None:
        if side is HEAD:
            rows = torch.nn.functional.one_hot(tokens, 2048).to(table.dtype) @ table
        else:
            rows = torch.nn.functional.embedding(tokens, table)
        torch.tanh(rows @ weight)

    return step


def softmax64(torch: Any, side: Side) -> Step:
    scores, values = torch.randn(4, 256, 256), torch.randn(4, 256, 64)

    def step() -> None:
        if side is HEAD:
            weights = torch.softmax(scores.double(), dim=-1).float()
        else:
            weights = torch.softmax(scores, dim=-1)
        torch.bmm(weights, values)

    return step


def sorting(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(64, 512), torch.randn(512, 512)

    def step() -> None:
        scores = inputs @ weight
        (torch.sort(scores, dim=-1).values if side is HEAD else scores).tanh()

    return step


def masking(torch: Any, side: Side) -> Step:
    inputs, weight = torch.randn(512, 256), torch.randn(256, 512)

    def step() -> None:
        scores = inputs @ weight
        (scores[scores > 0] if side is HEAD else scores.clamp(min=0)).sum()

    return step


def matrix_order(torch: Any, side: Side) -> Step:
    left, right, vector = torch.randn(384, 384), torch.randn(384, 384), torch.randn(384, 1)

    def step() -> None:
        product = (left @ right) @ vector if side is HEAD else left @ (right @ vector)
        torch.tanh(product)
        torch.tanh(left)

    return step


def dropout_left_on(torch: Any, side: Side) -> Step:
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Dropout(0.1))
    model.train(side is HEAD)
    inputs = torch.randn(256, 256)

    def step() -> None:
        with torch.no_grad():
            model(inputs).relu_()

    return step


def larger_kernel(torch: Any, side: Side) -> Step:
    size = 7 if side is HEAD else 3
    model = torch.nn.Conv2d(16, 32, size, padding=size // 2)
    return training(torch, model, torch.randn(2, 16, 16, 16))


def layout(torch: Any, side: Side) -> Step:
    kind = torch.contiguous_format if side is HEAD else torch.channels_last
    pool = torch.nn.AvgPool2d(3, stride=1, padding=1)
    inputs = torch.randn(8, 32, 32, 32).to(memory_format=torch.channels_last)

    def step() -> None:
        pool(inputs.contiguous(memory_format=kind)).relu_()

    return step


def recompute(torch: Any, side: Side) -> Step:
    block = perceptron(torch, *SIZES)
    inputs = torch.randn(ROWS, SIZES[0], requires_grad=True)
    checkpoint = torch.utils.checkpoint.checkpoint

    def step() -> None:
        result = checkpoint(block, inputs, use_reentrant=False) if side is HEAD else block(inputs)
        result.square().mean().backward()

    return step


def kind_of(name: str, build: Any, names: str, **more: Any) -> Kind:
    return Kind(name=name, framework=Framework.TORCH, build=build, names=names, **more)


MORE = frozenset({ChangeKind.COUNT, ChangeKind.NEW, ChangeKind.REPLACED})
KINDS = (
    kind_of("torch: the same code", same_code, ""),
    kind_of(
        "torch: float64",
        float64,
        r"aten::(addmm|mm|gelu)|double",
        kinds=frozenset({ChangeKind.RATE}),
    ),
    kind_of("torch: larger batch", larger_batch, r"aten::(addmm|mm)\b|became 256"),
    kind_of("torch: wider layer", wider_layer, r"aten::(addmm|mm)\b|became 1024"),
    kind_of("torch: extra layer", extra_layer, r"aten::(addmm|mm)\b", kinds=MORE),
    kind_of("torch: three passes for one", accumulation, r"aten::(addmm|mm)\b|3 times", kinds=MORE),
    kind_of("torch: larger vocabulary", vocabulary, r"aten::(addmm|mm|_log_softmax)|became 6000"),
    kind_of("torch: extra clones", extra_copies, r"aten::(copy_|clone)", kinds=MORE),
    kind_of("torch: contiguous()", contiguous, r"aten::(copy_|contiguous|clone)", kinds=MORE),
    kind_of(
        "torch: converted in the step", conversions, r"aten::(copy_|_to_copy|to)\b", kinds=MORE
    ),
    kind_of("torch: optimizer not fused", optimizer_loop, r"Optimizer\.step"),
    kind_of(
        "torch: gradients set to zero", gradients_kept, r"AccumulateGrad|aten::(zero_|add_|fill_)"
    ),
    kind_of("torch: attention in parts", attention_in_parts, r"bmm|softmax|matmul", kinds=MORE),
    kind_of("torch: loop over heads", loop_over_heads, r"aten::(mm|bmm|matmul|select)|outside"),
    kind_of(
        "torch: one-hot product", one_hot, r"aten::(one_hot|scatter|mm|zeros|copy_|fill_|zero_)"
    ),
    kind_of("torch: softmax in float64", softmax64, r"softmax|aten::(copy_|_to_copy)"),
    kind_of("torch: sort", sorting, r"aten::sort", kinds=MORE),
    kind_of("torch: boolean mask", masking, r"aten::(nonzero|index|masked)", kinds=MORE),
    kind_of("torch: order of products", matrix_order, r"aten::(mm|matmul)"),
    kind_of("torch: dropout left on", dropout_left_on, r"dropout|bernoulli", kinds=MORE),
    kind_of(
        "torch: larger convolution", larger_kernel, r"conv", kinds=frozenset({ChangeKind.RATE})
    ),
    kind_of("torch: channels_last lost", layout, r"aten::(copy_|contiguous|avg_pool2d)"),
    kind_of("torch: activations recomputed", recompute, r"(?i)addmm|gelu|checkpoint", kinds=MORE),
)
