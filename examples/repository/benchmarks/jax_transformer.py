"""A jitted transformer training step: loss, gradients and Adam."""

import os
from collections.abc import Callable
from functools import partial

import jax
import numpy as np
import perfledger
from jax import Array

from models.transformer_jax import Training, TransformerConfig, initialise, train_step as train

# XLA's CPU backend reads it at start: one thread, so that other work runs on the other cores.
os.environ.setdefault("NPROC", "1")


@perfledger.workload(unit="tokens", units_per_step=lambda batch, context: batch * context)
def train_step(
    device: str,
    batch: int = 2,
    context: int = 64,
    width: int = 128,
    heads: int = 4,
    layers: int = 2,
) -> Callable[[], tuple[Training, Array]]:
    config = TransformerConfig(context=context, width=width, heads=heads, layers=layers)
    random = np.random.default_rng(0)
    tokens = random.integers(config.vocabulary, size=(batch, context + 1))
    state = initialise(config, random)
    state, tokens = jax.device_put((state, tokens), jax.devices(device)[0])
    compiled = jax.jit(partial(train, heads=heads))

    def step() -> tuple[Training, Array]:
        nonlocal state
        state, loss = compiled(state, tokens)
        return state, loss

    return step
