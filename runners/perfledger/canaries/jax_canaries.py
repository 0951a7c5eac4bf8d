"""Registers the canaries in JAX, at sizes for a CPU; the agent sets those for other devices."""

from collections.abc import Callable
from functools import partial
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
    sequence_count,
    token_count,
    vector_bytes,
)
from perfledger.workload import workload

jax: Any = import_module("jax")  # where it is not installed, the report says so
jnp: Any = import_module("jax.numpy")

Step = Callable[[], object]
IMAGE_PIXELS = 56


def _normal(*sizes: int, dtype: str = "float32", seed: int = 0) -> Any:  # noqa: ANN401 - an array
    return jax.random.normal(jax.random.key(seed), sizes, dtype)


@workload(
    framework="jax",
    unit="FLOP",
    units_per_step=product_flops,
    params={"dtype": ["float32"], "size": [1024]},
)
def matmul(dtype: str, size: int) -> Step:
    """Multiply two square matrices, 32-bit ones without TF32."""
    first, second = (_normal(size, size, dtype=dtype, seed=seed) for seed in range(2))
    precision = "highest" if dtype == "float32" else "default"
    product = jax.jit(partial(jnp.matmul, precision=precision))
    return lambda: product(first, second)


@workload(
    framework="jax",
    unit="FLOP",
    units_per_step=attention_flops,
    params={"dtype": ["float32"], "tokens": [512]},
)
def attention(dtype: str, tokens: int) -> Step:
    """Attend from each token to all, in several heads."""
    parts = [_normal(1, tokens, HEADS, HEAD_WIDTH, dtype=dtype, seed=seed) for seed in range(3)]
    attend = jax.jit(jax.nn.dot_product_attention)
    return lambda: attend(*parts)


@workload(
    framework="jax",
    unit="B",
    units_per_step=row_bytes,
    params={"rows": [4096]},
)
def layer_norm(rows: int, width: int = 1024) -> Step:
    """Normalise rows of 32-bit numbers."""
    inputs = _normal(rows, width)
    normalise = jax.jit(jax.nn.standardize)
    return lambda: normalise(inputs)


@workload(
    framework="jax",
    unit="B",
    units_per_step=vector_bytes,
    params={"tokens": [8192]},
)
def embedding(tokens: int, width: int = 512, words: int = 32768) -> Step:
    """Look up the vectors of tokens in a table."""
    table = _normal(words, width)
    places = jax.random.randint(jax.random.key(0), (tokens,), 0, words)
    look_up = jax.jit(partial(jnp.take, axis=0))
    return lambda: look_up(table, places)


@workload(
    framework="jax",
    unit="B",
    units_per_step=copied_bytes,
    params={"mebibytes": [64]},
)
def memory_copy(mebibytes: int) -> Step:
    """Read memory of the device, and write it changed elsewhere."""
    source = jnp.zeros(mebibytes * 2**20 // FLOAT32_BYTES)
    copy = jax.jit(partial(jnp.add, 1))
    return lambda: copy(source)


@workload(
    framework="jax",
    unit="B",
    units_per_step=message_bytes,
    params={"mebibytes": [16]},
    devices=2,
)
def all_reduce(mebibytes: int, devices: int) -> Step:
    """Add up a message over all devices."""
    mesh = jax.make_mesh((devices,), ("devices",))
    everywhere, apart = (
        jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes))
        for axes in ((), ("devices",))
    )
    parts = jax.device_put(jnp.zeros((devices, mebibytes * 2**20 // FLOAT32_BYTES)), apart)
    add = jax.jit(partial(jnp.sum, axis=0), out_shardings=everywhere)
    return lambda: add(parts)


@workload(
    framework="jax",
    unit="tokens",
    units_per_step=token_count,
    params={"tokens": [256]},
)
def gpt_block(tokens: int) -> Step:
    """Run a transformer's block forwards."""
    width = HEADS * HEAD_WIDTH
    mixing, output = _normal(width, 3 * width), _normal(width, width)
    up, down = _normal(width, 4 * width), _normal(4 * width, width)

    def block(inputs: Any) -> object:  # noqa: ANN401 - an array
        parts = jnp.split(jax.nn.standardize(inputs) @ mixing, 3, axis=-1)
        heads = (each.reshape(1, tokens, HEADS, HEAD_WIDTH) for each in parts)
        attended = jax.nn.dot_product_attention(*heads).reshape(tokens, width)
        mixed = inputs + attended @ output
        return mixed + jax.nn.gelu(jax.nn.standardize(mixed) @ up) @ down

    inputs, compiled = _normal(tokens, width), jax.jit(block)
    return lambda: compiled(inputs)


@workload(
    framework="jax",
    unit="samples",
    units_per_step=image_count,
    params={"images": [4]},
)
def resnet_block(images: int, channels: int = 64) -> Step:
    """Run the two convolutions of a residual block forwards."""
    inputs = _normal(images, channels, IMAGE_PIXELS, IMAGE_PIXELS)
    first, second = (_normal(channels, channels, 3, 3, seed=seed) for seed in range(2))

    def block(image: Any) -> object:  # noqa: ANN401 - an array
        inner = jax.nn.relu(jax.lax.conv(image, first, (1, 1), "SAME"))
        return jax.nn.relu(jax.lax.conv(inner, second, (1, 1), "SAME") + image)

    compiled = jax.jit(block)
    return lambda: compiled(inputs)


@workload(
    framework="jax",
    unit="tokens",
    units_per_step=sequence_count,
    params={"sequences": [4]},
)
def decode_step(sequences: int, tokens: int = 512) -> Step:
    """Decode one token of each sequence, which reads its keys and values."""
    width = HEADS * HEAD_WIDTH
    weights, inputs = _normal(width, width), _normal(sequences, width)
    keys, values = (_normal(sequences, tokens, HEADS, HEAD_WIDTH, seed=each) for each in range(2))

    def decode(token: Any) -> object:  # noqa: ANN401 - an array
        query = (token @ weights).reshape(sequences, 1, HEADS, HEAD_WIDTH)
        return jax.nn.dot_product_attention(query, keys, values)

    compiled = jax.jit(decode)
    return lambda: compiled(inputs)
