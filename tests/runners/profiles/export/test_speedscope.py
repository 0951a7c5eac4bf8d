"""The calls of a recording become a file that keeps the rules of speedscope's format."""

import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_profiles import __main__ as command
from perfledger_profiles.export import speedscope as speedscope_module
from perfledger_profiles.export.all_calls import (
    LaneCalls,
    RecordedCalls,
)
from perfledger_profiles.export.speedscope import (
    MAX_TRACKS,
    SCHEMA,
)
from perfledger_profiles.formats import read_calls
from perfledger_profiles.parsing.errors import ProfileError
from tests.suite.tries import tries

NAMES = ("a", "b", "<c>\x00")
lanes = st.lists(
    st.tuples(
        st.booleans(),
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 9)), min_size=1),
    ),
    max_size=3,
)


def lane(calls, *, is_device=False):
    name, start, length = np.array(calls, dtype=np.int64).T
    return LaneCalls(
        lane="stream 7" if is_device else "thread 1",
        is_device=is_device,
        name=name,
        start_ns=start,
        end_ns=start + length,
    )


def document(calls):
    return json.loads("".join(speedscope_module.speedscope(calls, name="trace.json")))


def spans(profile):
    """Hold a profile against the format's rules; return its calls as (frame, start, end)."""
    assert (profile["type"], profile["unit"]) == ("evented", "nanoseconds")
    at, opened, calls = profile["startValue"], [], []
    for event in profile["events"]:
        assert at <= event["at"] <= profile["endValue"]
        at = event["at"]
        if event["type"] == "O":
            opened.append((event["frame"], at))
        else:
            frame, start = opened.pop()
            assert (event["type"], event["frame"]) == ("C", frame)
            calls.append((frame, start, at))
    assert opened == []
    return calls


@given(lanes)
@settings(max_examples=tries(80))
def test_every_call_is_in_a_file_that_keeps_the_rules_of_its_format(trace_sample):
    calls = RecordedCalls(names=NAMES, lanes=tuple(lane(c, is_device=d) for d, c in trace_sample))

    found_document = document(calls)

    assert found_document["$schema"] == SCHEMA
    assert [frame["name"] for frame in found_document["shared"]["frames"]] == ["a", "b", "<c>"]
    assert sum(len(spans(profile)) for profile in found_document["profiles"]) == calls.count


def test_work_in_flight_at_once_has_tracks_beside_each_other():
    copies = lane([(0, 0, 10), (0, 5, 10), (1, 6, 2)], is_device=True)

    profiles = document(RecordedCalls(names=NAMES, lanes=(copies,)))["profiles"]

    assert [profile["name"] for profile in profiles] == ["stream 7", "stream 7 (2)"]
    assert sorted(spans(profiles[0])) == [(0, 0, 10), (1, 6, 8)]
    assert spans(profiles[1]) == [(0, 5, 15)]


def test_a_threads_call_ends_with_the_one_around_it():
    (profile,) = document(RecordedCalls(names=NAMES, lanes=(lane([(0, 0, 10), (1, 5, 6)]),)))[
        "profiles"
    ]

    assert sorted(spans(profile)) == [(0, 0, 10), (1, 5, 10)]


def test_tracks_are_bounded():
    many = lane([(0, n, 1000) for n in range(100)], is_device=True)

    assert len(document(RecordedCalls(names=NAMES, lanes=(many,)))["profiles"]) == MAX_TRACKS


def test_the_longest_calls_are_kept_and_the_file_says_what_is_not(monkeypatch):
    monkeypatch.setattr(speedscope_module, "MAX_CALLS", 2)
    host, stream = lane([(0, 0, 9), (1, 1, 1)]), lane([(0, 2, 5), (1, 20, 2)], is_device=True)
    calls = RecordedCalls(names=NAMES, lanes=(host, stream), dropped_events=3)

    found_document = document(calls)

    assert [spans(profile) for profile in found_document["profiles"]] == [[(0, 0, 9)], [(0, 2, 7)]]
    words = "the 2 shortest of 4 calls are left out; 3 events could not be read"
    assert speedscope_module.omission_note(calls) == words
    assert found_document["name"] == f"trace.json: {words}"


def test_all_steps_and_threads_of_a_trace_are_exported(trace, tmp_path, capsys):
    path = tmp_path / "trace.json.gz"
    steps = trace.step(1, 0, 100).step(2, 100, 100)
    path.write_bytes(steps.add("aten::mm", 0, 60).add("aten::mm", 100, 60).packed())

    status = command.main(["--speedscope", "auto", "trace.json.gz", "head", str(path)])

    note, _, text = capsys.readouterr().out.partition("\n")
    (profile,) = json.loads(text)["profiles"]
    assert (status, note) == (0, "")
    assert len(spans(profile)) == 4


def test_a_file_of_sums_has_no_timeline(tmp_path):
    path = tmp_path / "scrape"
    path.write_text('DCGM_FI_DEV_GPU_TEMP{gpu="0"} 61\n')

    with pytest.raises(ProfileError, match="scrape has no timeline to export"):
        read_calls(path)
