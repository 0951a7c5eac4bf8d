"""Registers decorated functions as workloads, and expands their parameter grids."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeVar

from perfledger.records import Framework, Param, WorkloadSpec

DEVICES = ("auto", "cpu", "cuda", "tpu")
DEVICE_PARAMETER = "device"  # filled in by the harness, never part of an id
MAX_UNIT_LENGTH = 40  # a unit is a column head, not a sentence
MAX_SET_UPS = 20  # per process, which has some thirty turns
MAX_TEXT_LENGTH = 100  # of a parameter's value, which is part of an id
FORBIDDEN_IN_TEXT = ",[]\"'`"  # they would make an id ambiguous or break a code span

Step = Callable[[], object]
Check = Callable[..., object]  # of one argument, a step's result
Units = float | Callable[..., float]
SetUp = TypeVar("SetUp", bound=Callable[..., Step])


class WorkloadError(Exception):
    """A workload registration that cannot be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A registered function, which sets up and returns the step."""

    function: Callable[..., Step]
    place: str  # file:line
    unit: str = "steps"
    units_per_step: Units = 1.0
    device: str = "auto"
    framework: Framework | None = None  # None: detected from the function's code
    set_ups: int = 1  # in each process
    check: Check | None = None  # of what the step returns
    check_tolerance: float = 0.0  # relative
    params: Mapping[str, tuple[Param, ...]] = field(default_factory=dict[str, tuple[Param, ...]])

    @property
    def key(self) -> str:
        """Return `module:function`, the prefix of its specs' ids."""
        return f"{self.function.__module__}:{self.function.__name__}"

    def __post_init__(self) -> None:
        _check_name(self)
        _check_unit(self)
        if self.device not in DEVICES:
            raise _error(self, f"device {self.device!r} is not one of {', '.join(DEVICES)}")
        if type(self.set_ups) is not int or not 1 <= self.set_ups <= MAX_SET_UPS:
            raise _error(self, f"set_ups {self.set_ups!r} is not a number from 1 to {MAX_SET_UPS}")
        if not 0 <= self.check_tolerance < 1:
            what = f"check_tolerance {self.check_tolerance!r} is not a share from 0 to below 1"
            raise _error(self, what)
        _check_grid(self, self.params)
        for name, parameter in _parameters(self).items():
            is_filled = name in self.params or name == DEVICE_PARAMETER
            if parameter.default is inspect.Parameter.empty and not is_filled:
                raise _error(self, f"parameter {name!r} has no value: give it a default or params")

    def takes_device(self) -> bool:
        """Return whether the function has a device parameter."""
        return DEVICE_PARAMETER in _parameters(self)

    def specs(
        self, *, framework: Framework, values: Mapping[str, Sequence[Param]] | None = None
    ) -> tuple[WorkloadSpec, ...]:
        """Return one spec per point of the grid; `values` replace the decorator's.

        Raises WorkloadError when `values` name an unknown parameter.
        """
        replaced = {name: tuple(chosen) for name, chosen in (values or {}).items()}
        _check_grid(self, replaced)
        grid = {**self.params, **replaced}
        return tuple(
            self._spec(dict(zip(grid, point, strict=True)), framework)
            for point in product(*grid.values())
        )

    def _spec(self, params: Mapping[str, Param], framework: Framework) -> WorkloadSpec:
        chosen = ",".join(f"{name}={value}" for name, value in params.items())
        return WorkloadSpec(
            id=f"{self.key}[{chosen}]" if chosen else self.key,
            module=self.function.__module__,
            function=self.function.__name__,
            params=params,
            unit=self.unit,
            units_per_step=_units(self, params),
            device=self.device,
            framework=framework,
        )


# Filled by the decorator in the order in which the user's modules are imported.
REGISTERED_WORKLOADS: dict[str, Workload] = {}


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
) -> Callable[[SetUp], SetUp]:
    """Register the decorated function as a workload.

    The function sets up and returns the step, a callable without arguments: only the step is
    measured. `units_per_step` is the number of `unit`s per step, or a function of the workload's
    parameters that it names. `params` maps a parameter to its values; several make a grid. A
    parameter named `device` receives the device ("cpu", "cuda" or "tpu"). `framework` ("torch",
    "jax" or "host") is detected by default. Each process calls the function `set_ups` times and
    divides its steps among them: the placement of memory makes one set-up faster than another, and
    starting a process takes longer than a set-up.

    `check` receives what the first step of a process returned, outside the timing, and returns a
    number, a short text, or a dict or tuple of such. Base and head must agree, numbers within
    `check_tolerance` of the larger one; the change is "not measured" if not.

    Raises WorkloadError for an invalid argument or a name that is in use.
    """

    def register(function: SetUp) -> SetUp:
        registered = Workload(
            function=function,
            place=_place(function),
            unit=unit,
            units_per_step=units_per_step,
            device=device,
            framework=_framework(framework, function),
            set_ups=set_ups,
            check=check,
            check_tolerance=check_tolerance,
            params=_grid(params or {}, function),
        )
        existing = REGISTERED_WORKLOADS.get(registered.key)
        if (
            existing is not None and existing.place != registered.place
        ):  # the same place: imported again
            raise _error(
                registered, f"it is registered at {existing.place} already: rename one of them"
            )
        REGISTERED_WORKLOADS[registered.key] = registered
        return function

    return register


def _error(definition: Workload, what: str) -> WorkloadError:
    return WorkloadError(f"workload {definition.key!r} at {definition.place}: {what}")


def _place(function: Callable[..., object]) -> str:
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
        msg = f"workload at {_place(function)}: framework {name!r} is not one of {names}"
        raise WorkloadError(msg)
    return Framework(name)


def _grid(
    params: Mapping[str, Sequence[Param]], function: Callable[..., object]
) -> dict[str, tuple[Param, ...]]:
    for name, values in params.items():
        if not _is_list(values):
            msg = (
                f"workload at {_place(function)}: params has {values!r} for {name!r}: write a list "
                "of values"
            )
            raise WorkloadError(msg)
    return {name: tuple(values) for name, values in params.items()}


def _is_list(values: object) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str)


def _check_name(definition: Workload) -> None:
    if not definition.function.__name__.isidentifier():
        raise _error(definition, "it needs a name: write it with def")


def _check_unit(definition: Workload) -> None:
    if not _is_word(definition.unit):
        what = f"unit {definition.unit!r} is not a word of at most {MAX_UNIT_LENGTH} letters"
        raise _error(definition, what)
    if not callable(definition.units_per_step) and not _is_amount(definition.units_per_step):
        units = definition.units_per_step
        what = f"units_per_step {units!r} is neither a positive number nor a function"
        raise _error(definition, what)


def _is_word(unit: object) -> bool:
    return isinstance(unit, str) and 0 < len(unit) <= MAX_UNIT_LENGTH and unit.isprintable()


def _is_amount(value: object) -> bool:
    match value:
        case bool():
            return False
        case int() | float():
            return math.isfinite(value) and value > 0
        case _:
            return False


def _parameters(definition: Workload) -> dict[str, inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(definition.function).parameters
    return {name: each for name, each in parameters.items() if each.kind in kinds}


def _check_grid(definition: Workload, grid: Mapping[str, tuple[Param, ...]]) -> None:
    parameters = [name for name in _parameters(definition) if name != DEVICE_PARAMETER]
    for name, values in grid.items():
        if name not in parameters:
            has = ", ".join(parameters) or "none"
            raise _error(definition, f"it has no parameter {name!r}; its parameters: {has}")
        if not values or len(set(map(str, values))) < len(values):
            raise _error(definition, f"parameter {name!r} needs values, each one once")
        for value in values:
            _check_value(definition, name, value)


def _check_value(definition: Workload, name: str, value: object) -> None:
    match value:
        case float() if not math.isfinite(value):
            fault = "not a finite number"
        case bool() | int() | float():
            return
        case str() if not value or len(value) > MAX_TEXT_LENGTH or not value.isprintable():
            fault = f"not a printable text of at most {MAX_TEXT_LENGTH} letters"
        case str() if any(letter in FORBIDDEN_IN_TEXT for letter in value):
            fault = f"holds one of {FORBIDDEN_IN_TEXT}"
        case str():
            return
        case _:
            fault = "neither a number nor a text"
    raise _error(definition, f"parameter {name!r} has a value that is {fault}: {value!r}")


def _units(definition: Workload, params: Mapping[str, Param]) -> float:
    if not callable(definition.units_per_step):
        return float(definition.units_per_step)
    values = {
        name: params.get(name, parameter.default)
        for name, parameter in _parameters(definition).items()
    }
    parameters = inspect.signature(definition.units_per_step).parameters
    missing = [name for name in parameters if name not in values]
    if missing:
        raise _error(definition, f"units_per_step needs {missing[0]!r}, which is not its parameter")
    units = definition.units_per_step(**{name: values[name] for name in parameters})
    if not _is_amount(units):
        raise _error(
            definition, f"units_per_step is {units!r} for {dict(params)}, not a positive number"
        )
    return float(units)
