"""A jitted transformer training step: loss, gradients and Adam."""

from collections.abc import Callable
from functools import partial

import jax
import perfledger
from jax import Array

from models.transformer_jax import Training, TransformerConfig, initialise, train_step as train


@perfledger.workload(unit="tokens", units_per_step=lambda batch, context: batch * context)
def train_step(
    device: str, batch: int = 4, context: int = 64, width: int = 128, layers: int = 2
) -> Callable[[], tuple[Training, Array]]:
    config = TransformerConfig(
        context=context, width=width, heads=max(1, width // 32), layers=layers
    )
    weights, data = jax.random.split(jax.random.key(0))
    tokens = jax.random.randint(data, (batch, context + 1), 0, config.vocabulary)
    where = jax.devices(device)[0]
    state = jax.device_put(initialise(config, weights), where)
    tokens = jax.device_put(tokens, where)
    compiled = jax.jit(partial(train, heads=config.heads))

    def step() -> tuple[Training, Array]:
        nonlocal state
        state, loss = compiled(state, tokens)
        return state, loss

    return step
