"""Registers the canaries in torch, at sizes for a CPU; the agent sets those for other devices."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from perfledger.canaries.units import (
    FLOAT32_BYTES,
    HEAD_WIDTH,
    HEADS,
    attention_flops,
    copied_bytes,
    image_count,
    message_bytes,
    product_flops,
    row_bytes,
    sample_count,
    sequence_count,
    token_count,
    vector_bytes,
)
from perfledger.workload import workload

torch: Any = import_module("torch")  # where it is not installed, the report says so
functional: Any = torch.nn.functional

Step = Callable[[], object]
IMAGE_PIXELS = 56


def _normal(*sizes: int, device: str, dtype: str = "float32") -> Any:  # noqa: ANN401 - a tensor
    torch.manual_seed(0)
    return torch.randn(*sizes, device=device, dtype=getattr(torch, dtype))


def _without_gradients(model: Callable[[Any], object], inputs: object) -> Step:
    def step() -> object:
        with torch.inference_mode():
            return model(inputs)

    return step


@workload(
    framework="torch",
    unit="FLOP",
    units_per_step=product_flops,
    params={"dtype": ["float32"], "size": [1024]},
)
def matmul(dtype: str, size: int, device: str) -> Step:
    """Multiply two square matrices."""
    first, second = (_normal(size, size, device=device, dtype=dtype) for _ in range(2))
    return lambda: first @ second


@workload(
    framework="torch",
    unit="FLOP",
    units_per_step=attention_flops,
    params={"dtype": ["float32"], "tokens": [512]},
)
def attention(dtype: str, tokens: int, device: str) -> Step:
    """Attend from each token to all, in several heads."""
    query, key, value = (
        _normal(1, HEADS, tokens, HEAD_WIDTH, device=device, dtype=dtype) for _ in range(3)
    )
    return lambda: functional.scaled_dot_product_attention(query, key, value)


@workload(
    framework="torch",
    unit="B",
    units_per_step=row_bytes,
    params={"rows": [4096]},
)
def layer_norm(rows: int, device: str, width: int = 1024) -> Step:
    """Normalise rows of 32-bit numbers."""
    inputs = _normal(rows, width, device=device)
    return lambda: functional.layer_norm(inputs, (width,))


@workload(
    framework="torch",
    unit="B",
    units_per_step=vector_bytes,
    params={"tokens": [8192]},
)
def embedding(tokens: int, device: str, width: int = 512, words: int = 32768) -> Step:
    """Look up the vectors of tokens in a table."""
    table = _normal(words, width, device=device)
    places = torch.randint(words, (tokens,), device=device)
    return lambda: functional.embedding(places, table)


@workload(
    framework="torch",
    unit="B",
    units_per_step=copied_bytes,
    params={"mebibytes": [64]},
)
def memory_copy(mebibytes: int, device: str) -> Step:
    """Copy memory of the device: each byte is read and written."""
    source = torch.zeros(mebibytes * 2**20, dtype=torch.uint8, device=device)
    target = torch.ones_like(source)
    return lambda: target.copy_(source)


@workload(
    framework="torch",
    device="cuda",
    unit="B",
    units_per_step=message_bytes,
    params={"direction": ["to device", "to host"], "mebibytes": [256]},
)
def host_transfer(direction: str, mebibytes: int) -> Step:
    """Copy pinned memory of the host to the device, or the other way."""
    on_host = torch.zeros(mebibytes * 2**20, dtype=torch.uint8).pin_memory()
    on_device = torch.zeros_like(on_host, device="cuda")
    source, target = (on_host, on_device) if direction == "to device" else (on_device, on_host)
    return lambda: target.copy_(source, non_blocking=True)


@workload(
    framework="torch",
    unit="B",
    units_per_step=message_bytes,
    params={"mebibytes": [16]},
    devices=2,
)
def all_reduce(mebibytes: int, device: str) -> Step:
    """Add up a message over all devices."""
    distributed: Any = import_module("torch.distributed")
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    if device == "cuda":
        torch.cuda.set_device(distributed.get_rank() % torch.cuda.device_count())
    message = torch.zeros(mebibytes * 2**20 // FLOAT32_BYTES, device=device)
    return lambda: distributed.all_reduce(message)


@workload(framework="torch", unit="tokens", units_per_step=token_count, params={"tokens": [256]})
def gpt_block(tokens: int, device: str, width: int = 512) -> Step:
    """Run a transformer's block forwards."""
    torch.manual_seed(0)
    block = torch.nn.TransformerEncoderLayer(
        width, HEADS, 4 * width, dropout=0.0, batch_first=True, norm_first=True, device=device
    )
    return _without_gradients(block.eval(), _normal(1, tokens, width, device=device))


@workload(framework="torch", unit="samples", units_per_step=image_count, params={"images": [4]})
def resnet_block(images: int, device: str, channels: int = 64) -> Step:
    """Run the two convolutions of a residual block forwards."""
    torch.manual_seed(0)
    first, second = (
        torch.nn.Conv2d(channels, channels, 3, padding=1, device=device) for _ in range(2)
    )
    inputs = _normal(images, channels, IMAGE_PIXELS, IMAGE_PIXELS, device=device)
    return _without_gradients(
        lambda x: functional.relu(second(functional.relu(first(x))) + x), inputs
    )


@workload(
    framework="torch",
    unit="tokens",
    units_per_step=sequence_count,
    params={"sequences": [4]},
)
def decode_step(sequences: int, device: str, tokens: int = 512) -> Step:
    """Decode one token of each sequence, which reads its keys and values."""
    width = HEADS * HEAD_WIDTH
    torch.manual_seed(0)
    weights = torch.nn.Linear(width, 3 * width, device=device)
    keys, values = (_normal(sequences, HEADS, tokens, HEAD_WIDTH, device=device) for _ in range(2))

    def decode(inputs: Any) -> object:  # noqa: ANN401 - a tensor
        query = weights(inputs)[:, :width].view(sequences, HEADS, 1, HEAD_WIDTH)
        return functional.scaled_dot_product_attention(query, keys, values)

    return _without_gradients(decode, _normal(sequences, width, device=device))


@workload(
    framework="torch",
    unit="samples",
    units_per_step=sample_count,
    params={"samples": [512]},
)
def data_loader(samples: int) -> Step:
    """Collate batches of images on the host."""
    data: Any = import_module("torch.utils.data")
    images = torch.zeros(samples, 3, 32, 32)
    batches: Iterable[object] = data.DataLoader(data.TensorDataset(images), batch_size=32)
    return lambda: sum(1 for _ in batches)
