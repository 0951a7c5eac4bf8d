"""Compiles a step with jax.jit and its flags."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from perfledger.failure_reason import error_line
from perfledger.registration.variant_name import DONATE, Variant
from perfledger.variants.transformed_step import (
    Foreign,
    FunctionCall,
    TransformedStep,
    unavailable,
)

SuccessorFinder = Callable[[Foreign], object]  # finds a state in what a step returned


def jitted_step(jax: Foreign, variant: Variant, call: FunctionCall) -> TransformedStep:
    """Return the step with its function jitted, with the variant's XLA flags for it alone.

    With `donate` the first input is donated and the function returns its successor, alone or first
    in a tuple, which the next step takes. Raises UnmeasurableError if jit would do nothing, for an
    unknown flag, and if nothing uses the donated memory.
    """
    if jax.config.jax_disable_jit:
        reason = "would do nothing, because jax_disable_jit is set"
        raise unavailable(variant.name, reason, "unset JAX_DISABLE_JIT")
    flags = xla_flags(variant.options)
    find_successor = _successor_finder(jax, variant, call) if DONATE in variant.options else None
    function = jax.jit(
        call.function,
        donate_argnums=() if find_successor is None else (0,),
        **({"compiler_options": flags} if flags else {}),
    )
    if flags:
        _check_flags(jax, variant, flags)
    remarks = (
        ("the function is already jitted as written: both run the same program",)
        if not variant.options and hasattr(call.function, "lower")
        else ()
    )
    jitted = FunctionCall(function, call.inputs)
    if find_successor is not None:
        return _donating_step(jax, variant, jitted, find_successor)
    return TransformedStep(step=jitted.__call__, verify=lambda: remarks)


def xla_flags(options: Sequence[str]) -> dict[str, bool | int | float | str]:
    """Return the flags among a variant's options, with values of the types that XLA expects."""
    pairs = (option.partition("=") for option in options if option != DONATE)
    return {name: _flag_value(text) for name, _, text in pairs}


def _flag_value(text: str) -> bool | int | float | str:
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _check_flags(jax: Foreign, variant: Variant, flags: Mapping[str, object]) -> None:
    """Raise UnmeasurableError for flags that XLA rejects here, by compiling an empty program."""
    try:
        jax.jit(lambda: 0, compiler_options=flags).lower().compile()
    except Exception as error:  # a boundary: XLA's errors are of several types
        advice = "use flags of this version of XLA, and values of their types"
        raise unavailable(variant.name, f"is refused ({error_line(error)})", advice) from error


def _successor_finder(jax: Foreign, variant: Variant, call: FunctionCall) -> SuccessorFinder:
    """Return a function that finds the successor of the first input in a result.

    That is all of the result, or its first part. Raises UnmeasurableError if the result has no
    successor.
    """
    if call.inputs:
        forms, result = _forms(jax, call.inputs[0]), jax.eval_shape(call.function, *call.inputs)
        if _forms(jax, result) == forms:
            return lambda result: result
        parts: Foreign = result
        if isinstance(result, tuple) and parts and _forms(jax, parts[0]) == forms:
            return itemgetter(0)
    reason = "needs a function that returns the successor of its first input"
    advice = "return the new state, alone or first of a tuple, in the shapes of the old one"
    raise unavailable(variant.name, reason, advice)


def _donating_step(
    jax: Foreign, variant: Variant, jitted: FunctionCall, find_successor: SuccessorFinder
) -> TransformedStep:
    """Return a step that donates the first input, and takes its successor the next time.

    Raises UnmeasurableError if an earlier set-up donated the same arrays.
    """
    # Numbers and arrays on the host become JAX arrays, which can be donated.

    def on_device(leaf: Foreign) -> Foreign:
        return leaf if isinstance(leaf, jax.Array) else jax.numpy.array(leaf)

    first_state = jax.tree_util.tree_map(on_device, jitted.inputs[0])
    buffers, other_inputs = jax.tree_util.tree_leaves(first_state), jitted.inputs[1:]
    if any(buffer.is_deleted() for buffer in buffers):
        reason = "has a first input that an earlier set-up gave away"
        raise unavailable(variant.name, reason, "create it in the set-up each time")
    state = first_state

    def step() -> object:
        nonlocal state
        result = jitted.function(state, *other_inputs)
        state = find_successor(result)
        return result

    def verify() -> tuple[str, ...]:
        unused = sum(not buffer.is_deleted() for buffer in buffers)
        if unused == len(buffers):
            reason = "gave nothing away: XLA used none of the donated memory"
            raise unavailable(variant.name, reason, "measure 'jit', which is the same")
        return (f"XLA did not use {unused} of {len(buffers)} donated arrays",) if unused else ()

    return TransformedStep(step=step, verify=verify)


def _forms(jax: Foreign, value: object) -> object:
    """Return the structure of a value, with the shape and type of each array."""
    leaves, structure = jax.tree_util.tree_flatten(value)
    return structure, [(jax.numpy.shape(leaf), jax.numpy.result_type(leaf)) for leaf in leaves]
