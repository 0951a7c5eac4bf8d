"""Two steps become one tree of frames that adds up to both."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import Side
from perfledger_profiles.flame_graph.frame_tree import (
    MAX_DEPTH,
    frame_tree,
    frames_below,
    stacks_of,
)
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS
from tests.cases import case
from tests.runners.profiles.example_trace import training_trace
from tests.runners.profiles.test_golden_profiles import PAIRS
from tests.suite.tries import tries

RECORDED = Path(__file__).parents[1] / "bottleneck" / "advice_cases"
# Their figures have four digits, and a step is rounded by itself.
DIGITS = 1e-3

names = st.sampled_from(("aten::mm", "sgemm_128x64_nn", "sgemm_64x64_nn", "(other operations)"))
operations = st.lists(
    st.builds(
        Operation,
        name=names,
        bucket=st.sampled_from(Bucket),
        seconds=st.floats(0.0, 1.0, allow_subnormal=False),
        count=st.just(1.0),
        path=st.lists(st.sampled_from(("forward", "layers.0", "layers.3")), max_size=3).map(
            "/".join
        ),
    ),
    max_size=12,
)


def operation(name, seconds, *, path="", bucket=Bucket.CPU):
    return Operation(name=name, bucket=bucket, seconds=seconds, count=1.0, path=path)


def profile(*listed, side=Side.HEAD, rest_s=0.0):
    return Profile(
        workload="m:f",
        side=side,
        tool="torch.profiler",
        steps=3,
        step_seconds=sum(one.seconds for one in listed) + rest_s,
        operations=listed,
    )


def recorded(name, side):
    record = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return replace(msgspec.convert({**record, "source": None}, Profile), side=side)


def assert_adds_up(tree):
    """Hold each frame against those in it."""
    for frame in (tree, *(one for _, one in frames_below(tree))):
        for side in ("base_seconds", "head_seconds"):
            inside = sum(getattr(one, side) for one in frame.frames)
            assert getattr(frame, side) - inside >= -1e-12 or inside == pytest.approx(
                getattr(frame, side)
            )


@given(operations, operations, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
@settings(max_examples=tries(60))
def test_the_frames_of_any_two_steps_add_up_to_both(before, after, before_rest, after_rest):
    base = profile(*before, side=Side.BASE, rest_s=before_rest)
    head = profile(*after, rest_s=after_rest)

    tree = frame_tree(base, head)

    assert tree.base_seconds == pytest.approx(base.step_seconds)
    assert tree.head_seconds == pytest.approx(head.step_seconds)
    assert sum(one.delta_seconds for one in tree.frames) == pytest.approx(
        head.step_seconds - base.step_seconds
    )
    assert_adds_up(tree)


def test_the_frames_of_recorded_steps_add_up_to_both():
    for base_name, head_name in PAIRS:
        with case(base=base_name, head=head_name):
            base, head = recorded(base_name, Side.BASE), recorded(head_name, Side.HEAD)

            tree = frame_tree(base, head)

            assert tree.base_seconds == pytest.approx(base.step_seconds, rel=DIGITS)
            assert tree.head_seconds == pytest.approx(head.step_seconds, rel=DIGITS)
            assert_adds_up(tree)


def test_the_frames_of_traces_that_are_read_add_up_to_their_steps():
    base, head = (training_trace(gemm_us=time).read() for time in (240, 320))

    tree = frame_tree(replace(base, side=Side.BASE), head)

    ends = (tree.base_seconds, tree.head_seconds)
    assert ends == pytest.approx((base.step_seconds, head.step_seconds), rel=1e-12)
    assert_adds_up(tree)


def test_a_step_has_no_change_against_itself():
    base = recorded("v100_dlrm", Side.BASE)

    tree = frame_tree(base, replace(base, side=Side.HEAD))

    assert all(one.delta_seconds == 0 for _, one in frames_below(tree))


def test_a_kernel_lies_in_the_operator_that_launched_it():
    kernel = operation("sgemm", 3.0, path="forward/aten::mm", bucket=Bucket.COMPUTE)
    own = operation("aten::mm", 1.0, path="forward")

    tree = frame_tree(profile(kernel, side=Side.BASE), profile(kernel, own))

    (forward,) = tree.frames
    (product,) = forward.frames
    assert (forward.name, forward.base_seconds, forward.head_seconds) == ("forward", 3.0, 4.0)
    assert (product.name, product.delta_seconds) == ("aten::mm", 1.0)
    assert [one.name for one in product.frames] == ["sgemm"]


def test_builds_and_instances_of_one_operation_are_one_frame():
    base = operation("ampere_sgemm_128x64_nn", 1.0, path="layers.0", bucket=Bucket.COMPUTE)
    head = operation("hopper_sgemm_64x64_nn", 2.0, path="layers.3", bucket=Bucket.COMPUTE)

    (layer,) = frame_tree(profile(base, side=Side.BASE), profile(head)).frames

    (product,) = layer.frames
    assert layer.name == "layers.3"
    assert (product.base_seconds, product.head_seconds) == (1.0, 2.0)


def test_a_frame_of_several_names_says_how_many():
    parts = [operation("add", 2.0, path=f"layers.{number}") for number in (1, 2)]

    (layer,) = frame_tree(profile(side=Side.BASE), profile(*parts)).frames

    assert layer.name == "layers.1 (+1)"


@pytest.mark.parametrize(("rest_s", "stacks"), [(0.8e-9, 1), (1.2e-9, 2)])
def test_time_of_no_operation_is_rounding_up_to_a_billionth_of_the_step(rest_s, stacks):
    assert len(stacks_of(profile(operation("add", 1.0), rest_s=rest_s))) == stacks


def test_time_of_no_operation_is_a_stack_of_its_own():
    stacks = stacks_of(profile(operation("add", 1.0), rest_s=2.0))

    assert [(one.names, one.seconds) for one in stacks] == [
        ((OUTSIDE_OPERATIONS,), 2.0),
        (("add",), 1.0),
    ]


def test_operations_deeper_than_a_picture_count_for_the_frame_around_them():
    deep = operation("add", 1.0, path="/".join("abcdefghij" * 10))

    tree = frame_tree(profile(deep, side=Side.BASE), profile(deep))

    depths = [depth for depth, _ in frames_below(tree)]
    assert max(depths) == MAX_DEPTH - 1
    assert tree.head_seconds == 1.0
