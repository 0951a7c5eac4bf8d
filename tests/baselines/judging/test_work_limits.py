from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.records import Side
from perfledger.step_work import FLOPS, PROGRAM_MEMORY, Count, CountedWork, StepWork
from perfledger.work_limit import parse_work_limit
from perfledger_baselines.judging.work_limits import LimitOutcome, judge_work_limits

FLOP = Count(name=FLOPS, unit="FLOP", value=100.0, source="formulas")
MEMORY = Count(name=PROGRAM_MEMORY, unit="B", value=100.0, source="XLA")


def judged(rule, base, head, *, device_bytes=None):
    work = tuple(
        CountedWork(workload="m:f", side=side, work=StepWork(counts=(count,)))
        for side, count in zip(Side, (base, head), strict=True)
        if count is not None
    )
    (judged_limit,) = judge_work_limits(
        [parse_work_limit(rule)], work, ["m:f"], device_bytes=device_bytes
    )
    return judged_limit


def count(value, of=FLOP, **changes):
    return replace(of, value=value, **changes)


@pytest.mark.parametrize(
    ("head", "outcome"),
    [(105.0, "kept"), (105.01, "exceeded"), (10.0, "kept"), (1e9, "exceeded")],
)
def test_a_share_is_of_the_base_and_may_be_reached(head, outcome):
    limit = judged("flops > 5 %", FLOP, count(head))

    assert limit.outcome == outcome
    assert (limit.base, limit.head, limit.threshold) == (100.0, head, 105.0)


def test_any_work_is_more_than_none():
    assert judged("flops > 5 %", count(0.0), FLOP).outcome is LimitOutcome.EXCEEDED
    assert judged("flops > 5 %", count(0.0), count(0.0)).outcome is LimitOutcome.KEPT


@pytest.mark.parametrize(
    ("base", "head", "reason"),
    [
        (FLOP, None, "head has no such count"),
        (None, count(1e9), "base has no such count"),
        (FLOP, count(1e9, source="XLA"), "the sides were counted in different ways"),
        (count(1.0, is_complete=False), count(1e9), "base's count is not complete"),
        (FLOP, count(1e9, is_complete=False), "head's count is not complete"),
    ],
)
def test_what_cannot_be_compared_with_the_base_neither_keeps_nor_exceeds_a_limit(
    base, head, reason
):
    limit = judged("flops > 5 %", base, head)

    assert (limit.outcome, limit.reason) == (LimitOutcome.UNKNOWN, reason)


def test_a_lower_bound_above_an_absolute_limit_exceeds_it_and_one_below_keeps_nothing():
    incomplete = {"is_complete": False}

    above = judged("flops > 50 FLOP", None, count(51.0, **incomplete))
    below = judged("flops > 50 FLOP", None, count(49.0, **incomplete))

    assert above.outcome is LimitOutcome.EXCEEDED
    assert below.outcome is LimitOutcome.UNKNOWN
    assert judged("flops > 50 FLOP", None, count(50.0)).outcome is LimitOutcome.KEPT


def test_a_program_is_compared_with_the_memory_of_the_device():
    rule = "compiled_memory > device"

    assert judged(rule, None, MEMORY, device_bytes=99).outcome is LimitOutcome.EXCEEDED
    assert judged(rule, None, MEMORY, device_bytes=100).outcome is LimitOutcome.KEPT
    unknown = judged(rule, None, MEMORY)
    assert unknown.outcome is LimitOutcome.UNKNOWN
    assert unknown.reason == "the memory of the device is unknown"


NUMBERS = st.floats(min_value=0.0, max_value=1e18)


@given(NUMBERS, NUMBERS, st.booleans(), st.booleans())
def test_only_complete_counts_keep_a_limit(base, head, is_base_complete, is_head_complete):
    limit = judged(
        "flops > 5 %",
        count(base, is_complete=is_base_complete),
        count(head, is_complete=is_head_complete),
    )

    is_known = is_base_complete and is_head_complete
    assert (limit.outcome is LimitOutcome.UNKNOWN) == (not is_known)
    if is_known:
        assert (limit.outcome is LimitOutcome.EXCEEDED) == (head > base * 1.05)
