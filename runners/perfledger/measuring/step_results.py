"""Examines what a step returns: whether it is finite and ready, and what its own check says."""

import inspect
import itertools
import math
import sys
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from io import IOBase
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, cast

from perfledger.failure_reason import UnmeasurableError
from perfledger.records import FailureReason
from perfledger.step_evidence import MAX_ANSWERS, Answer, ResultState

# The most parts of a result that are examined: so many containers and objects, or a twentieth as
# many arrays. A model has a thousand gradients, and each array costs a pass, on a device a
# synchronization too. A list of numbers or texts is one part however long: examining it takes less
# time than making it.
MAX_EXAMINED = 100_000
ARRAY_COST = 20
MAX_ATTRIBUTES = 100  # of an object of a class
MAX_TEXT = 100  # of an answer
MAX_NUMBER = 3.4e38  # a reading's limit; NaN is not below it either

Foreign = Any  # an array of torch, JAX or numpy
SHAPES = frozenset({"FakeTensor", "ShapeDtypeStruct"})  # of torch and JAX: they hold no data
PLAIN = int | float | complex | str | bytes | None
NUMBERS = frozenset({int, float, complex, bool})
CONTAINERS = (list, tuple, set, frozenset, deque, dict)
# Of plain values: text cannot hold a NaN.
PLAIN_TYPES = NUMBERS | {str, bytes, type(None)}


def result_state(result: object) -> ResultState:
    """Return the state of a step's result; a result that cannot be examined is UNKNOWN.

    A function as the result is work left to the caller; as a part of a result it is not: models
    contain functions.
    """
    if isinstance(result, FunctionType | MethodType | partial):
        return ResultState.NOT_READY
    states: set[ResultState] = set()
    examined = 0
    for leaf in result_leaves(result, as_leaf=are_plain):
        examined += 1 if isinstance(leaf, (PLAIN, *CONTAINERS, array)) else ARRAY_COST
        if examined > MAX_EXAMINED:
            states.add(ResultState.PARTLY_EXAMINED)
            break
        states.add(_leaf_state(leaf))
    return worst_state(states)


def worst_state(states: Iterable[ResultState]) -> ResultState:
    """Return the worst of the states of a step's results."""
    present = set(states)
    order = (
        ResultState.NOT_READY,
        ResultState.NO_DATA,
        ResultState.NOT_FINITE,
        ResultState.PARTLY_EXAMINED,
        ResultState.FINITE,
    )
    return next((state for state in order if state in present), ResultState.UNKNOWN)


def check_answer(check: Callable[[object], object], result: object) -> Answer:
    """Return what `check` says of a result: a number, text, or dict or sequence of such.

    Raises UnmeasurableError for any other answer, and whatever `check` raises.
    """
    return limited_answer(dict(_answers("", check(result))))


def limited_answer(answer: Answer) -> Answer:
    """Return the answer. Raises UnmeasurableError if it has too many values."""
    if len(answer) > MAX_ANSWERS:
        text = f"{len(answer)} values (at most {MAX_ANSWERS})"
        raise _unusable_answer(text)
    return answer


def _no_leaf(value: object) -> bool:  # noqa: ARG001 - any container is opened
    return False


def result_leaves(
    result: object, *, as_leaf: Callable[[object], bool] = _no_leaf
) -> Iterator[object]:
    """Yield what containers and dataclasses hold, each container once.

    A container for which `as_leaf` is true is yielded itself, and so is the first part that makes
    them more than MAX_EXAMINED.
    """
    pending = [result]
    visited: dict[int, object] = {}  # kept, so that no other object gets the same id
    while pending:
        value = pending.pop()
        try:
            items = None if as_leaf(value) else _items(value)
            inside = None if items is None else list(itertools.islice(items, MAX_EXAMINED + 1))
        except Exception:  # a boundary: a user's object may fail when inspected
            inside = None
        if inside is None:
            yield value
        elif id(value) not in visited:
            visited[id(value)] = value
            pending += inside


def _items(value: object) -> Iterable[object] | None:
    """Return what a container holds; None for anything else."""
    match value:
        case dict() | Mapping():
            return cast("Mapping[object, object]", value).values()
        case list() | tuple() | set() | frozenset() | deque() | array():
            return cast("Iterable[object]", value)
        case SimpleNamespace():
            return vars(value).values()
        case _ if is_dataclass(value) and not isinstance(value, type):
            return [getattr(value, each.name, None) for each in fields(value)]
        case _ if hasattr(type(value), "__attrs_attrs__"):
            attributes: Foreign = getattr(type(value), "__attrs_attrs__")  # noqa: B009 - typed so
            return [getattr(value, each.name, None) for each in attributes]
        case _:
            return _parts_of_array(value)


def _parts_of_array(value: Foreign) -> Iterable[object] | None:
    """Return the columns of a table, or the elements of an array of objects; None for others."""
    dtype: Foreign = getattr(value, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if kind == "O":
        return getattr(value, "flat", value)
    if kind == "V" and dtype.names:
        return [value[name] for name in dtype.names]
    is_table = hasattr(value, "shape") and not kind and callable(getattr(value, "to_numpy", None))
    return [value.to_numpy()] if is_table else None


def are_plain(value: object) -> bool:
    """Return whether this is a container of plain numbers and texts alone."""
    if type(value) is array:
        return True
    if not isinstance(value, CONTAINERS):
        return False
    values = _values_in(value)
    return bool(values) and PLAIN_TYPES.issuperset(map(type, values))


def _values_in(value: Foreign) -> Foreign:
    return cast("Foreign", value).values() if isinstance(value, dict) else value


def numbers_in(value: Foreign) -> Foreign:
    """Return the numbers of a container of plain values."""
    values = _values_in(value)
    are_all = NUMBERS.issuperset(map(type, values))
    return values if are_all else [each for each in values if type(each) in NUMBERS]


def _numbers_state(numbers: Foreign) -> ResultState:
    """Return the state of plain numbers; a NaN or an infinity stays in their sum."""
    if not numbers:
        return ResultState.UNKNOWN
    try:
        total = complex(sum(numbers))
    except OverflowError:  # a whole number beyond the largest float
        total = complex(math.nan)
    if math.isfinite(total.real) and math.isfinite(total.imag):
        return ResultState.FINITE
    # Finite numbers may have an infinite sum.
    parts = (part for number in numbers for part in (number.real, number.imag))
    is_finite = all(isinstance(part, int) or math.isfinite(part) for part in parts)
    return ResultState.FINITE if is_finite else ResultState.NOT_FINITE


def _leaf_state(leaf: object) -> ResultState:
    try:
        if isinstance(leaf, (*CONTAINERS, array)):
            return _numbers_state(numbers_in(leaf))
        if not isinstance(leaf, PLAIN) and _is_unfinished(leaf):
            return ResultState.NOT_READY
        if _has_shape_alone(leaf):
            return ResultState.NO_DATA
        bounds = bounds_of(leaf)
    except Exception:  # a boundary: sparse or remote arrays, failing attributes
        return ResultState.UNKNOWN
    if not bounds:
        return ResultState.UNKNOWN
    is_finite = all(map(math.isfinite, bounds))
    return ResultState.FINITE if is_finite else ResultState.NOT_FINITE


def _has_shape_alone(leaf: Foreign) -> bool:
    """Return whether this is a tensor without data: on torch's meta device, fake, or JAX's."""
    torch: Foreign = sys.modules.get("torch")
    is_tensor = torch is not None and isinstance(leaf, torch.Tensor)
    return type(leaf).__name__ in SHAPES or (is_tensor and leaf.is_meta)


def _is_unfinished(leaf: object) -> bool:
    """Return whether this stands for work that the step only began, or has not begun."""
    if inspect.iscoroutine(leaf):
        with suppress(Exception):  # its own clean-up may fail
            leaf.close()  # else Python warns that it was never awaited
        return True
    is_future = callable(getattr(leaf, "done", None)) and callable(getattr(leaf, "result", None))
    is_torch_future = callable(getattr(leaf, "done", None)) and callable(
        getattr(leaf, "wait", None)
    )
    # torch.distributed's, of an operation with async_op=True
    is_handle = all(callable(getattr(leaf, name, None)) for name in ("is_completed", "wait"))
    # multiprocessing's AsyncResult
    is_pending = all(callable(getattr(leaf, name, None)) for name in ("ready", "get", "wait"))
    is_awaited = inspect.isawaitable(leaf) or inspect.isasyncgen(leaf)
    is_begun = is_awaited or is_future or is_torch_future or is_handle or is_pending
    return is_begun or _is_plan(leaf) or _is_lazy(leaf) or _holds_unbegun(leaf)


def _holds_unbegun(leaf: Foreign) -> bool:
    """Return whether an object of a class keeps a generator or coroutine that has not begun.

    What has begun may be its source of data, such as a trainer's.
    """
    attributes = getattr(leaf, "__dict__", None)
    if not isinstance(attributes, dict) or isinstance(leaf, type | ModuleType):
        return False
    values = itertools.islice(cast("dict[str, object]", attributes).values(), MAX_ATTRIBUTES)
    return any(
        (inspect.isgenerator(each) and inspect.getgeneratorstate(each) == inspect.GEN_CREATED)
        or (inspect.iscoroutine(each) and inspect.getcoroutinestate(each) == inspect.CORO_CREATED)
        for each in values
    )


def _is_plan(leaf: object) -> bool:
    """Return whether this only describes work: a collection of Dask, or a lazy table of Polars."""
    return type(leaf).__name__ == "LazyFrame" or _has_dask_graph(leaf)


def _has_dask_graph(leaf: object) -> bool:
    """Return whether Dask holds the data; those of xarray and pint may be in memory instead."""
    graph: Foreign = getattr(type(leaf), "__dask_graph__", None)
    return graph is not None and graph(leaf) is not None


def _is_lazy(leaf: object) -> bool:
    """Return whether iterating over this does the work; a file or a counter is a result."""
    return isinstance(leaf, Iterator) and not isinstance(leaf, IOBase | itertools.count)


def bounds_of(leaf: Foreign) -> tuple[float, ...]:
    """Return the smallest and largest number in a leaf, NaN if it holds one; () without numbers."""
    torch: Foreign = sys.modules.get("torch")
    numpy: Foreign = sys.modules.get("numpy")
    if isinstance(leaf, complex):
        return leaf.real, leaf.imag
    if isinstance(leaf, int | float | Decimal | Fraction):
        return (float(leaf),)
    if torch is not None and isinstance(leaf, torch.Tensor):
        return _tensor_bounds(torch, leaf.detach())
    if numpy is not None and hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
        # A masked array's elements without those that its mask leaves out.
        array = leaf.compressed() if hasattr(leaf, "compressed") else numpy.asarray(leaf)
        parts = (array.real, array.imag) if array.dtype.kind == "c" else (array,)
        return tuple(float(bound) for part in parts for bound in (part.min(), part.max()))
    return ()


def _tensor_bounds(torch: Foreign, tensor: Foreign) -> tuple[float, ...]:
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    if not tensor.numel():
        return ()
    # Unlike isfinite, this needs no memory, whose use is being measured.
    return tuple(float(bound.item()) for bound in torch.aminmax(tensor))


def _answers(path: str, value: Foreign) -> Iterator[tuple[str, str | int | float | bool]]:
    """Yield the values in an answer by their path, such as "loss" and "norms.0"."""
    inside: Iterable[tuple[object, object]]
    match value:
        case dict():
            inside = cast("Mapping[object, object]", value).items()
        case list() | tuple():
            inside = enumerate(cast("list[object]", value))
        case _:
            yield path[:MAX_TEXT], _answer(value)
            return
    for key, item in inside:
        yield from _answers(f"{path}.{key}".lstrip("."), item)


def _answer(value: Foreign) -> str | int | float | bool:
    if callable(getattr(value, "item", None)):  # a scalar of numpy, torch or JAX
        value = value.item()
    is_text = isinstance(value, str) and len(value) <= MAX_TEXT and value.isprintable()
    is_number = isinstance(value, int | float) and abs(value) <= MAX_NUMBER
    if is_text or is_number:
        answer: str | int | float | bool = value
        return answer
    text = f"{value!r:.100}"
    raise _unusable_answer(text)


def _unusable_answer(text: str) -> UnmeasurableError:
    detail = (
        f"the workload's check returned {text}: return a finite number, a short text, or a dict or "
        "tuple of these"
    )
    return UnmeasurableError(FailureReason.RAISED, detail)
