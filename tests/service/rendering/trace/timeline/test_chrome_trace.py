"""Steps as files for other viewers of traces."""

import json
from dataclasses import replace

import pytest

from perfledger_service.rendering.trace.timeline.chrome_trace import MAX_EVENTS, chrome_trace


def events_of(profiles):
    return json.loads(json.dumps(chrome_trace(profiles)))["traceEvents"]


def test_a_chrome_trace_has_a_process_for_each_side_and_a_thread_for_each_lane(make):
    events = events_of({"base": make.profile(), "head": make.profile()})
    names = [event["args"]["name"] for event in events if event["ph"] == "M"]

    assert names[:3] == ["base: the step nearest to the median", "host", "stream 7"]
    assert {event["pid"] for event in events} == {1, 2}
    (kernel,) = [e for e in events if e["name"] == "ampere_sgemm_128x64_tn" and e["pid"] == 2]
    assert (kernel["ts"], kernel["dur"], kernel["tid"]) == (1000.0, 3900.0, 2)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (10, "median, without its 10 shortest calls"),
        (1, "median, without its 1 shortest call"),
        (0, "nearest to the median"),
    ],
)
def test_a_chrome_trace_says_how_many_calls_it_leaves_out(make, more, words):
    one = make.profile().slices[0]
    count = MAX_EVENTS + more
    many = tuple(replace(one, start_seconds=float(n), seconds=0.5) for n in range(count))

    events = events_of({"head": replace(make.profile(), slices=many)})

    assert events[0]["args"]["name"].endswith(words)
    assert len(events) == MAX_EVENTS + 2


def test_a_call_has_its_part_of_the_step_and_each_step_begins_at_zero(make):
    document = chrome_trace({"head": make.profile()})
    calls = [event for event in events_of({"head": make.profile()}) if event["ph"] == "X"]

    assert document["displayTimeUnit"] == "ms"
    assert min(call["ts"] for call in calls) == 0.0
    assert {call["cat"] for call in calls} == {"CPU", "compute"}


def test_names_of_others_are_short_and_without_what_is_not_seen(make):
    one = make.profile().slices[0]
    evil = replace(one, lane="\u202elane", name="\x1b" + "x" * 1000)

    *_, lane, call = events_of({"head": replace(make.profile(), slices=(evil,))})

    assert lane["args"]["name"] == "lane"
    assert call["name"] == "x" * 199 + "\N{HORIZONTAL ELLIPSIS}"


def test_a_profile_without_slices_is_a_process_without_calls(make):
    (only,) = events_of({"head": replace(make.profile(), slices=())})

    assert only["args"]["name"] == "head: the step nearest to the median"
