"""Counts are made by real children, or by a script that says what a child would."""

from dataclasses import replace

import pytest

from perfledger.records import Framework, Side, WorkloadSpec
from perfledger.step_work import FLOPS
from perfledger_runners.measuring.count_work import count_both

TORCH = """
import torch
@perfledger.workload(framework="torch")
def matmul():
    one = torch.ones({size}, {size})
    return lambda: one @ one
"""
JAX = """
import jax
@perfledger.workload(framework="jax")
def dot():
    one = jax.numpy.ones(({size}, {size}))
    multiply = jax.jit(lambda a: a @ a)
    return lambda: multiply(one)
"""


def spec(name, framework=Framework.TORCH):
    return WorkloadSpec(
        id=f"benchmarks.w:{name}", module="benchmarks.w", function=name, framework=framework
    )


@pytest.fixture
def roomy(harness):
    """A harness for torch and jax, which take more memory than plain Python."""
    return replace(harness, limits=replace(harness.limits, memory_bytes=None))


def flops(result):
    return {
        (each.workload.partition(":")[2], each.side): count.value
        for each in result
        for count in each.work.counts
        if count.name == FLOPS
    }


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_both_sides_are_counted_without_being_measured(roomy, sides):
    base, head = (TORCH.format(size=n) + JAX.format(size=n) for n in (8, 16))

    counted_works = count_both(
        roomy, sides(base, head), [spec("dot", Framework.JAX), spec("matmul"), spec("plain")]
    )

    assert flops(counted_works) == {
        ("dot", Side.BASE): 2 * 8**3,
        ("dot", Side.HEAD): 2 * 16**3,
        ("matmul", Side.BASE): 2 * 8**3,
        ("matmul", Side.HEAD): 2 * 16**3,
    }
    assert [each.workload for each in counted_works][:2] == ["benchmarks.w:dot"] * 2


@pytest.mark.slow(ci_only=True)
def test_both_sides_are_counted_at_once(roomy, sides):
    base, head = (JAX.format(size=n) for n in (8, 16))
    dot = [spec("dot", Framework.JAX)]

    counted_works = count_both(roomy, sides(base, head), dot, is_at_once=True)

    assert flops(counted_works) == {("dot", Side.BASE): 2 * 8**3, ("dot", Side.HEAD): 2 * 16**3}


def message(event, name="matmul", **fields):
    return {"event": event, "workload": f"benchmarks.w:{name}", **fields}


COUNT = {"name": FLOPS, "unit": "FLOP", "value": 5.0, "source": "a counter"}


@pytest.mark.parametrize("is_at_once", [False, True])
def test_what_a_child_says_is_kept(scripted, sides, is_at_once):
    counted = message(
        "counted", counts=[COUNT], limits=["a loop\x07"], program="abc", variant_remarks=["b\x07"]
    )
    harness = scripted({"event": "facts"}, message("started"), counted, {"event": "done"})

    base, head = count_both(harness, sides("pass"), [spec("matmul")], is_at_once=is_at_once)

    assert (base.side, head.side) == (Side.BASE, Side.HEAD)
    assert base.work == head.work
    assert base.work.counts[0].value == 5.0
    assert (base.work.limits, base.work.program) == (("a loop\ufffd",), "abc")
    assert base.work.variant_remarks == ("b\ufffd",)


def test_a_workload_that_fails_on_base_is_not_tried_on_head(scripted, sides):
    failed = message("failed", reason="raised", detail="KeyError: weights")
    harness = scripted({"event": "facts"}, message("started"), failed, {"event": "done"})

    (only,) = count_both(harness, sides("pass"), [spec("matmul")])

    assert only.side is Side.BASE
    assert only.work.counts == ()
    assert only.work.limits == ("not counted: raised: KeyError: weights",)


@pytest.mark.parametrize(("word", "is_complete"), [({}, True), ({"is_complete": False}, False)])
def test_a_count_is_complete_unless_its_child_says_otherwise(scripted, sides, word, is_complete):
    counted = message("counted", counts=[COUNT | word])
    harness = scripted({"event": "facts"}, message("started"), counted, {"event": "done"})

    base, _ = count_both(harness, sides("pass"), [spec("matmul")])

    assert base.work.counts[0].is_complete is is_complete


@pytest.mark.parametrize(
    "foreign",
    [
        *({"value": value} for value in (-1.0, 1e39, "many", None)),
        *({"is_complete": value} for value in (1, "yes", None, [])),
    ],
    ids=str,
)
def test_what_is_no_count_is_garbage(scripted, sides, foreign):
    counted = message("counted", counts=[COUNT | foreign])
    harness = scripted({"event": "facts"}, message("started"), counted, {"event": "done"})

    (only,) = count_both(harness, sides("pass"), [spec("matmul")])

    assert only.work.limits[0].startswith("not counted: garbage: ")


def test_plain_python_is_not_asked(scripted, sides):
    assert count_both(scripted(), sides("pass"), [spec("plain", Framework.HOST)]) == ()
