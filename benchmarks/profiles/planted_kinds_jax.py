"""Kinds of planted changes in JAX code: base's step and head's, in one function each."""

from typing import Any

from planted_kind import Kind, Step

from perfledger.records import Framework, Side
from perfledger_profiles.diff.cause import ChangeKind

HEAD = Side.HEAD
MAX_STEPS = 64  # that a recording takes, warm-ups and all of its passes


def draw(jax: Any, *shape: int) -> Any:
    return jax.random.normal(jax.random.key(sum(shape)), shape)


def layers(jax: Any, inputs: Any, *weights: Any) -> Any:
    for weight in weights:
        inputs = jax.numpy.tanh(inputs @ weight)
    return inputs.sum()


def dense(jax: Any, *, rows: int = 64, depth: int = 3, dtype: Any = None) -> Step:
    inputs, weight = draw(jax, rows, 256), draw(jax, 256, 256)
    if dtype is not None:
        inputs, weight = inputs.astype(dtype), weight.astype(dtype)
    function = jax.jit(lambda values, one: layers(jax, values, *(one,) * depth))
    return lambda: function(inputs, weight)


def same_code(jax: Any, _: Side) -> Step:
    return dense(jax)


def float64(jax: Any, side: Side) -> Step:
    jax.config.update("jax_enable_x64", side is HEAD)
    return dense(jax, dtype=jax.numpy.float64 if side is HEAD else None)


def larger_batch(jax: Any, side: Side) -> Step:
    return dense(jax, rows=512 if side is HEAD else 64)


def extra_layers(jax: Any, side: Side) -> Step:
    return dense(jax, depth=9 if side is HEAD else 3)


def jit_again(jax: Any, side: Side) -> Step:
    inputs, weight = draw(jax, 64, 256), draw(jax, 256, 256)
    jitted = jax.jit(lambda values: layers(jax, values, weight))

    def step() -> Any:
        used = jax.jit(lambda values: layers(jax, values, weight)) if side is HEAD else jitted
        return used(inputs)

    return step


def other_shapes(jax: Any, side: Side) -> Step:
    weight = draw(jax, 256, 256)
    function = jax.jit(lambda values: layers(jax, values, weight))
    batches = iter([draw(jax, 64 + number, 256) for number in range(MAX_STEPS)])
    fixed = draw(jax, 64, 256)
    return lambda: function(next(batches) if side is HEAD else fixed)


def not_jitted(jax: Any, side: Side) -> Step:
    inputs, weight = draw(jax, 16, 64), draw(jax, 64, 64)
    function = lambda values: layers(jax, values, *(weight,) * 40)  # noqa: E731 - jitted or not
    used = function if side is HEAD else jax.jit(function)
    return lambda: used(inputs)


def one_by_one(jax: Any, side: Side) -> Step:
    rows, weight = draw(jax, 1024, 16, 16), draw(jax, 16, 16)

    def each(row: Any) -> Any:
        return jax.numpy.tanh(row @ weight).sum()

    mapped = (lambda all_: jax.lax.map(each, all_)) if side is HEAD else jax.vmap(each)
    function = jax.jit(mapped)
    return lambda: function(rows)


def gathered(jax: Any, side: Side) -> Step:
    table, weight = draw(jax, 4096, 256), draw(jax, 256, 16)
    rows = jax.numpy.arange(4096)[::-1]

    def model(values: Any, places: Any) -> Any:
        chosen = values[places[:, None], jax.numpy.arange(256)[None, :]] if side is HEAD else values
        return (chosen @ weight).sum()

    function = jax.jit(model)
    return lambda: function(table, rows)


def not_donated(jax: Any, side: Side) -> Step:
    donated = () if side is HEAD else (0,)
    function = jax.jit(lambda state, row: state.at[3].set(row), donate_argnums=donated)
    state_values = [draw(jax, 1024, 512)]
    row = draw(jax, 512)

    def step() -> Any:
        state_values[0] = function(state_values[0], row)
        return state_values[0]

    return step


def callback(jax: Any, side: Side) -> Step:
    inputs, weight = draw(jax, 64, 256), draw(jax, 256, 256)

    def on_host(values: Any) -> Any:
        return sum((values * number for number in range(8)), start=values)

    def model(values: Any) -> Any:
        result = jax.numpy.tanh(values @ weight)
        if side is HEAD:
            result = jax.pure_callback(on_host, result, result)
        return result.sum()

    function = jax.jit(model)
    return lambda: function(inputs)


def sorting(jax: Any, side: Side) -> Step:
    inputs, weight = draw(jax, 64, 256), draw(jax, 256, 256)

    def model(values: Any) -> Any:
        result = values @ weight
        return (jax.numpy.sort(result, axis=-1) if side is HEAD else result)[:, ::2].sum()

    function = jax.jit(model)
    return lambda: function(inputs)


def one_hot(jax: Any, side: Side) -> Step:
    table = draw(jax, 1024, 64)
    tokens = jax.numpy.arange(128) % 1024

    def model(rows: Any, places: Any) -> Any:
        if side is HEAD:
            return jax.numpy.tanh(jax.nn.one_hot(places, 1024) @ rows).sum()
        return jax.numpy.tanh(rows[places]).sum()

    function = jax.jit(model)
    return lambda: function(table, tokens)


def python_loop(jax: Any, side: Side) -> Step:
    run = dense(jax)

    def step() -> Any:
        sum(number * number for number in range(40_000 if side is HEAD else 200))
        return run()

    return step


def read_back(jax: Any, side: Side) -> Step:
    inputs, weight = draw(jax, 64, 128), draw(jax, 128, 128)
    function = jax.jit(lambda values: jax.numpy.tanh(values @ weight))

    def step() -> Any:
        result = function(inputs)
        if side is HEAD:
            sum(float(value) for value in result[0, :32])
        return result

    return step


def jax_kind(name: str, build: Any, names: str, **more: Any) -> Kind:
    return Kind(name=name, framework=Framework.JAX, build=build, names=names, **more)


MORE = frozenset({ChangeKind.COUNT, ChangeKind.NEW, ChangeKind.REPLACED})
# XLA's CPU backend puts matrix products, one after the other, into one "ynn_fusion".
KINDS = (
    jax_kind("jax: the same code", same_code, ""),
    jax_kind("jax: float64", float64, r"dot|ynn_fusion", kinds=frozenset({ChangeKind.RATE})),
    jax_kind(
        "jax: larger batch", larger_batch, r"dot|ynn_fusion", kinds=frozenset({ChangeKind.RATE})
    ),
    jax_kind("jax: extra layers", extra_layers, r"dot|ynn_fusion"),
    jax_kind("jax: jit in every step", jit_again, r"\((compiling|tracing)\)", kinds=MORE),
    jax_kind("jax: other shapes each step", other_shapes, r"\((compiling|tracing)\)", kinds=MORE),
    jax_kind("jax: not jitted", not_jitted, r"Function\(|outside|Execute|dot|tanh"),
    jax_kind("jax: one by one", one_by_one, r"while|body|region|dot|dynamic", kinds=MORE),
    jax_kind("jax: gathered elements", gathered, r"gather"),
    jax_kind("jax: state not donated", not_donated, r"copy|dynamic|scatter"),
    jax_kind("jax: callback into Python", callback, r"(?i)callback|custom-call", kinds=MORE),
    jax_kind("jax: sort", sorting, r"sort", kinds=MORE),
    jax_kind("jax: one-hot product", one_hot, r"dot|compare|ynn_fusion"),
    jax_kind("jax: Python loop", python_loop, r"outside"),
    jax_kind("jax: values read one by one", read_back, r"outside|asarray|Function|slice|squeeze"),
)
