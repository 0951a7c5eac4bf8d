"""Finds the parts of a JAX program that depend on constants alone.

XLA computes them once, while compiling, and no step does: also in functions that are inlined,
checkpointed, or have derivatives of their own, and in the branches of a condition.
"""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any, cast

JITTED = ("jit", "pjit")
LOOP_WITH_LENGTH, LOOP = "scan", "while"
_CONDITION = "cond"

Foreign = Any  # an object of JAX, see jax_clock


def with_constant_arguments(core: Foreign, program: Foreign) -> tuple[Foreign, int]:
    """Return a program, closed or not, with its constants as first arguments, and their number.

    Otherwise XLA would fold the constants while compiling, and not count that work.
    """
    jaxpr: Foreign = getattr(program, "jaxpr", program)
    arguments = [*jaxpr.constvars, *jaxpr.invars]
    return core.ClosedJaxpr(jaxpr.replace(constvars=[], invars=arguments), []), len(jaxpr.constvars)


def constant_parts(
    core: Foreign, jaxpr: Foreign, constants: Sequence[Foreign]
) -> Iterator[Foreign]:
    """Yield the closed parts that depend on these arguments alone.

    XLA evaluates no loops while compiling.
    """
    fixed, equations = set(constants), list[Foreign]()
    for equation in jaxpr.eqns:
        is_known = [hasattr(each, "val") or each in fixed for each in equation.invars]
        if all(is_known) and not equation.effects and not _has_loop(equation):
            equations.append(equation)
            fixed.update(equation.outvars)
        elif equation.primitive.name not in (LOOP_WITH_LENGTH, LOOP):
            is_condition = equation.primitive.name == _CONDITION
            is_input_known = is_known[1:] if is_condition else is_known  # the first one chooses
            yield from _inner_parts(core, equation, is_input_known)
    outputs = [each for equation in equations for each in used_outputs(equation)]
    if constants and outputs:
        outside = {"constvars": [], "invars": [*constants], "outvars": outputs}
        part = jaxpr.replace(**outside, eqns=equations, effects=frozenset())
        yield core.ClosedJaxpr(part, [])


def _inner_parts(core: Foreign, equation: Foreign, is_known: Sequence[bool]) -> Iterator[Foreign]:
    """Yield the constant parts of the functions that an equation calls with these inputs."""
    for part in inner_jaxprs(equation):
        # A function with other inputs than the equation's is not called with them.
        if len(part.invars) == len(is_known):
            opened, own_count = with_constant_arguments(core, part)
            inner = opened.jaxpr
            constants = compress(inner.invars, [*[True] * own_count, *is_known])
            yield from constant_parts(core, inner, list(constants))


def inner_jaxprs(equation: Foreign) -> Iterator[Foreign]:
    """Yield the jaxprs in an equation: a body, branches, a called function."""
    for value in equation.params.values():
        several = cast("Sequence[Foreign]", value) if isinstance(value, tuple | list) else (value,)
        for each in several:
            inner = getattr(each, "jaxpr", each)
            if hasattr(inner, "eqns"):
                yield inner


def used_outputs(equation: Foreign) -> list[Foreign]:
    """Return the outputs of an equation that something uses."""
    return [each for each in equation.outvars if type(each).__name__ != "DropVar"]


def _has_loop(equation: Foreign) -> bool:
    is_loop = equation.primitive.name in (LOOP_WITH_LENGTH, LOOP)
    inner = (each for part in inner_jaxprs(equation) for each in part.eqns)
    return is_loop or any(map(_has_loop, inner))
