"""Memory where a profiler tells no totals, and what the most of it was."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger_profiles.timeline.memory import (
    MAX_POINTS,
    ONLY_CHANGES,
    totals_from_changes,
)
from perfledger_profiles.timeline.trace import UNKNOWN, MemoryInstants


@pytest.fixture
def changes(trace):
    """Return the points of a trace whose memory has changes only, as torch 1.9 wrote it."""
    trace.step(1, 0, 10_000)

    def changes(*bytes_, device=-1, begin=0):
        for time, changed in enumerate(bytes_, start=begin):
            text = {"Device Type": 0 if device < 0 else 1, "Device Id": device, "Bytes": changed}
            trace.events.append({"ph": "i", "name": "[memory]", "ts": time, "args": text})
        return trace.read()

    return changes


def test_changes_are_summed_from_the_least_in_the_file(changes):
    profile = changes(512, -1024, 4096, -4096)

    assert [point.allocated_bytes for point in profile.memory] == [1024.0, 0.0, 4096.0, 0.0]
    assert all(point.is_lower_bound for point in profile.memory)
    assert ONLY_CHANGES in profile.notes


def test_what_only_grows_is_counted_from_the_beginning(changes):
    assert [point.allocated_bytes for point in changes(512, 1024).memory] == [512.0, 1536.0]


def test_changes_of_devices_are_summed_apart(changes):
    changes(1000, 1000)
    profile = changes(64, 64, device=0, begin=2)

    peaks = {one.subject: one for one in profile.readings if one.name == "peak_mem_allocated"}
    assert {name: one.value for name, one in peaks.items()} == {"cpu": 2000.0, "cuda:0": 128.0}
    assert all(one.is_estimate for one in peaks.values())


def test_sums_beyond_any_memory_are_no_points(changes):
    assert [point.allocated_bytes for point in changes(2**61, 2**61, 2**61).memory] == [2.0**61]


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=60))
def test_sums_are_never_negative_and_keep_every_change(bytes_):
    changed = np.array(bytes_, dtype=np.int64)
    place = np.arange(changed.size, dtype=np.int64)
    nothing = np.full(changed.shape, UNKNOWN, dtype=np.int64)
    record = MemoryInstants(
        time_ns=place,
        allocated_bytes=nothing,
        reserved_bytes=nothing,
        device=np.zeros_like(place),
        devices=("cpu",),
    )

    summed = totals_from_changes(record, changed).allocated_bytes

    assert summed.min() >= 0
    assert np.diff(summed).tolist() == changed[1:].tolist()


def test_the_most_in_use_and_held_are_readings(trace):
    trace.step(1, 0, 100)
    for time, (used, reserved) in enumerate([(5, 9), (7, 9), (6, 12)]):
        text = {
            "Device Type": 1,
            "Device Id": 0,
            "Total Allocated": used,
            "Total Reserved": reserved,
        }
        trace.events.append({"ph": "i", "name": "[memory]", "ts": time, "args": text})

    profile = trace.read()

    assert profile.reading("peak_mem_allocated", subject="cuda:0") == 7.0
    assert profile.reading("peak_mem_reserved", subject="cuda:0") == 12.0


def test_what_was_held_at_most_is_not_lost_where_points_are_left_out(trace):
    trace.step(1, 0, 10_000)
    for time in range(3000):
        used, reserved = (5, 12) if time == 1501 else (7 - time % 2, 9)
        text = {
            "Device Type": 1,
            "Device Id": 0,
            "Total Allocated": used,
            "Total Reserved": reserved,
        }
        trace.events.append({"ph": "i", "name": "[memory]", "ts": time, "args": text})

    profile = trace.read()

    assert len(profile.memory) == MAX_POINTS
    assert profile.reading("peak_mem_reserved", subject="cuda:0") == 12.0
