"""Kinds of planted changes in JAX code that were written before the diff's code was read.

As in planted_kinds_jax.py, each function makes the step of one side.
"""

from typing import Any

from planted_kind import Kind, Step
from planted_kinds_jax import HEAD, MORE, draw, jax_kind

from perfledger.records import Side


def convolution_by_fft(jax: Any, side: Side) -> Step:
    signal, filter_ = draw(jax, 16, 2048), draw(jax, 9)

    def model(values: Any) -> Any:
        if side is HEAD:
            size = values.shape[-1] + filter_.shape[0] - 1
            product = jax.numpy.fft.rfft(values, size) * jax.numpy.fft.rfft(filter_, size)
            return jax.numpy.fft.irfft(product, size).sum()
        return sum(values * weight for weight in filter_).sum()

    function = jax.jit(model)
    return lambda: function(signal)


def cache_concatenated(jax: Any, side: Side) -> Step:
    cache, row = draw(jax, 2048, 256), draw(jax, 1, 256)

    def model(cache: Any, new: Any) -> Any:
        if side is HEAD:
            cache = jax.numpy.concatenate([cache[1:], new])
        return (cache @ new[0]).max(), cache[:1]

    function = jax.jit(model)
    return lambda: function(cache, row)


def sorted_for_the_best(jax: Any, side: Side) -> Step:
    inputs, weight = draw(jax, 32, 128), draw(jax, 128, 1024)

    def model(values: Any) -> Any:
        scores = values @ weight
        if side is HEAD:
            return jax.numpy.argsort(scores, axis=-1)[:, -1:]
        return jax.numpy.argmax(scores, axis=-1)

    function = jax.jit(model)
    return lambda: function(inputs)


def recomputed(jax: Any, side: Side) -> Step:
    inputs, weights = draw(jax, 128, 256), draw(jax, 6, 256, 256) / 16

    def block(values: Any, weight: Any) -> Any:
        for _ in range(2):
            values = jax.numpy.tanh(values @ weight)
        return values

    used = jax.checkpoint(block) if side is HEAD else block

    def loss(all_weights: Any) -> Any:
        values = inputs
        for weight in all_weights:
            values = used(values, weight)
        return values.sum()

    function = jax.jit(jax.grad(loss))
    return lambda: function(weights)


def jitted_by_layer(jax: Any, side: Side) -> Step:
    inputs, weight = draw(jax, 8, 64), draw(jax, 64, 64) / 8
    layer = jax.jit(lambda values: jax.numpy.tanh(values @ weight))

    def layers(values: Any) -> Any:
        for _ in range(32):
            values = layer(values)
        return values

    used = layers if side is HEAD else jax.jit(layers)
    return lambda: used(inputs)


def keys_split_outside(jax: Any, side: Side) -> Step:
    inputs, weight, key = draw(jax, 64, 128), draw(jax, 128, 128), jax.random.key(1)
    function = jax.jit(lambda values: jax.numpy.tanh(values @ weight))

    def step() -> Any:
        used = key
        for _ in range(16 if side is HEAD else 0):
            used, _ = jax.random.split(used)
        return function(inputs), used

    return step


def product_by_broadcast(jax: Any, side: Side) -> Step:
    left, right = draw(jax, 64, 128), draw(jax, 128, 256)

    def model(one: Any, other: Any) -> Any:
        if side is HEAD:
            return jax.numpy.cumsum(one[:, :, None] * other[None], axis=1)[:, -1]
        return one @ other

    function = jax.jit(model)
    return lambda: function(left, right)


def by_another_axis(jax: Any, side: Side) -> Step:
    inputs, weight = draw(jax, 512, 512), draw(jax, 512, 64)

    def model(values: Any) -> Any:
        if side is HEAD:
            values = jax.numpy.roll(values, 7, axis=0)[:, ::-1]
        return (values @ weight).sum()

    function = jax.jit(model)
    return lambda: function(inputs)


KINDS: tuple[Kind, ...] = (
    jax_kind("jax: convolution by FFT", convolution_by_fft, r"(?i)fft", kinds=MORE),
    jax_kind("jax: cache concatenated", cache_concatenated, r"(?i)concat|copy|fusion|slice|dot"),
    jax_kind("jax: sorted for the best", sorted_for_the_best, r"sort", kinds=MORE),
    jax_kind("jax: activations recomputed", recomputed, r"dot|tanh|fusion|checkpoint|remat"),
    jax_kind("jax: jitted by layer", jitted_by_layer, r"(?i)outside|Function\(|Execute|dot|tanh"),
    jax_kind(
        "jax: keys split outside", keys_split_outside, r"(?i)outside|split|threefry|Function\("
    ),
    jax_kind(
        "jax: product by broadcasting", product_by_broadcast, r"(?i)reduce|cumsum|multiply|window"
    ),
    jax_kind("jax: rolled and reversed", by_another_axis, r"(?i)reverse|concat|roll|copy|fusion"),
)
