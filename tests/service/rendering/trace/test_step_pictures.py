from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from perfledger.profile import Bucket, MemoryPoint
from perfledger.records import Side
from perfledger_profiles.diff.cause import BucketChange, StepTimeExplanation
from perfledger_service.rendering.trace.step_pictures import (
    MAX_PICTURED,
    StepPictures,
    step_pictures,
    steps_data,
)

BUCKETS = (
    BucketChange(bucket=Bucket.COMPUTE, base_seconds=0.004, head_seconds=0.005),
    BucketChange(bucket=Bucket.COPY, base_seconds=0.001, head_seconds=0.001),
)
USED = (MemoryPoint(seconds=0.0, allocated_bytes=2.0**30, device="cuda:0"),)


@pytest.fixture
def diff_explanation():
    def explanation(workload):
        return StepTimeExplanation(
            workload=workload,
            base_step_seconds=0.01,
            head_step_seconds=0.01,
            causes=(),
            rest_seconds=0.0,
            is_attributable=True,
        )

    return explanation


@pytest.fixture
def sides(make):
    """Return the profiles of base and head of one workload."""
    return make.profile(Side.BASE, softmax_s=0.001), make.profile(Side.HEAD)


def test_a_checks_page_has_the_roofline_of_its_head(make, diff_explanation):
    head = make.profile()
    roofs = {head.workload: make.trace_view().roof}

    (pictures,) = step_pictures([diff_explanation(head.workload)], [head], roofs=roofs)
    (without,) = step_pictures([diff_explanation(head.workload)], [head], roofs={})

    assert "under the roof of bfloat16" in pictures.roofline
    assert without.roofline == ""


def test_both_sides_are_drawn_to_one_scale_with_their_kernels_beside_each_other(
    make, diff_explanation, sides
):
    explanation = replace(diff_explanation(make.GPT), buckets=BUCKETS)

    (pictures,) = step_pictures([explanation], sides, roofs={})

    assert "bucket by bucket" in pictures.waterfall
    assert [side for side, _ in pictures.timelines] == ["base", "head"]
    assert all("One step of" in svg for _, svg in pictures.timelines)
    assert pictures.rows
    assert (pictures.is_of_kernels, pictures.data) == (True, 0)
    for drawn in (pictures.waterfall, *(svg for _, svg in pictures.timelines)):
        ElementTree.fromstring(drawn)


def test_one_side_alone_has_its_timeline_and_no_rows(make, diff_explanation, sides):
    (pictures,) = step_pictures([diff_explanation(make.GPT)], sides[1:], roofs={})

    assert [side for side, _ in pictures.timelines] == ["head"]
    assert pictures.rows == ()


def test_memory_is_drawn_where_it_was_recorded_and_else_is_said_how(make, diff_explanation, sides):
    base, head = sides

    (pictures,) = step_pictures(
        [diff_explanation(make.GPT)], (replace(base, memory=USED), head), roofs={}
    )

    assert [side for side, _ in pictures.memories] == ["base"]
    assert "Memory in use on base: cuda:0" in pictures.memories[0][1]
    ((side, note),) = pictures.unrecorded
    assert side == "head"
    assert "profile_memory=True" in note


def test_a_workload_without_profiles_has_no_pictures_and_no_data(make, diff_explanation, sides):
    explanations = [diff_explanation("m:other"), diff_explanation(make.GPT)]

    without, with_profiles = step_pictures(explanations, sides, roofs={})

    assert without == StepPictures()
    assert with_profiles.data == 0
    assert len(steps_data(explanations, sides)) == 1


def test_profiles_without_slices_have_pictures_and_no_data(make, diff_explanation, sides):
    bare = [replace(profile, slices=()) for profile in sides]

    (pictures,) = step_pictures([diff_explanation(make.GPT)], bare, roofs={})

    assert (pictures.data, pictures.timelines) == (None, ())
    assert pictures.rows
    assert steps_data([diff_explanation(make.GPT)], bare) == ()


def test_the_workloads_that_changed_most_are_pictured_and_the_data_follows(diff_explanation, sides):
    names = [f"m:f{number}" for number in range(MAX_PICTURED + 2)]
    explanations = [diff_explanation(name) for name in names]
    profiles = [replace(profile, workload=name) for name in names for profile in sides]

    pictures = step_pictures(explanations, profiles, roofs={})
    data = steps_data(explanations, profiles)

    assert [one.data for one in pictures] == [*range(MAX_PICTURED), None, None]
    assert [one["title"] for one in data] == [
        f"base and head of {name}" for name in names[:MAX_PICTURED]
    ]


def test_a_viewer_is_handed_both_sides_of_a_step(make, diff_explanation, sides):
    evil = f"{make.GPT}\u202e"
    profiles = [replace(profile, workload=evil) for profile in sides]

    (handed,) = steps_data([diff_explanation(evil)], profiles)

    assert handed["title"] == f"base and head of {make.GPT}"
    assert handed["file_name"] == "perfledger-steps.json"
    trace: Any = handed["trace"]
    events = trace["traceEvents"]
    assert {event["pid"] for event in events} == {1, 2}
