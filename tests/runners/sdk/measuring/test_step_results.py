"""Tests what a step's result says of its work, with plain Python, numpy and torch."""

import asyncio
import math
from array import array
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from io import StringIO
from itertools import count
from types import MappingProxyType, SimpleNamespace

import numpy
import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.measuring.step_results import (
    ARRAY_COST,
    MAX_EXAMINED,
    check_answer,
    result_state,
    worst_state,
)
from perfledger.step_evidence import MAX_ANSWERS, ResultState

NAN, INF = math.nan, math.inf


@dataclass
class Output:
    loss: object
    logits: object = None


async def coroutine():
    return 1.0


def generator():
    yield 1.0


async def async_generator():
    yield 1.0


class Table:
    """A table as pandas has it: its columns may differ in type."""

    def __init__(self, values):
        self.values = values
        self.shape = (len(values), 1)

    def to_numpy(self):
        return numpy.array(self.values, dtype=object)


class AttrsOutput:
    """A record as attrs makes it."""

    __attrs_attrs__ = (SimpleNamespace(name="loss"),)

    def __init__(self, loss):
        self.loss = loss


class TorchFuture:
    """A future as torch.futures has it."""

    def done(self):
        return True

    def wait(self):
        return 1.0


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (None, ResultState.UNKNOWN),
        ("text", ResultState.UNKNOWN),
        ((), ResultState.UNKNOWN),
        (1, ResultState.FINITE),
        (True, ResultState.FINITE),
        (0.5, ResultState.FINITE),
        (NAN, ResultState.NOT_FINITE),
        (-INF, ResultState.NOT_FINITE),
        (complex(1, NAN), ResultState.NOT_FINITE),
        ({"loss": 1.0, "norms": [2.0, (3.0, INF)]}, ResultState.NOT_FINITE),
        ({"loss": 1.0, "norms": [2.0, (3.0, "text")]}, ResultState.FINITE),
        (Output(loss=1.0, logits={"a": NAN}), ResultState.NOT_FINITE),
        (Output, ResultState.UNKNOWN),
        (numpy.ones(3), ResultState.FINITE),
        (numpy.array([1.0, NAN]), ResultState.NOT_FINITE),
        (numpy.array([1, 2]), ResultState.FINITE),
        (numpy.array([1j, complex(0, INF)]), ResultState.NOT_FINITE),
        (numpy.float16(INF), ResultState.NOT_FINITE),
        (numpy.empty(0), ResultState.UNKNOWN),
        (numpy.array(["a"]), ResultState.UNKNOWN),
        (numpy.ma.array([1.0, NAN], mask=[False, True]), ResultState.FINITE),
        (numpy.ma.array([NAN, 1.0], mask=[False, True]), ResultState.NOT_FINITE),
        (numpy.ma.array([NAN], mask=[True]), ResultState.UNKNOWN),
        (Future(), ResultState.NOT_READY),
        ([TorchFuture()], ResultState.NOT_READY),
        (map(abs, [1]), ResultState.NOT_READY),
        ({"rows": filter(None, [1])}, ResultState.NOT_READY),
        (range(3), ResultState.UNKNOWN),
        (lambda: 1.0, ResultState.NOT_READY),
        (partial(abs, 1.0), ResultState.NOT_READY),
        ([1.0].count, ResultState.UNKNOWN),
        ((1.0, lambda: 1.0), ResultState.FINITE),
        (StringIO("text"), ResultState.UNKNOWN),
        (Output(loss=1.0, logits=count()), ResultState.FINITE),
        (deque([1.0, NAN]), ResultState.NOT_FINITE),
        (array("d", [1.0, INF]), ResultState.NOT_FINITE),
        (array("i", [1]), ResultState.FINITE),
        (MappingProxyType({"loss": NAN}), ResultState.NOT_FINITE),
        (SimpleNamespace(loss=NAN), ResultState.NOT_FINITE),
        (AttrsOutput(loss=NAN), ResultState.NOT_FINITE),
        (AttrsOutput(loss=1.0), ResultState.FINITE),
        (Decimal("NaN"), ResultState.NOT_FINITE),
        (Fraction(1, 3), ResultState.FINITE),
        (Table([1.0, NAN]), ResultState.NOT_FINITE),
        (Table([1.0, 2.0]), ResultState.FINITE),
        (numpy.array([NAN, 1], dtype=object), ResultState.NOT_FINITE),
        (numpy.array([(1.0, NAN)], dtype="f8,f4"), ResultState.NOT_FINITE),
        (numpy.array([(1.0, 2)], dtype="f8,i4"), ResultState.FINITE),
    ],
)
def test_what_a_result_says(result, state):
    assert result_state(result) is state


@pytest.mark.parametrize("unfinished", [coroutine, generator, async_generator])
def test_work_that_has_not_begun_is_not_ready(unfinished):
    assert result_state({"loss": 1.0, "later": unfinished()}) is ResultState.NOT_READY


class DaskLike:
    def __dask_graph__(self):
        return {}


class ArrayInMemory:
    """An array of xarray or pint that Dask does not hold."""

    dtype, shape = numpy.dtype(float), ()

    def __dask_graph__(self):
        return None

    def __array__(self, dtype=None, copy=None):
        return numpy.array(1.0)


def test_what_dask_could_hold_but_does_not_is_a_result():
    assert result_state(ArrayInMemory()) is ResultState.FINITE


class LazyFrame:
    def collect(self):
        return 1.0


class AsyncResult:
    def ready(self):
        return False

    def get(self):
        return 1.0

    def wait(self):
        return None


class CollectiveHandle:
    """What torch.distributed returns with async_op=True."""

    def is_completed(self):
        return False

    def wait(self):
        return True


@pytest.mark.parametrize(
    "result", [DaskLike(), [LazyFrame()], AsyncResult(), {"reduced": CollectiveHandle()}]
)
def test_work_that_is_only_described_or_begun_is_not_ready(result):
    assert result_state(result) is ResultState.NOT_READY


class Holder:
    """An object of a user's class."""

    def __init__(self, rows):
        self.name, self.rows = "rows", rows


BEGUN = generator()
next(BEGUN)


def test_an_object_whose_generator_has_not_begun_is_not_ready():
    unawaited = coroutine()

    assert result_state(Holder(generator())) is ResultState.NOT_READY
    assert result_state([1.0, Holder(unawaited)]) is ResultState.NOT_READY
    unawaited.close()


@pytest.mark.parametrize("rows", [BEGUN, iter([1.0]), [generator], {"rows": 1.0}, None, open])
def test_an_object_may_keep_what_has_begun_or_is_no_generator(rows):
    assert result_state(Holder(rows)) is ResultState.UNKNOWN


@pytest.mark.parametrize("result", [Holder, math])
def test_a_class_and_a_module_keep_nothing(result):
    assert result_state(result) is ResultState.UNKNOWN


def test_a_generator_goes_on_after_it_was_examined():
    batches = generator()

    assert result_state((1.0, batches)) is ResultState.NOT_READY
    assert list(batches) == [1.0]


def test_what_is_awaited_later_is_not_ready():
    loop = asyncio.new_event_loop()

    state = result_state(loop.create_future())

    loop.close()
    assert state is ResultState.NOT_READY


def test_a_result_that_holds_itself_is_examined_once():
    result: list[object] = [1.0]
    result.append(result)

    assert result_state(result) is ResultState.FINITE


def test_what_fails_when_it_is_looked_at_says_nothing_and_hides_nothing():
    class Record:
        def __getattr__(self, name):
            raise KeyError(name)

    @dataclass
    class Pending:
        value: int

        def __getattribute__(self, name):
            if name == "value":
                raise RuntimeError(name)
            return object.__getattribute__(self, name)

    assert result_state(Record()) is ResultState.UNKNOWN
    assert result_state(Pending(1)) is ResultState.UNKNOWN
    assert result_state([Record(), math.nan, Pending(1)]) is ResultState.NOT_FINITE


def test_the_worst_state_of_several_results_counts():
    states = [ResultState.FINITE, ResultState.NOT_FINITE, ResultState.UNKNOWN]

    assert worst_state(states) is ResultState.NOT_FINITE
    assert worst_state(iter(states[:1])) is ResultState.FINITE
    assert worst_state([]) is ResultState.UNKNOWN


@pytest.mark.parametrize("bad", [math.nan, math.inf, complex(1.0, math.nan)])
@pytest.mark.parametrize("kind", [list, tuple, deque])
def test_numbers_are_examined_to_the_last_one(kind, bad):
    numbers = [1.0] * MAX_EXAMINED

    assert result_state({"loss": kind([*numbers, 2])}) is ResultState.FINITE
    assert result_state({"loss": kind([*numbers, bad])}) is ResultState.NOT_FINITE


def test_an_infinite_sum_of_finite_numbers_is_finite():
    assert result_state([1e308, 1e308]) is ResultState.FINITE
    assert result_state([10**400, 1.0]) is ResultState.FINITE
    assert result_state([10**400, NAN]) is ResultState.NOT_FINITE
    assert result_state(array("d", [1e308, 1e308])) is ResultState.FINITE
    assert result_state(array("d", [1.0] * MAX_EXAMINED + [NAN])) is ResultState.NOT_FINITE


def test_rows_of_numbers_are_parts():
    rows = [[1.0] * 100] * 10_000

    assert result_state([*rows, [NAN]]) is ResultState.NOT_FINITE


def test_a_result_of_too_many_parts_is_examined_partly():
    parts = [(1.0, ())] * MAX_EXAMINED

    assert result_state(parts[1:2]) is ResultState.FINITE
    assert result_state([(1.0, ()), *parts]) is ResultState.FINITE  # the same tuple is one part
    assert (
        result_state([("a", each) for each in range(MAX_EXAMINED + 1)])
        is ResultState.PARTLY_EXAMINED
    )


def test_a_list_of_texts_is_one_part():
    texts = [str(each) for each in range(MAX_EXAMINED)]

    assert result_state([texts, texts[1:], {"loss": 1.0}]) is ResultState.FINITE
    assert result_state([*texts, None, b"", 1.0]) is ResultState.FINITE
    assert result_state([*texts, None, b"", NAN]) is ResultState.NOT_FINITE
    assert result_state([*texts, "nan"]) is ResultState.UNKNOWN


def test_fewer_arrays_than_numbers_are_examined():
    arrays = [numpy.ones(1)] * (MAX_EXAMINED // ARRAY_COST)

    assert result_state([numpy.array([NAN]), *arrays[1:]]) is ResultState.NOT_FINITE
    assert result_state([numpy.array([NAN]), *arrays]) is ResultState.PARTLY_EXAMINED


def test_parts_of_an_array_are_examined_one_by_one():
    rows = numpy.empty(2, dtype=object)
    rows[:] = [[1.0], [NAN]]
    table = numpy.array([([1.0], 2)], dtype=[("loss", object), ("step", "i4")])

    assert result_state(rows) is ResultState.NOT_FINITE
    assert result_state([table, table]) is ResultState.FINITE


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(
    ("values", "options", "state"),
    [
        ([1.0, 2.0], {"requires_grad": True}, ResultState.FINITE),
        ([1.0, NAN], {}, ResultState.NOT_FINITE),
        ([6e4, INF], {"dtype": "float16"}, ResultState.NOT_FINITE),
        ([1.0, -INF], {"dtype": "bfloat16"}, ResultState.NOT_FINITE),
        ([1j, complex(NAN, 0)], {}, ResultState.NOT_FINITE),
        ([1, 2], {"dtype": "int64"}, ResultState.FINITE),
        ([], {}, ResultState.UNKNOWN),
    ],
)
def test_what_a_tensor_says(torch, values, options, state):
    if "dtype" in options:
        options = {**options, "dtype": getattr(torch, options["dtype"])}

    assert result_state((torch.tensor(values, **options), None)) is state


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_tensor_that_cannot_be_examined_says_nothing(torch):
    assert result_state(torch.eye(2).to_sparse()) is ResultState.UNKNOWN


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (1.5, {"": 1.5}),
        (7, {"": 7}),
        (True, {"": True}),
        ("ok", {"": "ok"}),
        ((1, 2.5), {"0": 1, "1": 2.5}),
        ({"loss": 1.0, "norms": [2, 3]}, {"loss": 1.0, "norms.0": 2, "norms.1": 3}),
        (numpy.float32(0.5), {"": 0.5}),
        (numpy.array(3), {"": 3}),
    ],
)
def test_an_answer_is_kept_by_place(value, answer):
    assert check_answer(lambda _: value, None) == answer


def test_a_check_receives_the_result():
    assert check_answer(lambda result: result, [1, 2]) == {"0": 1, "1": 2}


@pytest.mark.parametrize(
    "value",
    [None, NAN, INF, 10**400, object(), "x" * 101, "\x1b[31m", {"loss": NAN}, numpy.ones(3)],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_answer_is_refused(value):
    with pytest.raises((UnmeasurableError, ValueError)):
        check_answer(lambda _: value, None)


def test_a_long_answer_is_refused():
    with pytest.raises(UnmeasurableError, match=r"101 values \(at most 100\)"):
        check_answer(lambda _: range(MAX_ANSWERS + 1) and [0] * (MAX_ANSWERS + 1), None)


def test_what_a_check_raises_is_the_workloads_failure():
    with pytest.raises(ZeroDivisionError):
        check_answer(lambda _: 1 / 0, 1)
