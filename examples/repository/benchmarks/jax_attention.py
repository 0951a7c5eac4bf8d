"""Encoding a batch of sequences with jitted attention layers."""

import os
from collections.abc import Callable
from functools import partial

import jax
import numpy as np
import perfledger
from jax import Array

from models.attention_jax import encode, initialise

# XLA's CPU backend reads it at start: one thread, so that other work runs on the other cores.
os.environ.setdefault("NPROC", "1")


@perfledger.workload(unit="tokens", units_per_step=lambda batch, length: batch * length)
def inference(
    device: str,
    batch: int = 4,
    length: int = 128,
    width: int = 256,
    heads: int = 4,
    layers: int = 2,
) -> Callable[[], Array]:
    random = np.random.default_rng(0)
    weights = initialise(layers=layers, width=width, random=random)
    x = random.normal(size=(batch, length, width)).astype(np.float32)
    weights, x = jax.device_put((weights, x), jax.devices(device)[0])
    compiled = jax.jit(partial(encode, heads=heads))

    def step() -> Array:
        return compiled(weights, x)

    return step
