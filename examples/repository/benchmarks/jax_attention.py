"""Encoding a batch of sequences with jitted attention layers."""

from collections.abc import Callable
from functools import partial

import jax
import perfledger
from jax import Array

from models.attention_jax import encode, initialise


@perfledger.workload(unit="tokens", units_per_step=lambda batch, length: batch * length)
def inference(
    device: str, batch: int = 4, length: int = 128, width: int = 256, layers: int = 2
) -> Callable[[], Array]:
    weights_key, data_key = jax.random.split(jax.random.key(0))
    weights = initialise(layers=layers, width=width, key=weights_key)
    x = jax.random.normal(data_key, (batch, length, width))
    weights, x = jax.device_put((weights, x), jax.devices(device)[0])
    compiled = jax.jit(partial(encode, heads=max(1, width // 64)))

    def step() -> Array:
        return compiled(weights, x)

    return step
