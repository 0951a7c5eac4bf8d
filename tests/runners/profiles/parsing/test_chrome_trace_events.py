"""Events are decoded by their category, else by their phase, else as calls."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_profiles.parsing.chrome_trace_events import (
    INSTANTS,
    KERNELS,
    LINKED,
    OPERATORS,
    UNUSED,
    TraceCall,
    decode_event,
    decode_events,
)
from perfledger_profiles.torch_profiler.kineto_events import CODES, KINDS

TIMES = {"ts": 1.5, "dur": 2.0}


def decoded(*events):
    return list(decode_events(json.dumps(events).encode()))


def test_every_category_of_a_kind_is_decoded_by_itself():
    assert {*OPERATORS, *KERNELS, *LINKED} == set(KINDS)
    assert not set(UNUSED) & set(CODES)


@pytest.mark.parametrize("category", [*OPERATORS, *KERNELS, *LINKED])
def test_a_call_has_its_category_its_times_and_the_arguments_of_its_kind(category):
    args = {"Input Dims": [[2]], "correlation": 7, "grid": [1, 2, 3], "External id": 9}
    event = {"ph": "X", "cat": category, "name": "n", "pid": 1, "tid": "t", **TIMES, "args": args}

    (call,) = decoded(event)

    assert (call.cat, call.name, call.pid, call.tid) == (category, "n", 1, "t")
    assert (call.ts, call.dur) == (1.5, 2.0)
    if category in OPERATORS:
        assert bytes(call.args.dims) == b"[[2]]"
    else:
        assert call.args.correlation == 7
    if category in KERNELS:
        assert bytes(call.args.grid) == b"[1, 2, 3]"


def test_an_event_of_an_unknown_category_is_decoded_by_its_phase():
    unknown = {"ph": "X", "cat": "of a later version", "name": "n", **TIMES}

    assert [event.cat for event in decoded(unknown)] == ["of a later version"]


@pytest.mark.parametrize("category", [INSTANTS[0], None])
def test_a_memory_event_has_its_bytes_with_a_category_or_without(category):
    event = {"ph": "i", "name": "[memory]", "ts": 1, "args": {"Total Allocated": 5}}
    event |= {"cat": category} if category else {}

    (instant,) = decoded(event)

    assert (instant.cat, instant.args.allocated) == (category or "", 5)
    assert not isinstance(instant, TraceCall)


def test_an_instant_of_a_calls_category_beside_an_unknown_one_is_left_out():
    instant = {"ph": "i", "cat": "kernel", "name": "n", "ts": 1}

    assert decoded(instant, {"ph": "M", "name": "process_name"}) == []


@pytest.mark.parametrize(("phase", "count"), [("X", 1), ("i", 0), ("s", 0), ("B", 1)])
def test_one_event_is_decoded_by_its_phase(phase, count):
    assert len(decode_event(json.dumps({"ph": phase, "cat": "kernel", "name": "n"}))) == count


NAMES = st.sampled_from(["a", "[memory]", "b"])
EVENTS = st.fixed_dictionaries(
    {"ph": st.just("X"), "cat": st.sampled_from(sorted(KINDS)), "name": NAMES},
    optional={"ts": st.floats(0, 9), "dur": st.floats(0, 9), "pid": st.integers(0, 3)},
)


@settings(max_examples=50)
@given(st.lists(EVENTS, max_size=6))
def test_calls_are_the_same_by_category_and_by_phase(events):
    label = {"ph": "M", "name": "process_name"}

    by_category, by_phase = decoded(*events), decoded(*events, label)

    fields = ("cat", "name", "pid", "ts", "dur")
    assert [[getattr(one, field) for field in fields] for one in by_category] == [
        [getattr(one, field) for field in fields] for one in by_phase
    ]
