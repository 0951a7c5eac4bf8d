from dataclasses import replace
from xml.etree import ElementTree

import pytest

from perfledger.profile import Bucket, MemoryPoint
from perfledger.records import Side
from perfledger_profiles.diff.cause import BucketChange, StepTimeExplanation
from perfledger_service.rendering.trace.step_pictures import (
    MAX_DRAWN,
    MAX_PICTURED,
    StepPictures,
    sides_of,
    step_pictures,
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
    roofs = {(head.workload, Side.HEAD): make.trace_view().roof}

    (pictures,) = step_pictures([diff_explanation(head.workload)], [head], roofs=roofs)
    (without,) = step_pictures([diff_explanation(head.workload)], [head], roofs={})

    ((side, roofline),) = pictures.rooflines
    assert side == "head"
    assert "Roofline of head" in roofline
    assert "under the roof of bfloat16" in roofline
    assert without.rooflines == ()


def test_both_sides_are_drawn_to_one_scale_with_their_kernels_beside_each_other(
    make, diff_explanation, sides
):
    explanation = replace(diff_explanation(make.GPT), buckets=BUCKETS)

    (pictures,) = step_pictures([explanation], sides, roofs={})

    assert "bucket by bucket" in pictures.waterfall
    assert [side for side, _ in pictures.timelines.sides] == ["base", "head"]
    assert all("One step of" in svg for _, svg in pictures.timelines.sides)
    assert pictures.rows
    assert (pictures.is_of_kernels, pictures.has_steps) == (True, True)
    for picture in (pictures.waterfall, *(svg for _, svg in pictures.timelines.sides)):
        ElementTree.fromstring(picture)


def test_one_side_alone_has_its_timeline_and_no_rows(make, diff_explanation, sides):
    (pictures,) = step_pictures([diff_explanation(make.GPT)], sides[1:], roofs={})

    assert [side for side, _ in pictures.timelines.sides] == ["head"]
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


def test_a_workload_without_profiles_has_no_pictures(make, diff_explanation, sides):
    explanations = [diff_explanation("m:other"), diff_explanation(make.GPT)]

    without, with_profiles = step_pictures(explanations, sides, roofs={})

    assert without == StepPictures()
    assert with_profiles.has_steps
    assert sides_of("m:other", {}) == {}


def test_profiles_without_slices_have_pictures_and_no_steps(make, diff_explanation, sides):
    bare = [replace(profile, slices=()) for profile in sides]

    (pictures,) = step_pictures([diff_explanation(make.GPT)], bare, roofs={})

    assert (pictures.has_steps, pictures.timelines) == (False, None)
    assert pictures.rows


def test_the_workload_that_changed_most_has_its_steps_drawn_and_others_a_page_of_theirs(
    diff_explanation, sides
):
    names = [f"m:f{number}" for number in range(MAX_PICTURED + 2)]
    profiles = [replace(profile, workload=name) for name in names for profile in sides]

    pictures = step_pictures([diff_explanation(name) for name in names], profiles, roofs={})

    is_drawn = [True] * MAX_DRAWN + [False] * (len(names) - MAX_DRAWN)
    assert [one.timelines is not None for one in pictures] == is_drawn
    assert [one.flames is not None for one in pictures] == is_drawn
    assert [one.has_steps for one in pictures] == [True] * MAX_PICTURED + [False] * 2
    assert [bool(one.rows) for one in pictures] == [True] * MAX_PICTURED + [False] * 2
