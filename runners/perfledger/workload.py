"""Registers decorated functions as workloads, and expands their parameter grids."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TypeVar, overload

from perfledger.metrics import JUDGED_METRICS
from perfledger.records import Framework, Param, WorkloadSpec
from perfledger.registration.argument_faults import (
    amount_fault,
    devices_fault,
    grid_fault,
    id_fault,
    is_list,
    launch_fault,
    margin_fault,
    metrics_fault,
    set_ups_fault,
    tags_fault,
    timeout_fault,
    tolerance_fault,
    unit_fault,
)
from perfledger.registration.registrars import repeated_line, running_modules
from perfledger.registration.variant_name import VARIANT_PARAMETER, VariantKind, variants_fault
from perfledger.step_evidence import MAX_STEPS_PER_READING

DEVICES = ("auto", "cpu", "cuda", "tpu")
DEVICE_PARAMETER = "device"  # filled in by the harness, never part of an id
DEVICES_PARAMETER = "devices"  # the number of devices; any grid may have it

Step = Callable[[], object]
Check = Callable[..., object]  # takes one argument, a step's result
Teardown = Callable[..., object]  # takes one argument, the step
Units = float | Callable[..., float]
FunctionWithInputs = tuple[Callable[..., object], Sequence[object]]  # the step calls the function
SetUp = TypeVar("SetUp", bound=Callable[..., Step | FunctionWithInputs])


@dataclass(frozen=True, slots=True)
class PreparedStep:
    """A step that is prepared before each reading, outside the timing.

    A reading is `steps` calls of `run`. Workloads registered through other tools have such steps:
    asv's with a `number`, and pytest-benchmark's `pedantic`.
    """

    prepare: Callable[[], object]
    run: Step
    steps: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= MAX_STEPS_PER_READING:
            msg = (
                f"a reading cannot have {self.steps} steps: give a number from 1 to "
                f"{MAX_STEPS_PER_READING}"
            )
            raise WorkloadError(msg)


AnyStep = Step | PreparedStep


class WorkloadError(Exception):
    """A workload registration that cannot be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A registered function, which sets up and returns the step."""

    function: Callable[..., AnyStep | FunctionWithInputs]
    source_line: str  # file:line
    unit: str = "steps"
    units_per_step: Units = 1.0
    device: str = "auto"
    framework: Framework | None = None  # None: detected from the function's code
    set_ups: int = 1  # in each process
    check: Check | None = None  # of the step's result
    check_tolerance: float = 0.0  # relative
    params: Mapping[str, tuple[Param, ...]] = field(default_factory=dict[str, tuple[Param, ...]])
    teardown: Teardown | None = None  # of each step, after its last call
    timeout: float | None = None  # seconds in one process; None: as configured
    tags: tuple[str, ...] = ()
    margin: float | None = None  # relative; None: as configured
    metrics: tuple[str, ...] = ()  # names of those that judge it; empty: all usual ones
    devices: int | None = None  # that a step computes on; None: one
    launch: str = ""  # command that starts the ranks, with {devices}; "": as configured
    variants: tuple[str, ...] = ()  # names; empty: the step as written
    registrars: tuple[str, ...] = ()  # modules being imported when it was registered, inner first

    @property
    def key(self) -> str:
        """Return `module:function`, the prefix of its specs' ids."""
        return f"{self.function.__module__}:{self.function.__name__}"

    def __post_init__(self) -> None:
        for fault in self._faults():
            if fault:
                raise _error(self, fault)

    def _faults(self) -> Iterator[str]:
        """Yield a sentence for each argument, "" if it is fine."""
        if not self.function.__name__.isidentifier():
            yield "it needs a name: write it with def"
        yield unit_fault(self.unit)
        if not callable(self.units_per_step):
            yield amount_fault(self.units_per_step)
        if self.device not in DEVICES:
            yield f"device {self.device!r} is not one of {', '.join(DEVICES)}"
        yield set_ups_fault(self.set_ups)
        yield tolerance_fault(self.check_tolerance)
        yield timeout_fault(self.timeout)
        yield tags_fault(self.tags)
        yield margin_fault(self.margin)
        yield metrics_fault(self.metrics, JUDGED_METRICS)
        yield grid_fault(self.params, _grid_parameters(self))
        for devices in (self.devices, *self.params.get(DEVICES_PARAMETER, ())):
            yield devices_fault(devices)
        yield launch_fault(self.launch)
        yield self._variants_fault(self.variants)
        for name, parameter in _parameters(self).items():
            is_filled = name in self.params or name in (DEVICE_PARAMETER, DEVICES_PARAMETER)
            if parameter.default is inspect.Parameter.empty and not is_filled:
                yield f"parameter {name!r} has no value: give it a default or params"

    def _variants_fault(self, names: Sequence[str]) -> str:
        if names and VARIANT_PARAMETER in (*self.params, *_parameters(self)):
            return f"it has variants and a parameter {VARIANT_PARAMETER!r}: rename the parameter"
        return variants_fault(names)

    def arguments(self, spec: WorkloadSpec, device: str) -> dict[str, Param]:
        """Return the arguments of the function at a point of the grid, on a device."""
        parameters = _parameters(self)
        filled: dict[str, Param] = {}
        if DEVICE_PARAMETER in parameters:
            filled[DEVICE_PARAMETER] = device
        has_default = DEVICES_PARAMETER in parameters and (
            parameters[DEVICES_PARAMETER].default is not inspect.Parameter.empty
        )
        if DEVICES_PARAMETER in parameters and (self.devices is not None or not has_default):
            filled[DEVICES_PARAMETER] = spec.devices
        return filled | {name: each for name, each in spec.params.items() if name in parameters}

    def specs(
        self,
        *,
        framework: Framework,
        values: Mapping[str, Sequence[Param]] | None = None,
        variants: Sequence[str] | None = None,
    ) -> tuple[WorkloadSpec, ...]:
        """Return one spec per point of the grid and variant.

        `values` and `variants` replace the decorator's. Raises WorkloadError if `values` name an
        unknown parameter, and for a name that is not a variant's.
        """
        names = self.variants if variants is None else tuple(variants)
        replaced = {name: tuple(chosen) for name, chosen in (values or {}).items()}
        for fault in (
            grid_fault(replaced, _grid_parameters(self)),
            *map(devices_fault, replaced.get(DEVICES_PARAMETER, ())),
            self._variants_fault(names),
        ):
            if fault:
                raise _error(self, fault)
        grid = {**self.params, **replaced}
        return tuple(
            self._spec(dict(zip(grid, point, strict=True)), framework, variant)
            for point in product(*grid.values())
            for variant in names or (str(VariantKind.EAGER),)
        )

    def _spec(self, params: Mapping[str, Param], framework: Framework, kind: str) -> WorkloadSpec:
        # The step as written keeps its id, and so its history, when variants are added.
        variant = "" if kind == VariantKind.EAGER else kind
        labels = {**params, **({VARIANT_PARAMETER: variant} if variant else {})}
        chosen = ",".join(f"{label}={value}" for label, value in labels.items())
        name = f"{self.key}[{chosen}]" if chosen else self.key
        if fault := id_fault(name):
            raise _error(self, fault)
        return WorkloadSpec(
            id=name,
            module=self.function.__module__,
            function=self.function.__name__,
            params=params,
            unit=self.unit,
            units_per_step=_units(self, params),
            device=self.device,
            framework=framework,
            timeout=self.timeout,
            tags=self.tags,
            margin=self.margin,
            metrics=self.metrics,
            devices=int(params.get(DEVICES_PARAMETER, self.devices or 1)),
            launch=self.launch,
            variant=variant,
        )


# Filled by the decorator, in the order in which the user's modules are imported.
REGISTERED_WORKLOADS: dict[str, Workload] = {}


@overload
def workload(function: SetUp, /) -> SetUp: ...


@overload
def workload(
    *,
    unit: str = "steps",
    units_per_step: Units = 1.0,
    device: str = "auto",
    framework: str | None = None,
    set_ups: int = 1,
    check: Check | None = None,
    check_tolerance: float = 0.0,
    params: Mapping[str, Sequence[Param]] | None = None,
    teardown: Teardown | None = None,
    timeout: float | None = None,
    tags: Sequence[str] = (),
    margin: float | None = None,
    metrics: Sequence[str] = (),
    devices: int | None = None,
    launch: str = "",
    variants: Sequence[str] = (),
) -> Callable[[SetUp], SetUp]: ...


def workload(
    function: SetUp | None = None,
    /,
    *,
    unit: str = "steps",
    units_per_step: Units = 1.0,
    device: str = "auto",
    framework: str | None = None,
    set_ups: int = 1,
    check: Check | None = None,
    check_tolerance: float = 0.0,
    params: Mapping[str, Sequence[Param]] | None = None,
    teardown: Teardown | None = None,
    timeout: float | None = None,
    tags: Sequence[str] = (),
    margin: float | None = None,
    metrics: Sequence[str] = (),
    devices: int | None = None,
    launch: str = "",
    variants: Sequence[str] = (),
) -> SetUp | Callable[[SetUp], SetUp]:
    """Register the decorated function as a workload; without arguments, also without parentheses.

    The function sets up and returns the step, a callable without arguments: only the step is
    measured. `units_per_step` is the number of `unit`s per step, or a function that names the
    workload's parameters it needs. `params` maps a parameter to its values; several make a grid. A
    parameter named `device` receives the device ("cpu", "cuda" or "tpu"). `framework` ("torch",
    "jax" or "host") is detected by default. Each process calls the function `set_ups` times and
    divides its steps among them: the placement of memory makes one set-up faster than another, and
    starting a process takes longer than a set-up.

    `check` receives what the first step of a process returned, outside the timing, and returns a
    number, a short text, or a dict or tuple of these. Base and head must agree, numbers within
    `check_tolerance` of the larger one; otherwise the change is "not measured".

    `teardown` receives each step after its last call, outside the timing, such as `Server.close`
    for a step that is a `Server`. `timeout` is the most time in seconds for this workload in one
    process, instead of the configured one. `tags` are words that `-k` selects by, besides the id.

    `margin` is the relative change that counts as unchanged, instead of the configured one: with
    0.05 a noisy step can be proven unchanged within 5 %. `metrics` names the metrics that judge
    this workload, out of `step_time_p50`, `cpu_time`, `peak_memory` and `sm_active`: by default all
    that are read; those that the configuration requests are judged as well. If base and head
    differ, the smaller margin and the metrics of both apply: a change cannot relax its own check.

    `devices` is the number of devices that a step computes on; a grid may have it
    (`params={"devices": [1, 2, 4]}`), and a parameter of that name receives it. With torch each
    device gets a process, a rank, started by torchrun; JAX drives all devices of a host from one
    process. `launch` is another command that starts the ranks, such as "mpirun -n {devices}". The
    ranks begin each step together, and its time is the slowest rank's.

    `variants` names what the step is also measured as, such as ["eager", "compile", "cudagraphs"]:
    each is a separate workload. The function then returns what it computes with, and its inputs:
    `return model, (images,)`. A step is one call of the model.

    Raises WorkloadError for an invalid argument or a name that is in use.
    """

    def register(function: SetUp) -> SetUp:
        registered = Workload(
            function=function,
            source_line=_source_line(function),
            unit=unit,
            units_per_step=units_per_step,
            device=device,
            framework=_framework(framework, function),
            set_ups=set_ups,
            check=check,
            check_tolerance=check_tolerance,
            params=_grid(params or {}, function),
            teardown=teardown,
            timeout=timeout,
            tags=_words("tags", tags, function),
            margin=margin,
            metrics=_words("metrics", metrics, function),
            devices=devices,
            launch=launch,
            variants=_words("variants", variants, function),
            registrars=running_modules(),
        )
        existing = REGISTERED_WORKLOADS.get(registered.key)
        if existing == replace(registered, registrars=existing.registrars if existing else ()):
            return function  # a helper that several files call registers it once
        if existing is not None and (clash := _clash(existing, registered)):
            raise _error(registered, clash)
        REGISTERED_WORKLOADS[registered.key] = registered
        return function

    return register if function is None else register(function)


def _error(definition: Workload, what: str) -> WorkloadError:
    return WorkloadError(f"workload {definition.key!r} at {definition.source_line}: {what}")


def _clash(existing: Workload, new: Workload) -> str:
    """Return why a name cannot be registered again, "" if its module is imported again."""
    if existing.source_line != new.source_line:
        return f"it is registered at {existing.source_line} already: rename one of them"
    functions = existing.function, new.function
    return repeated_line(existing.registrars, new.registrars, functions=functions)


def _source_line(function: Callable[..., object]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        msg = f"{function!r} is not a function: decorate the function that returns the step"
        raise WorkloadError(msg)
    return f"{code.co_filename}:{code.co_firstlineno}"


def _framework(name: str | None, function: Callable[..., object]) -> Framework | None:
    if name is None:
        return None
    if name not in tuple(Framework):
        names = ", ".join(Framework)
        msg = f"workload at {_source_line(function)}: framework {name!r} is not one of {names}"
        raise WorkloadError(msg)
    return Framework(name)


def _grid(
    params: Mapping[str, Sequence[Param]], function: Callable[..., object]
) -> dict[str, tuple[Param, ...]]:
    for name, values in params.items():
        if not is_list(values):
            msg = (
                f"workload at {_source_line(function)}: params has {values!r} for {name!r}: "
                "write a list of values"
            )
            raise WorkloadError(msg)
    return {name: tuple(values) for name, values in params.items()}


def _words(argument: str, words: Sequence[str], function: Callable[..., object]) -> tuple[str, ...]:
    if not is_list(words):
        msg = (
            f"workload at {_source_line(function)}: {argument} is {words!r}: write a list of words"
        )
        raise WorkloadError(msg)
    return tuple(words)


def _parameters(definition: Workload) -> dict[str, inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(definition.function).parameters
    return {name: each for name, each in parameters.items() if each.kind in kinds}


def _grid_parameters(definition: Workload) -> tuple[str, ...]:
    names = dict.fromkeys((*_parameters(definition), DEVICES_PARAMETER))
    return tuple(name for name in names if name != DEVICE_PARAMETER)


def _units(definition: Workload, params: Mapping[str, Param]) -> float:
    if not callable(definition.units_per_step):
        return float(definition.units_per_step)
    defaults = {name: each.default for name, each in _parameters(definition).items()}
    values = {DEVICES_PARAMETER: definition.devices or 1, **defaults, **params}
    parameters = inspect.signature(definition.units_per_step).parameters
    missing = [name for name in parameters if name not in values]
    if missing:
        raise _error(definition, f"units_per_step needs {missing[0]!r}, which is not its parameter")
    units = definition.units_per_step(**{name: values[name] for name in parameters})
    if amount_fault(units):
        raise _error(
            definition, f"units_per_step is {units!r} for {dict(params)}, not a positive number"
        )
    return float(units)
