"""A JAX step becomes the work that it asks for: traced without running, then XLA counts.

The step is traced with abstract values, which shows each program that it would run and how often.
Every program is then compiled by itself, with its constants as arguments so that nothing is
computed at compile time, and XLA says what it takes. A step that was traced is spoilt: it may have
kept an abstract value where its state was. So this is done in a process that measures nothing.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from perfledger import work
from perfledger.failure import text_of
from perfledger.work import Count, Work
from perfledger.workload import Step

# A step of more different programs runs its operations one by one: compiling each for itself
# takes some ten milliseconds.
MAX_PROGRAMS = 300
MAX_REASON = 300  # JAX's errors are pages long

LOWERED = "XLA cost analysis of the program as written"
COMPILED = "XLA cost analysis of the compiled program"
LARGEST = "XLA memory analysis of the largest compiled program"
SEVERAL_DEVICES = "the sizes of compiled programs are not told of a step on several devices"

_JITTED = ("jit", "pjit")
_LOOP_WITH_LENGTH, _LOOP = "scan", "while"
# Moves or waits, and is no program.
_NOT_PROGRAMS = ("device_put", "copy_p", "optimization_barrier")
# Code that XLA does not see into.
_OPAQUE = ("pallas_call", "custom_call", "ffi_call", "triton_kernel_call", "pure_callback")
_MOVED = "bytes accessed"
_COSTS = {
    "flops": (work.FLOPS, "FLOP"),
    "transcendentals": (work.TRANSCENDENTALS, "1"),
    _MOVED: (work.BYTES, "B"),
}
_MEMORY = {
    "argument_size_in_bytes": work.ARGUMENT_MEMORY,
    "output_size_in_bytes": work.OUTPUT_MEMORY,
    "temp_size_in_bytes": work.TEMPORARY_MEMORY,
    "alias_size_in_bytes": work.ALIASED_MEMORY,
    "generated_code_size_in_bytes": work.CODE_MEMORY,
}

Foreign = Any  # JAX's own, which is fenced in: see jax_clock
Costs = Mapping[tuple[str, str], float]  # XLA's name for it and what it was counted on


def jax_work(jax: Foreign, core: Foreign, step: Step) -> Work:
    """Return what a step asks for; `core` is jax.extend.core.

    A step that reads its arrays' values has no counts: what it does next may depend on them.
    """
    try:
        traced = jax.make_jaxpr(lambda: _arrays(jax, step()))()
    except Exception as error:  # a door: the step is the user's, and tracing runs it
        return Work(limits=(f"its programs are not known without running it: {_reason(error)}",))
    programs = _programs(core, traced.jaxpr)
    if len(programs) > MAX_PROGRAMS:
        limit = f"it runs more than {MAX_PROGRAMS} different programs: jit more of it together"
        return Work(limits=(limit,))
    limits = dict.fromkeys(limit for program in programs for limit in _limits(program.jaxpr.jaxpr))
    try:
        built = [_built(jax, core, program) for program in programs]
    except Exception as error:  # a door: JAX may refuse what it would have run by other means
        return Work(limits=(*limits, f"a program of it cannot be compiled alone: {_reason(error)}"))
    counts = (*_costs(programs, built), _runs(programs))
    if all(map(_is_on_one_device, traced.consts)):
        counts = (*counts, *_memory(built))
    else:
        limits[SEVERAL_DEVICES] = None
    return Work(counts=counts, limits=tuple(limits), program=_fingerprint(programs, built))


def _arrays(jax: Foreign, result: object) -> list[object]:
    """Return what JAX can trace of a step's result: it may have a text or an object beside it."""
    leaves = cast("list[object]", jax.tree_util.tree_leaves(result))
    return [leaf for leaf in leaves if hasattr(leaf, "dtype")]


@dataclass(slots=True, kw_only=True)
class _Program:
    """One program with all that it computes with as arguments, and how often a step runs it."""

    jaxpr: Foreign  # closed
    donated: tuple[int, ...]
    runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    """What XLA made of a program."""

    text: str
    costs: Costs
    sizes: Mapping[str, float]  # empty where XLA does not tell


def _programs(core: Foreign, jaxpr: Foreign) -> list[_Program]:
    """Return what the step runs: jitted functions, and operations outside of any by themselves."""
    found: dict[object, _Program] = {}
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name in _NOT_PROGRAMS:
            continue
        is_jitted = name in _JITTED
        closed = equation.params["jaxpr"] if is_jitted else _alone(core, jaxpr, equation)
        key: object = id(closed) if is_jitted else str(closed)
        if key not in found:
            opened, constants = _opened(core, closed)
            donated = enumerate(equation.params.get("donated_invars", ()) if is_jitted else ())
            places = tuple(constants + place for place, is_donated in donated if is_donated)
            found[key] = _Program(jaxpr=opened, donated=places)
        found[key].runs += 1
        if len(found) > MAX_PROGRAMS:
            break
    return list(found.values())


def _alone(core: Foreign, jaxpr: Foreign, equation: Foreign) -> Foreign:
    """Return the program of a single operation, as JAX runs it outside of a jitted function."""
    inputs = dict.fromkeys(each for each in equation.invars if not hasattr(each, "val"))
    outputs = [each for each in equation.outvars if type(each).__name__ != "DropVar"]
    alone = jaxpr.replace(
        constvars=[],
        invars=list(inputs),
        outvars=outputs,
        eqns=[equation],
        effects=equation.effects,
    )
    return core.ClosedJaxpr(alone, [])


def _opened(core: Foreign, closed: Foreign) -> tuple[Foreign, int]:
    """Return the program with its constants as its first arguments, and how many they are.

    XLA would compute with constants while it compiles, and count nothing of that.
    """
    jaxpr = closed.jaxpr
    arguments = [*jaxpr.constvars, *jaxpr.invars]
    return core.ClosedJaxpr(jaxpr.replace(constvars=[], invars=arguments), []), len(jaxpr.constvars)


def _built(jax: Foreign, core: Foreign, program: _Program) -> _Built:
    lowered = _lowered(jax, core, program.jaxpr, program.donated)
    compiled = lowered.compile()
    return _Built(
        text=lowered.as_text(),
        costs=_all_turns(jax, core, program.jaxpr, _own_costs(lowered, compiled)),
        sizes=_sizes(compiled),
    )


def _lowered(
    jax: Foreign, core: Foreign, closed: Foreign, donated: tuple[int, ...] = ()
) -> Foreign:
    arguments = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in closed.jaxpr.invars]
    return jax.jit(core.jaxpr_as_fun(closed), donate_argnums=donated).lower(*arguments)


def _own_costs(lowered: Foreign, compiled: Foreign) -> Costs:
    """Return what XLA counts, the loops' bodies once.

    What is computed is that of the program as it was written, where this backend tells (the CPU
    does): a compiled one may call libraries, of which XLA counts nothing.
    """
    written, built = _told(lowered), _told(compiled)
    found: dict[tuple[str, str], float] = {}
    for name in _COSTS:
        is_written = name in written and name != _MOVED
        value = written[name] if is_written else built.get(name)
        if value is not None:
            found[name, LOWERED if is_written else COMPILED] = value
    return found


def _told(stage: Foreign) -> Mapping[str, float]:
    costs: object = stage.cost_analysis()
    if isinstance(costs, list):  # before JAX 0.5: one for each device
        costs = next(iter(cast("list[object]", costs)), None)
    if not isinstance(costs, dict):
        return {}
    told = cast("Mapping[str, object]", costs)
    if _MOVED not in told:
        return {}  # XLA has not counted: it would have counted what is moved
    counts = {name: told.get(name, 0.0) for name in _COSTS}  # it leaves out what is none
    return {
        name: float(value)
        for name, value in counts.items()
        if isinstance(value, int | float) and 0 <= value < math.inf
    }


def _all_turns(jax: Foreign, core: Foreign, closed: Foreign, own: Costs) -> Costs:
    """Add the turns of loops after the first: XLA counts a loop's body once."""
    total = dict(own)
    for turns, body in _loops(closed.jaxpr):
        if turns > 1:
            opened, _ = _opened(core, body)
            lowered = _lowered(jax, core, opened)
            once = _all_turns(jax, core, opened, _own_costs(lowered, lowered.compile()))
            for key, value in once.items():
                total[key] = total.get(key, 0.0) + (turns - 1) * value
    return total


def _loops(jaxpr: Foreign) -> Iterator[tuple[int, Foreign]]:
    """Yield the outermost loops with a known number of turns, and their closed bodies."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == _LOOP_WITH_LENGTH:
            yield int(equation.params["length"]), equation.params["jaxpr"]
        else:
            for part in _parts(equation):
                yield from _loops(part)


def _limits(jaxpr: Foreign) -> Iterator[str]:
    """Yield what XLA cannot count of a program."""
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name == _LOOP:
            yield "a loop without a fixed number of turns is counted as one turn"
        if name in _OPAQUE:
            yield f"what {name} computes is not counted: XLA does not see into it"
        for part in _parts(equation):
            yield from _limits(part)


def _parts(equation: Foreign) -> Iterator[Foreign]:
    """Yield the jaxprs that an equation holds: a body, branches, a function that it calls."""
    for value in equation.params.values():
        several = cast("Sequence[Foreign]", value) if isinstance(value, tuple | list) else (value,)
        for each in several:
            inner = getattr(each, "jaxpr", each)
            if hasattr(inner, "eqns"):
                yield inner


def _costs(programs: Sequence[_Program], built: Sequence[_Built]) -> Iterator[Count]:
    """Yield the sums over all that a step runs, of what XLA told of every program."""
    keys = dict.fromkeys(key for each in built for key in each.costs)
    for name, source in keys:
        if all((name, source) in each.costs for each in built):
            value = sum(
                program.runs * each.costs[name, source]
                for program, each in zip(programs, built, strict=True)
            )
            count, unit = _COSTS[name]
            yield Count(name=count, unit=unit, value=value, source=source)


def _runs(programs: Sequence[_Program]) -> Count:
    runs = float(sum(program.runs for program in programs))
    return Count(name=work.PROGRAMS, unit="1", value=runs, source="JAX's trace of the step")


def _sizes(compiled: Foreign) -> Mapping[str, float]:
    try:
        told = compiled.memory_analysis()
    except NotImplementedError:
        return {}
    sizes = {name: getattr(told, field, None) for field, name in _MEMORY.items()}
    return {name: float(size) for name, size in sizes.items() if isinstance(size, int)}


def _memory(built: Sequence[_Built]) -> Iterator[Count]:
    """Yield the sizes of the program that needs most at once, if XLA told those of all."""
    if not built or not all(each.sizes for each in built):
        return
    largest = max((each.sizes for each in built), key=_total)
    sizes = {work.PROGRAM_MEMORY: _total(largest), **largest}
    for name, size in sizes.items():
        yield Count(name=name, unit="B", value=size, source=LARGEST)


def _total(sizes: Mapping[str, float]) -> float:
    """Return what a program holds while it runs; what it returns in place of an argument once."""
    return max(0.0, sum(sizes.values()) - 2 * sizes.get(work.ALIASED_MEMORY, 0.0))


def _fingerprint(programs: Sequence[_Program], built: Sequence[_Built]) -> str:
    parts = sorted(
        f"{program.runs} {hashlib.sha256(each.text.encode()).hexdigest()}"
        for program, each in zip(programs, built, strict=True)
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _is_on_one_device(constant: object) -> bool:
    sharding: Foreign = getattr(constant, "sharding", None)  # JAX's arrays have one, numpy's do not
    return sharding is None or len(sharding.device_set) == 1


def _reason(error: BaseException) -> str:
    lines = text_of(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:MAX_REASON]
