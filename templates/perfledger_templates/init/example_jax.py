"""A first workload: replace it with a step that matters to you."""

import jax
import jax.numpy as jnp

import perfledger

# << import_hint >>

BATCH, WIDTH = 64, 512


@perfledger.workload(unit="samples", units_per_step=BATCH)
def gradient_step():
    """Take the gradient of a small network's loss."""
    keys = jax.random.split(jax.random.key(0), 3)  # set-up: not measured
    weights = [jax.random.normal(key, (WIDTH, WIDTH)) / WIDTH for key in keys[:2]]
    data = jax.random.normal(keys[2], (BATCH, WIDTH))

    def loss(weights):
        return jnp.mean(jnp.square(jax.nn.relu(data @ weights[0]) @ weights[1]))

    gradient = jax.jit(jax.grad(loss))

    def step():  # measured, again and again; perfledger waits for what it returns
        return gradient(weights)

    return step
