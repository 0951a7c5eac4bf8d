import math

import pytest

from perfledger.records import FailureReason, Side
from perfledger_baselines.judging.work_evidence import DOUBT, MIN_GAIN, GainDoubt, WorkDoubts

ANY, LARGE, HUGE = GainDoubt("it waits"), GainDoubt("no check", 0.5), GainDoubt("no counts", 0.9)


def doubts(*gains):
    return WorkDoubts(failures=(), gains={"m:f": gains}, advice="give it a check")


@pytest.mark.parametrize(
    ("gain", "reason"),
    [
        (0.91, "no counts"),
        (0.9, "no check"),
        (0.51, "no check"),
        (0.5, ""),
        (-0.2, ""),
        (math.nan, ""),
    ],
)
def test_the_first_doubt_that_applies_to_a_gain_is_the_reason(gain, reason):
    order = (HUGE, LARGE)

    failures = doubts(*order).unproven_gains({"m:f": gain})

    assert bool(failures) is bool(reason)
    assert all(reason in failure.detail for failure in failures.values())


@pytest.mark.parametrize("gain", [-0.5, 0.0, 0.3, math.nan])
def test_a_doubt_without_a_limit_applies_to_every_gain(gain):
    assert "it waits" in doubts(ANY, LARGE).unproven_gains({"m:f": gain})["m:f"].detail


@pytest.mark.parametrize(
    ("gain", "share"), [(0.6, "it is 60 % faster, and "), (MIN_GAIN, ""), (-0.3, "")]
)
def test_the_failure_is_of_head_and_says_what_settles_the_doubt(gain, share):
    failure = doubts(ANY).unproven_gains({"m:f": gain})["m:f"]

    assert (failure.workload, failure.side) == ("m:f", Side.HEAD)
    assert failure.why is FailureReason.UNPROVEN
    assert failure.detail == f"{DOUBT}: {share}it waits; give it a check"


def test_a_workload_without_doubts_has_no_failure():
    assert doubts().unproven_gains({"m:f": 0.99, "m:g": 0.99}) == {}
