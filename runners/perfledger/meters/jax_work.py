"""Counts the work of JAX steps with XLA, without running them.

The step is traced with abstract values, which shows its programs and how often it runs each. Every
program is then compiled alone, with its constants as arguments so that nothing is computed at
compile time, and XLA counts its work. A traced step may keep abstract values in its state, so this
runs in a process that measures nothing.
"""

import hashlib
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from perfledger import step_work
from perfledger.failure_reason import error_line
from perfledger.meters.foreign_arrays import foreign_arrays
from perfledger.meters.jax_constants import (
    JITTED,
    LOOP,
    LOOP_WITH_LENGTH,
    constant_parts,
    inner_jaxprs,
    used_outputs,
    with_constant_arguments,
)
from perfledger.rounding import percentage
from perfledger.step_work import Count, StepWork
from perfledger.workload import Step

# Most distinct programs of a step that are compiled alone. A step with more distinct programs runs
# its operations one by one: compiling each alone takes about ten milliseconds.
MAX_PROGRAMS = 300
MAX_TARGET = 300  # characters of a custom call's name
MAX_CONSTANT_WORK = 0.1  # share of a program's FLOPs: masks and tables of positions are less

LOWERED_PROGRAM = "XLA cost analysis of the program as written"
COMPILED_PROGRAM = "XLA cost analysis of the compiled program"
MAX_PROGRAM = "XLA memory analysis of the largest compiled program"
OPAQUE_LIMIT = "is not counted, because XLA cannot analyse it"
SEVERAL_DEVICES = "the sizes of compiled programs are unknown for a step on several devices"

PACKAGES = ("jax", "jaxlib")
TRACER = "jax._src.interpreters.partial_eval"

# Moves and waits, which are not programs.
_NOT_PROGRAMS = ("device_put", "copy_p", "optimization_barrier")
# Code that XLA cannot analyse, by the name of its primitive.
_OPAQUE = ("pallas_call", "custom_call", "ffi_call", "triton_kernel_call", "pure_callback")
# A call of foreign code in a program, and the calls that only annotate, move or draw bits.
_CUSTOM_CALL = re.compile(r'stablehlo\.custom_call @(?:"([^"]+)"|([\w.$-]+))')
_CALLS_WITHOUT_ARITHMETIC = re.compile(
    r"Sharding|SPMD\w+|LayoutConstraint|MoveTo\w+|annotate_device_placement|shape_assertion"
    r"|xla\.sdy\..*|\w+_threefry2x32\w*|mhlo\.topk"
)
_MOVED = "bytes accessed"
_COSTS = {
    "flops": (step_work.FLOPS, "FLOP"),
    "transcendentals": (step_work.TRANSCENDENTALS, "1"),
    _MOVED: (step_work.BYTES, "B"),
}
_MEMORY = {
    "argument_size_in_bytes": step_work.ARGUMENT_MEMORY,
    "output_size_in_bytes": step_work.OUTPUT_MEMORY,
    "temp_size_in_bytes": step_work.TEMPORARY_MEMORY,
    "alias_size_in_bytes": step_work.ALIASED_MEMORY,
    "generated_code_size_in_bytes": step_work.CODE_MEMORY,
}

Foreign = Any  # an object of JAX, see jax_clock
Costs = Mapping[tuple[str, str], float]  # XLA's name of a count and its source → value


def count_jax_work(jax: Foreign, core: Foreign, step: Step) -> StepWork:
    """Return the work of a step; `core` is jax.extend.core.

    A step that reads its arrays' values has no counts, because its control flow may depend on them.
    """
    try:
        with foreign_arrays(*PACKAGES, traced_in=TRACER) as libraries:
            traced = jax.make_jaxpr(lambda: _arrays(jax, step()))()
    except Exception as error:  # a boundary: tracing runs the user's step
        return StepWork(
            limits=(f"its programs are unknown without running it: {error_line(error)}",)
        )
    programs = _programs(core, traced.jaxpr)
    if len(programs) > MAX_PROGRAMS:
        limit = f"it runs more than {MAX_PROGRAMS} distinct programs: jit larger parts of it"
        return StepWork(limits=(limit,))
    limits = dict.fromkeys(_library_limits(libraries))
    limits |= dict.fromkeys(limit for program in programs for limit in _limits(program.jaxpr.jaxpr))
    try:
        built = [_compile(jax, core, program) for program in programs]
        limits |= dict.fromkeys(_constant_limits(jax, core, programs, built))
    except Exception as error:  # a boundary: JAX may reject a program that it would run otherwise
        return StepWork(
            limits=(*limits, f"one of its programs cannot be compiled alone: {error_line(error)}")
        )
    for program, each in zip(programs, built, strict=True):
        limits |= dict.fromkeys(_foreign_calls(program.jaxpr.jaxpr, each.text))
    counts = (
        *_costs(programs, built, is_complete=not limits),
        _runs(programs, is_complete=not libraries),
    )
    if all(map(_is_on_one_device, traced.consts)):
        counts = (*counts, *_memory(built))
    else:
        limits[SEVERAL_DEVICES] = None
    # Equal programs are the same work only if there is no other.
    fingerprint = "" if libraries else _fingerprint(programs, built)
    return StepWork(counts=counts, limits=tuple(limits), program=fingerprint)


def _library_limits(libraries: Collection[str]) -> Iterator[str]:
    if libraries:
        what = "libraries whose arrays the step uses beside JAX's"
        yield f"the work of {what} is not counted: {', '.join(sorted(libraries))}"


def _arrays(jax: Foreign, result: object) -> list[object]:
    """Return the arrays in a step's result, without texts and other objects."""
    leaves = cast("list[object]", jax.tree_util.tree_leaves(result))
    return [leaf for leaf in leaves if hasattr(leaf, "dtype")]


@dataclass(slots=True, kw_only=True)
class _Program:
    """One program with all of its inputs as arguments, and its runs per step."""

    jaxpr: Foreign  # closed
    constants: int = 0  # the first arguments
    donated: tuple[int, ...] = ()
    runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _CompiledProgram:
    """A program compiled by XLA, with its costs and sizes."""

    text: str
    costs: Costs
    sizes: Mapping[str, float]  # empty where XLA does not report them


def _programs(core: Foreign, jaxpr: Foreign) -> list[_Program]:
    """Return the step's programs: jitted functions, and single operations outside them."""
    programs: dict[object, _Program] = {}
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name in _NOT_PROGRAMS:
            continue
        is_jitted = name in JITTED
        closed = equation.params["jaxpr"] if is_jitted else _single_program(core, jaxpr, equation)
        key: object = id(closed) if is_jitted else str(closed)
        if key not in programs:
            opened, constants = with_constant_arguments(core, closed)
            donated = enumerate(equation.params.get("donated_invars", ()) if is_jitted else ())
            places = tuple(constants + place for place, is_donated in donated if is_donated)
            programs[key] = _Program(jaxpr=opened, constants=constants, donated=places)
        programs[key].runs += 1
        if len(programs) > MAX_PROGRAMS:
            break
    return list(programs.values())


def _single_program(core: Foreign, jaxpr: Foreign, equation: Foreign) -> Foreign:
    """Return the program of a single operation outside a jitted function."""
    inputs = dict.fromkeys(each for each in equation.invars if not hasattr(each, "val"))
    alone = jaxpr.replace(
        constvars=[],
        invars=list(inputs),
        outvars=used_outputs(equation),
        eqns=[equation],
        effects=equation.effects,
    )
    return core.ClosedJaxpr(alone, [])


def _constant_limits(
    jax: Foreign, core: Foreign, programs: Sequence[_Program], built: Sequence[_CompiledProgram]
) -> Iterator[str]:
    """Yield the limit of programs whose work XLA does while compiling, and no step does."""
    for program, each in zip(programs, built, strict=True):
        jaxpr, flops = program.jaxpr.jaxpr, _flops(each)
        parts = constant_parts(core, jaxpr, jaxpr.invars[: program.constants])
        folded = sum(_flops(_compile(jax, core, _Program(jaxpr=part))) for part in parts)
        if flops and folded > MAX_CONSTANT_WORK * flops:
            yield (
                f"XLA does {percentage(folded / flops)} of a program's work once, while "
                "compiling, as it depends on constants alone: pass the arrays as arguments"
            )


def _flops(program: _CompiledProgram) -> float:
    return sum(value for (name, _), value in program.costs.items() if name == "flops")


def _compile(jax: Foreign, core: Foreign, program: _Program) -> _CompiledProgram:
    lowered = _lower(jax, core, program.jaxpr, program.donated)
    compiled = lowered.compile()
    return _CompiledProgram(
        text=lowered.as_text(),
        costs=_with_all_iterations(jax, core, program.jaxpr, _own_costs(lowered, compiled)),
        sizes=_sizes(compiled),
    )


def _lower(jax: Foreign, core: Foreign, closed: Foreign, donated: tuple[int, ...] = ()) -> Foreign:
    arguments = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in closed.jaxpr.invars]
    return jax.jit(core.jaxpr_as_fun(closed), donate_argnums=donated).lower(*arguments)


def _own_costs(lowered: Foreign, compiled: Foreign) -> Costs:
    """Return XLA's counts, with loop bodies counted once.

    FLOPs are those of the program as written, where the backend reports them (the CPU does): a
    compiled program may call libraries, which XLA does not count.
    """
    written, built = _counted_costs(lowered), _counted_costs(compiled)
    own_costs: dict[tuple[str, str], float] = {}
    for name in _COSTS:
        is_written = name in written and name != _MOVED
        value = written[name] if is_written else built.get(name)
        if value is not None:
            own_costs[name, LOWERED_PROGRAM if is_written else COMPILED_PROGRAM] = value
    return own_costs


def _counted_costs(stage: Foreign) -> Mapping[str, float]:
    costs: object = stage.cost_analysis()
    if isinstance(costs, list):  # before JAX 0.5: one for each device
        costs = next(iter(cast("list[object]", costs)), None)
    if not isinstance(costs, dict):
        return {}
    xla_costs = cast("Mapping[str, object]", costs)
    if _MOVED not in xla_costs:
        return {}  # XLA counted nothing: it always counts bytes
    counts = {name: xla_costs.get(name, 0.0) for name in _COSTS}  # XLA omits zeros
    return {
        name: float(value)
        for name, value in counts.items()
        if isinstance(value, int | float) and 0 <= value < math.inf
    }


def _with_all_iterations(jax: Foreign, core: Foreign, closed: Foreign, own_costs: Costs) -> Costs:
    """Add the iterations of loops after the first, because XLA counts a loop's body once."""
    total = dict(own_costs)
    for iterations, body in _loops(closed.jaxpr):
        if iterations > 1:
            opened, _ = with_constant_arguments(core, body)
            lowered = _lower(jax, core, opened)
            once = _with_all_iterations(jax, core, opened, _own_costs(lowered, lowered.compile()))
            for key, value in once.items():
                total[key] = total.get(key, 0.0) + (iterations - 1) * value
    return total


def _loops(jaxpr: Foreign) -> Iterator[tuple[int, Foreign]]:
    """Yield the outermost loops with a known number of iterations, and their closed bodies."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == LOOP_WITH_LENGTH:
            yield int(equation.params["length"]), equation.params["jaxpr"]
        else:
            for part in inner_jaxprs(equation):
                yield from _loops(part)


def _limits(jaxpr: Foreign) -> Iterator[str]:
    """Yield the limits of XLA's counts of a program."""
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name == LOOP:
            yield "a loop without a fixed number of iterations is counted as one iteration"
        if name in _OPAQUE:
            yield f"the work of {name} {OPAQUE_LIMIT}"
        for part in inner_jaxprs(equation):
            yield from _limits(part)


def _foreign_calls(jaxpr: Foreign, text: str) -> Iterator[str]:
    """Yield the limits of XLA's counts from calls of foreign code in a program's text.

    Calls of a primitive that is known to be opaque have that limit already.
    """
    if any(limit.endswith(OPAQUE_LIMIT) for limit in _limits(jaxpr)):
        return
    for quoted, bare in dict.fromkeys(_CUSTOM_CALL.findall(text)):
        target = quoted or bare
        if not _CALLS_WITHOUT_ARITHMETIC.fullmatch(target):
            yield f"the work of the custom call {target[:MAX_TARGET]} {OPAQUE_LIMIT}"


def _costs(
    programs: Sequence[_Program], built: Sequence[_CompiledProgram], *, is_complete: bool
) -> Iterator[Count]:
    """Yield the sums over all of a step's programs, for counts that every program has."""
    keys = dict.fromkeys(key for each in built for key in each.costs)
    for name, source in keys:
        if all((name, source) in each.costs for each in built):
            value = sum(
                program.runs * each.costs[name, source]
                for program, each in zip(programs, built, strict=True)
            )
            count, unit = _COSTS[name]
            yield Count(name=count, unit=unit, value=value, source=source, is_complete=is_complete)


def _runs(programs: Sequence[_Program], *, is_complete: bool) -> Count:
    runs = float(sum(program.runs for program in programs))
    return Count(
        name=step_work.PROGRAMS,
        unit="1",
        value=runs,
        source="JAX's trace of the step",
        is_complete=is_complete,
    )


def _sizes(compiled: Foreign) -> Mapping[str, float]:
    try:
        analysis = compiled.memory_analysis()
    except NotImplementedError:
        return {}
    sizes = {name: getattr(analysis, field, None) for field, name in _MEMORY.items()}
    return {name: float(size) for name, size in sizes.items() if isinstance(size, int)}


def _memory(built: Sequence[_CompiledProgram]) -> Iterator[Count]:
    """Yield the sizes of the program with the largest memory, if XLA reports those of all."""
    if not built or not all(each.sizes for each in built):
        return
    largest = max((each.sizes for each in built), key=_total)
    sizes = {step_work.PROGRAM_MEMORY: _total(largest), **largest}
    for name, size in sizes.items():
        yield Count(name=name, unit="B", value=size, source=MAX_PROGRAM)


def _total(sizes: Mapping[str, float]) -> float:
    """Return a program's memory while it runs; aliased outputs count once."""
    return max(0.0, sum(sizes.values()) - 2 * sizes.get(step_work.ALIASED_MEMORY, 0.0))


def _fingerprint(programs: Sequence[_Program], built: Sequence[_CompiledProgram]) -> str:
    parts = sorted(
        f"{program.runs} {hashlib.sha256(each.text.encode()).hexdigest()}"
        for program, each in zip(programs, built, strict=True)
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _is_on_one_device(constant: object) -> bool:
    sharding: Foreign = getattr(constant, "sharding", None)  # JAX's arrays have one, numpy's do not
    return sharding is None or len(sharding.device_set) == 1
