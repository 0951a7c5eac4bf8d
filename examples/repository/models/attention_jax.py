"""A stack of bidirectional attention layers in plain JAX, as in an encoder."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Weights = dict[str, Array]


def initialise(*, layers: int, width: int, random: np.random.Generator) -> tuple[Weights, ...]:
    """Return the weights of `layers` layers, drawn by NumPy, which needs no compilation."""
    names = ("query", "key", "value", "output")
    return tuple(
        {
            name: jnp.asarray(random.normal(0, width**-0.5, (width, width)), jnp.float32)
            for name in names
        }
        for _ in range(layers)
    )


def encode(weights: tuple[Weights, ...], x: Array, *, heads: int) -> Array:
    """Return the encoded tokens, in the shape of x: (batch, length, width)."""
    for layer in weights:
        x = x + attend(layer, x / jnp.linalg.norm(x, axis=-1, keepdims=True), heads=heads)
    return x


def attend(layer: Weights, x: Array, *, heads: int) -> Array:
    """Return multi-head self-attention of all tokens to all, in the shape of x."""
    batch, length, width = x.shape
    shape = (batch, length, heads, width // heads)
    query, key, value = ((x @ layer[name]).reshape(shape) for name in ("query", "key", "value"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / (width // heads) ** 0.5
    attended = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)
    return attended.reshape(batch, length, width) @ layer["output"]
