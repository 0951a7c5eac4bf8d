"""Two steps become a file that keeps the rules of speedscope's format."""

import json
from dataclasses import replace

import pytest

from perfledger.records import Side
from perfledger_profiles.export.speedscope import SCHEMA
from perfledger_profiles.flame_graph.speedscope_stacks import speedscope_stacks
from tests.cases import case
from tests.runners.profiles.flame_graph.test_frame_tree import (
    DIGITS,
    operation,
    profile,
    recorded,
)
from tests.runners.profiles.test_golden_profiles import PAIRS

UNITS = {"bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"}


def assert_keeps_the_schema(document):
    """Hold a file against the required fields and types of speedscope's published schema."""
    assert set(document) <= {
        *("$schema", "activeProfileIndex", "exporter", "name", "profiles", "shared")
    }
    assert document["$schema"] == SCHEMA
    frames = document["shared"]["frames"]
    assert all(isinstance(one["name"], str) for one in frames)
    assert isinstance(document["activeProfileIndex"], int)
    for one in document["profiles"]:
        assert set(one) == {
            *("type", "name", "unit", "startValue", "endValue", "samples", "weights")
        }
        assert (one["type"], one["unit"] in UNITS) == ("sampled", True)
        assert len(one["samples"]) == len(one["weights"])
        assert all(0 <= place < len(frames) for sample in one["samples"] for place in sample)
        assert all(weight >= 0 for weight in one["weights"])
        assert one["endValue"] - one["startValue"] == pytest.approx(sum(one["weights"]))


def test_recorded_steps_are_two_profiles_that_add_up_to_them():
    for base_name, head_name in PAIRS:
        with case(base=base_name, head=head_name):
            base, head = recorded(base_name, Side.BASE), recorded(head_name, Side.HEAD)

            document = json.loads(speedscope_stacks(base, head, name="x"))

            assert_keeps_the_schema(document)
            ends = [one["endValue"] for one in document["profiles"]]
            assert ends == pytest.approx([base.step_seconds, head.step_seconds], rel=DIGITS)


def test_both_sides_share_their_frames():
    shared = operation("add", 1.0, path="forward")
    sides = (profile(shared, side=Side.BASE), profile(shared, operation("mul<b>\x00", 2.0)))

    document = json.loads(speedscope_stacks(*sides, name="a and b"))

    assert [one["name"] for one in document["shared"]["frames"]] == ["forward", "add", "mul<b>"]
    base, head = document["profiles"]
    assert base["name"] == "base: mean of 3 profiled steps"
    assert (base["samples"], base["weights"]) == ([[0, 1]], [1.0])
    assert (head["samples"], head["weights"]) == ([[2], [0, 1]], [2.0, 1.0])


def test_a_file_of_sums_is_one_recording():
    whole_profile = replace(profile(operation("add", 1.0)), has_steps=False, steps=1)

    document = json.loads(speedscope_stacks(whole_profile, whole_profile, name="x"))

    assert document["profiles"][1]["name"] == "head: the whole recording"
