import math
from dataclasses import replace

import pytest

from perfledger.measuring.memory_watch import MAX_READINGS
from perfledger.metrics import METRICS, OPTIONAL_METRICS, STEP_TIME, MetricKind
from perfledger.records import CoreTimes, MemoryReadings
from perfledger_runners.children.reading_checks import (
    MAX_READING,
    MAX_STEPS,
    are_places,
    are_possible,
    are_possible_memories,
    fit_together,
    is_possible,
    is_utc,
)

SHARES = [m for m in (METRICS | OPTIONAL_METRICS).values() if m.kind is MetricKind.UTILIZATION]


@pytest.mark.parametrize("samples", [(1e-9,), (0.5, MAX_READING)])
def test_positive_finite_times_are_possible(samples):
    assert is_possible(STEP_TIME, samples)


@pytest.mark.parametrize(
    "samples", [(), (0.0,), (1.0, -1.0), (math.nan,), (math.inf,), (1.0, 2 * MAX_READING)]
)
def test_a_time_that_no_step_takes_is_impossible(samples):
    assert not is_possible(STEP_TIME, samples)


@pytest.mark.parametrize(("zeros", "expected"), [(1, True), (5, True), (6, False), (20, False)])
def test_up_to_a_quarter_of_the_times_may_be_zero(zeros, expected):
    assert is_possible(STEP_TIME, (0.0,) * zeros + (1e-6,) * (20 - zeros)) is expected


@pytest.mark.parametrize("metric", SHARES, ids=lambda metric: metric.name)
def test_shares_may_be_zero(metric):
    assert is_possible(metric, (0.0, 0.5))
    assert not is_possible(metric, (-0.5,))


def core_times(elapsed=1.0, queued=0.5, helpers=2.0, helper_waits=0.0, unseen=0.0):
    return CoreTimes(
        elapsed_s=(elapsed,),
        queued_s=(queued,),
        helpers_s=(helpers,),
        helper_waits_s=(helper_waits,),
        unseen_waits_s=(unseen,),
    )


OLDER_TIMES = CoreTimes(elapsed_s=(1.0,), queued_s=(0.5,), helpers_s=(2.0,))


@pytest.mark.parametrize(
    ("times", "readings"),
    [
        (core_times(), 1),
        (core_times(queued=1.0), 1),
        (replace(core_times(), cores=2), 1),
        (core_times(helper_waits=0.5), 1),
        (core_times(helper_waits=0.5, unseen=0.5), 1),
        (OLDER_TIMES, 1),
        (CoreTimes(), 1),
        (CoreTimes(), 0),
    ],
)
def test_core_times_are_one_for_each_cpu_time_or_none(times, readings):
    assert are_possible(times, readings=readings, turns=0)


@pytest.mark.parametrize(("turns", "count"), [(0, 1), (1, 1), (3, 3), (3, 1)])
def test_steps_that_are_too_short_for_cpu_time_have_core_times_of_their_turns(turns, count):
    column = (1.0,) * count
    times = CoreTimes(elapsed_s=column, queued_s=column, helpers_s=column)

    assert are_possible(times, readings=0, turns=turns)
    more = CoreTimes(elapsed_s=column * 2, queued_s=column * 2, helpers_s=column * 2)
    assert not are_possible(more, readings=0, turns=turns)
    assert not are_possible(times, readings=count + 1, turns=turns)


@pytest.mark.parametrize(
    ("times", "readings"),
    [
        pytest.param(core_times(), 2, id="too few"),
        pytest.param(CoreTimes(elapsed_s=(1.0,)), 1, id="a column is missing"),
        pytest.param(core_times(queued=1.1), 1, id="a wait longer than the step"),
        pytest.param(core_times(helper_waits=0.6), 1, id="both waits longer than the step"),
        pytest.param(core_times(helper_waits=0.5, unseen=0.6), 1, id="more unseen than in all"),
        pytest.param(core_times(helpers=-1.0), 1, id="negative"),
        pytest.param(replace(core_times(), cores=-1), 1, id="fewer than no cores"),
        pytest.param(replace(core_times(), cores=10**9), 1, id="more cores than any host has"),
        pytest.param(core_times(elapsed=math.nan), 1, id="not a number"),
        pytest.param(core_times(elapsed=2 * MAX_READING), 1, id="too large"),
    ],
)
def test_core_times_that_no_step_has_are_impossible(times, readings):
    assert not are_possible(times, readings=readings, turns=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-20T12:00:00+00:00", True),
        ("2026-11-20T12:00:00Z", True),
        ("2026-11-20T12:00:00+01:00", False),
        ("2026-11-20T12:00:00", False),
        ("yesterday", False),
    ],
)
def test_only_a_time_with_the_offset_of_utc_is_utc(text, expected):
    assert is_utc(text) is expected


@pytest.mark.parametrize(("seconds", "expected"), [(3.4e38, True), (3.41e38, False)])
def test_the_largest_reading_is_that_of_a_four_byte_float(seconds, expected):
    assert is_possible(STEP_TIME, (seconds,)) is expected


@pytest.mark.parametrize(
    ("ranks", "steps", "is_fine"),
    [
        ([], [1.0], True),
        ([], [], True),
        ([[1.0, 3.0], [2.0, 1.0]], [2.0, 3.0], True),
        ([[1.000000001], [1.0]], [1.0000000014], True),
        ([[1.0], [2.0]], [1.0], False),
        ([[1.0, 2.0], [1.0]], [1.0, 2.0], False),
        ([[2.0], [-1.0]], [2.0], False),
        ([[math.nan]], [1.0], False),
        ([[1.0]], [], False),
    ],
)
def test_a_step_takes_as_long_as_its_slowest_rank(ranks, steps, is_fine):
    assert fit_together(ranks, steps) is is_fine


@pytest.mark.parametrize(
    ("places", "devices", "is_fine"),
    [
        ((), 8, True),
        ((0,), 1, True),
        ((3, 1), 2, True),
        ((0, 3), 1, False),  # a device that nobody would see
        ((3,), 2, False),
        ((3, 3), 2, False),
        ((-1,), 1, False),
    ],
)
def test_each_device_of_a_step_has_its_place_or_none_is_known(places, devices, is_fine):
    assert are_places(places, devices=devices) is is_fine


@pytest.mark.parametrize(
    ("steps", "in_use", "is_fine"),
    [
        ((), (), True),
        ((0, 10), (5.0, 0.0), True),
        (range(MAX_READINGS), (1.0,) * MAX_READINGS, True),
        (range(MAX_READINGS + 1), (1.0,) * (MAX_READINGS + 1), False),
        ((0,), (), False),
        ((-1, 0), (1.0, 1.0), False),
        ((0, MAX_STEPS), (1.0, 1.0), True),
        ((0, MAX_STEPS + 1), (1.0, 1.0), False),
        ((0, 10**400), (1.0, 1.0), False),
        ((0, 0), (1.0, 1.0), False),
        ((1, 0), (1.0, 1.0), False),
        ((0,), (-1.0,), False),
        ((0,), (math.nan,), False),
        ((0,), (2 * MAX_READING,), False),
    ],
)
def test_memory_is_read_after_rising_numbers_of_steps(steps, in_use, is_fine):
    memory = MemoryReadings(steps=tuple(steps), in_use_bytes=in_use)

    assert are_possible_memories(memory) is is_fine
