"""A decoder-only transformer in plain JAX: parameters in, loss and the next parameters out."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Weights = dict[str, Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """The sizes of a model."""

    vocabulary: int = 512
    context: int = 128
    width: int = 128
    heads: int = 4
    layers: int = 2


class Parameters(NamedTuple):
    """The weights of a model; the head shares the embedding's."""

    embedding: Array
    positions: Array
    blocks: tuple[Weights, ...]


class Training(NamedTuple):
    """What Adam carries from step to step."""

    parameters: Parameters
    mean: Parameters
    variance: Parameters
    step: Array


def initialise(config: TransformerConfig, random: np.random.Generator) -> Training:
    """Return fresh weights, drawn as GPT-2 does, and Adam's moments at zero.

    NumPy draws them: that takes no compiling, and is the same on every device.
    """
    width = config.width

    def draw(*shape: int) -> Array:
        return jnp.asarray(random.normal(0, 0.02, shape), jnp.float32)

    parameters = Parameters(
        embedding=draw(config.vocabulary, width),
        positions=draw(config.context, width),
        blocks=tuple(
            {
                "attention_norm": jnp.ones(width),
                "query_key_value": draw(width, 3 * width),
                "projection": draw(width, width),
                "perceptron_norm": jnp.ones(width),
                "expand": draw(width, 4 * width),
                "contract": draw(4 * width, width),
            }
            for _ in range(config.layers)
        ),
    )
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    return Training(parameters, zeros, zeros, jnp.zeros((), jnp.int32))


def normalise(x: Array, scale: Array) -> Array:
    """Return x over its root mean square, (batch, length, width)."""
    return scale * x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def attend(x: Array, weights: Weights, *, heads: int) -> Array:
    """Return causal multi-head self-attention, in the shape of x: (batch, length, width)."""
    batch, length, width = x.shape
    split = (x @ weights["query_key_value"]).reshape(batch, length, 3, heads, width // heads)
    query, key, value = split[:, :, 0], split[:, :, 1], split[:, :, 2]
    attended = jax.nn.dot_product_attention(query, key, value, is_causal=True)
    return attended.reshape(batch, length, width) @ weights["projection"]


def logits(parameters: Parameters, tokens: Array, *, heads: int) -> Array:
    """Return the logits of the next token, (batch, length, vocabulary)."""
    x = parameters.embedding[tokens] + parameters.positions[: tokens.shape[1]]
    for weights in parameters.blocks:
        x = x + attend(normalise(x, weights["attention_norm"]), weights, heads=heads)
        hidden = jax.nn.gelu(normalise(x, weights["perceptron_norm"]) @ weights["expand"])
        x = x + hidden @ weights["contract"]
    return x @ parameters.embedding.T


def language_loss(parameters: Parameters, tokens: Array, *, heads: int) -> Array:
    """Return the mean cross entropy of each token given those before it, in nats."""
    guesses = jax.nn.log_softmax(logits(parameters, tokens[:, :-1], heads=heads))
    return -jnp.mean(jnp.take_along_axis(guesses, tokens[:, 1:, None], axis=-1))


def train_step(
    training: Training, tokens: Array, *, heads: int, learning_rate: float = 3e-4
) -> tuple[Training, Array]:
    """Take one step of Adam (Kingma & Ba, 2015); return what comes next and the loss."""
    loss, gradients = jax.value_and_grad(language_loss)(training.parameters, tokens, heads=heads)
    step = training.step + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, training.mean, gradients)
    variance = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, training.variance, gradients)
    rate = learning_rate * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    parameters = jax.tree.map(
        lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), training.parameters, mean, variance
    )
    return Training(parameters, mean, variance, step), loss
