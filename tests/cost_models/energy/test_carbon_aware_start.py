"""The best start of a job, compared with every other possible start."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.energy.carbon_aware_start import (
    MAX_KW,
    DeferrableJob,
    StartWindowError,
    start_window,
)
from perfledger_cost_models.energy.hourly_csv import HourlySeries
from perfledger_cost_models.energy.start_objective import StartObjective

START = 1_793_491_200.0  # 2026-11-01T00:00Z
HOUR = 3600.0
amounts = st.lists(st.integers(0, 9), min_size=4, max_size=9)


def series_of(values, *, usd=None, usd_per_kwh=None, step_s=3600):
    return HourlySeries(
        start_s=START,
        step_s=step_s,
        kg_per_kwh=None if values is None else tuple(map(float, values)),
        usd_per_hour=None if usd is None else tuple(map(float, usd)),
        usd_per_kwh=None if usd_per_kwh is None else tuple(map(float, usd_per_kwh)),
    )


def window_of(values, hours, *, usd=None, usd_per_kwh=None, aim=StartObjective.KG, **more):
    series = series_of(values, usd=usd, usd_per_kwh=usd_per_kwh)
    task = {"earliest_s": START, "deadline_s": series.end_s, "kw": 1.0}
    return start_window(DeferrableJob(hours=hours, **(task | more)), series, aim=aim)


def priced_window_of(usd, hours, **more):
    return window_of(None, hours, usd=usd, aim=StartObjective.USD, **more)


def hours_of(plan):
    return [((start - START) / HOUR, (end - START) / HOUR) for start, end in plan.runs]


def test_a_job_starts_where_it_emits_least():
    found_start_window = window_of([5, 4, 1, 1, 6], 2)

    assert hours_of(found_start_window.best) == [(2, 4)]
    assert (
        found_start_window.at_once.kg,
        found_start_window.best.kg,
        found_start_window.saved_kg,
    ) == (9, 2, 7)


def test_a_job_may_begin_and_end_within_an_hour():
    found_start_window = window_of([5, 1, 2, 5], 1.5)

    assert hours_of(found_start_window.best) == [(1, 2.5)]
    assert found_start_window.best.kg == pytest.approx(2)


def test_the_earliest_of_equal_times_wins():
    assert hours_of(window_of([1, 1, 1, 1], 2).best) == [(0, 2)]
    assert hours_of(window_of([0.1, 0.3, 0.2, 0.1, 0.3, 0.2], 3, pause_hours=0.0).best)[0][0] == 0


def test_money_and_kilograms_are_of_the_same_plan():
    found_start_window = window_of([1, 9], 1, usd=[7, 2], aim=StartObjective.USD)

    assert hours_of(found_start_window.best) == [(1, 2)]
    assert (found_start_window.saved_usd, found_start_window.saved_kg) == (5, -8)


def test_hours_that_begin_between_minutes_are_taken_to_the_minute():
    series = HourlySeries(start_s=START + 30, step_s=3600, kg_per_kwh=(1.0, 2.0), usd_per_hour=None)
    task = DeferrableJob(hours=1.5, earliest_s=series.start_s, deadline_s=series.end_s, kw=1.0)

    assert start_window(task, series, aim=StartObjective.KG).best.runs[0][0] == START + 60


def test_kilograms_are_not_known_without_power():
    found_start_window = window_of([2, 1], 1, kw=None)

    assert (found_start_window.saved_kg, found_start_window.saved_usd) == (None, None)
    assert (found_start_window.at_once.kg_per_kwh, found_start_window.best.kg_per_kwh) == (2, 1)


def test_a_job_that_may_pause_leaves_the_worst_hours_out():
    found_start_window = window_of([1, 9, 1, 9, 1], 3, pause_hours=0.0)

    assert hours_of(found_start_window.best) == [(0, 1), (2, 3), (4, 5)]


def test_a_pause_that_costs_more_than_it_saves_is_not_made():
    dear = window_of([3, 4, 3], 2, pause_hours=0.5)
    cheap = window_of([3, 9, 3, 3], 2, pause_hours=0.5, deadline_s=START + 4 * HOUR)

    assert hours_of(dear.best) == [(0, 2)]
    assert hours_of(cheap.best) == [(2, 4)]


def test_going_on_takes_its_time_and_is_counted():
    found_start_window = window_of([1, 9, 9, 9, 1, 1], 2, pause_hours=0.5)

    assert hours_of(found_start_window.best) == [(4, 6)]
    assert window_of([1, 9, 9, 9, 1, 1], 2.5, pause_hours=0.5).best.hours == 3


@settings(deadline=None, max_examples=80)
@given(amounts, st.integers(1, 4))
def test_free_pauses_find_the_cheapest_hours_of_all(values, hours):
    hours = min(hours, len(values))

    found_start_window = window_of(values, hours, pause_hours=0.0)

    assert found_start_window.best.kg == pytest.approx(sum(sorted(values)[:hours]))


@settings(deadline=None, max_examples=80)
@given(amounts, st.integers(1, 4), st.integers(1, 2))
def test_costly_pauses_are_the_best_of_every_choice_of_hours(values, hours, pause):
    hours = min(hours, len(values))

    found_start_window = window_of(values, hours, pause_hours=float(pause))

    assert found_start_window.best.kg == pytest.approx(best_of_all(values, hours, pause))
    assert found_start_window.best.kg <= window_of(values, hours).best.kg + 1e-9


def best_of_all(values, hours, pause):
    """Return the least sum over all sets of hours in which each stretch but one loads first."""
    costs = []
    for count in range(hours, len(values) + 1):
        for chosen in combinations(range(len(values)), count):
            stretches = 1 + sum(b - a > 1 for a, b in pairwise(chosen))
            if count == hours + pause * (stretches - 1) and each_works(chosen, pause):
                costs.append(sum(values[hour] for hour in chosen))
    return min(costs)


def each_works(chosen, pause):
    """Whether every stretch after the first is longer than its loading."""
    lengths, before = [], None
    for hour in chosen:
        if before is None or hour - before > 1:
            lengths.append(0)
        lengths[-1] += 1
        before = hour
    return all(length > pause for length in lengths[1:])


@settings(deadline=None, max_examples=60)
@given(amounts, st.integers(1, 16), st.sampled_from([None, 0.0, 0.25]))
def test_waiting_never_emits_more_and_all_work_is_done(values, quarters, pause):
    hours = min(quarters / 4, len(values))

    found_start_window = window_of(values, hours, pause_hours=pause)

    assert found_start_window.best.kg <= found_start_window.at_once.kg + 1e-9
    assert found_start_window.best.hours == pytest.approx(
        hours + (pause or 0) * (len(found_start_window.best.runs) - 1)
    )
    assert found_start_window.best.runs[-1][1] <= START + HOUR * len(values)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"hours": 0.0}, "hours above 0"),
        ({"hours": float("nan")}, "is nan"),
        ({"hours": 5.0}, "after the deadline"),
        ({"hours": 1.0, "pause_hours": -1.0}, "0 or more"),
        ({"hours": 1.0, "deadline_s": START + 9 * HOUR}, "does not cover"),
        ({"hours": 1.0, "earliest_s": START - HOUR}, "does not cover"),
        ({"hours": 1.0, "kw": 0.0}, "a power of 0 kW"),
        ({"hours": 1.0, "kw": float("nan")}, "a power of NaN kW"),
        ({"hours": 1.0, "kw": 1e7}, "up to 1,000,000"),
        ({"hours": 1.0, "aim": StartObjective.USD}, "no values of usd"),
    ],
)
def test_an_impossible_job_is_an_error(more, says):
    with pytest.raises(StartWindowError, match=says):
        window_of([1, 2, 3, 4], **more)


def test_so_many_ticks_that_memory_would_run_out_are_an_error():
    values = [1.0] * 10_000
    with pytest.raises(StartWindowError, match="too many"):
        window_of(values, 4000.017, pause_hours=0.0)


def test_a_job_that_ends_too_late_says_by_how_many_hours():
    with pytest.raises(StartWindowError, match=r"ends 1\.5 h after the deadline"):
        window_of([1, 1], 3.5)


def test_a_pause_of_one_minute_costs_that_minute_again():
    """Twelve minutes of work in two parts, with a minute to resume, in the two cheap stretches."""
    minutes = [9] * 5 + [0] * 6 + [9] * 5 + [0] * 7 + [9] * 5
    series = series_of(minutes, step_s=60)
    task = DeferrableJob(
        hours=12 / 60,
        earliest_s=START,
        deadline_s=START + 60 * len(minutes),
        kw=1.0,
        pause_hours=1 / 60,
    )

    best = start_window(task, series, aim=StartObjective.KG).best

    assert [((start - START) / 60, (end - START) / 60) for start, end in best.runs] == [
        (5, 11),
        (16, 23),
    ]
    assert best.kg == 0


def test_a_job_of_less_than_an_hour_and_a_power_of_the_limit_are_taken():
    found_start_window = window_of([2, 1], 0.5, kw=MAX_KW)

    assert hours_of(found_start_window.best) == [(1, 1.5)]
    with pytest.raises(StartWindowError, match="a power of"):
        window_of([2, 1], 0.5, kw=MAX_KW * 1.001)
    with pytest.raises(StartWindowError, match="above 0"):
        window_of([2, 1], 0.0)


def test_a_job_and_a_pause_of_a_minute_are_the_shortest():
    found_start_window = window_of([9, 1, 9], 1 / 60, pause_hours=1 / 60, kw=0.5)

    assert hours_of(found_start_window.best) == [(1, pytest.approx(1 + 1 / 60))]
    assert found_start_window.best.kg == pytest.approx(0.5 / 60)
    for hours, pause in ((0.0, None), (-1 / 60, None), (1.0, -1 / 60 - 1e-6)):
        with pytest.raises(StartWindowError, match="hours above 0"):
            window_of([9, 1, 9], hours, pause_hours=pause)


def test_a_job_runs_when_it_is_paid_most_for_its_power():
    found_start_window = priced_window_of([3, -1, -4, -2, 5], 2)

    assert hours_of(found_start_window.best) == [(2, 4)]
    assert (
        found_start_window.at_once.usd,
        found_start_window.best.usd,
        found_start_window.saved_usd,
    ) == (2, -6, 8)


def test_the_earliest_of_equal_times_wins_at_negative_prices():
    assert hours_of(priced_window_of([-1, -1, -1], 2).best) == [(0, 2)]
    assert hours_of(priced_window_of([-0.1, -0.3, -0.2] * 2, 3).best) == [(0, 3)]
    assert hours_of(priced_window_of([0, 0, 0], 1).best) == [(0, 1)]


def test_a_price_of_power_is_that_of_the_jobs_power():
    found_start_window = window_of(
        None, 2, usd_per_kwh=[0.1, -0.02, 0.05], aim=StartObjective.USD, kw=40.0
    )

    assert hours_of(found_start_window.best) == [(1, 3)]
    assert (found_start_window.at_once.usd, found_start_window.best.usd) == (
        pytest.approx(3.2),
        pytest.approx(1.2),
    )
    with pytest.raises(StartWindowError, match="mean power"):
        window_of(None, 2, usd_per_kwh=[0.1, 0.2], aim=StartObjective.USD, kw=None)


def test_no_pause_is_made_to_be_paid_for_resuming():
    found_start_window = priced_window_of([-5, -5, -5, -5, 3], 2, pause_hours=1.0)

    assert hours_of(found_start_window.best) == [(0, 2)]
    assert found_start_window.best.usd == -10


def test_a_pause_that_ends_at_once_is_a_pause():
    """Resuming fills the middle hour, which is worth less than the others."""
    found_start_window = priced_window_of([-3, -1, -3], 2, pause_hours=1.0)

    assert hours_of(found_start_window.best) == [(0, 1), (1, 3)]
    assert (found_start_window.best.hours, found_start_window.best.usd) == (3, -7)


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.integers(-9, 9), min_size=4, max_size=9),
    st.integers(1, 4),
    st.sampled_from([None, 0, 1, 2]),
)
def test_negative_prices_have_the_best_of_every_choice_of_hours(values, hours, pause):
    hours = min(hours, len(values))

    found_start_window = priced_window_of(
        values, hours, pause_hours=None if pause is None else float(pause)
    )

    assert counted_cost(found_start_window.best, values, pause or 0) == least_cost(
        values, hours, pause
    )


def counted_cost(plan, values, pause):
    """Return the cost of a plan in which resuming at a negative price is free."""
    cost = 0
    for place, (start, end) in enumerate(hours_of(plan)):
        hours = range(int(start), int(end))
        loading = set(hours[:pause]) if place else set()
        cost += sum(max(values[hour], 0) if hour in loading else values[hour] for hour in hours)
    return cost


def least_cost(values, work, pause, *, is_running=False, may_start=True):
    """Return the least cost of the work left, hour by hour; infinite where it does not fit."""
    if not work:
        return 0
    if not values:
        return float("inf")
    costs = []
    if is_running or may_start or pause == 0:
        after = least_cost(values[1:], work - 1, pause, is_running=True, may_start=False)
        costs.append(values[0] + after)
    if not is_running or pause is not None:
        costs.append(least_cost(values[1:], work, pause, may_start=may_start))
    if pause and not may_start and len(values) > pause:
        loading = sum(max(each, 0) for each in values[:pause])
        rest = least_cost(values[pause + 1 :], work - 1, pause, is_running=True, may_start=False)
        costs.append(loading + values[pause] + rest)
    return min(costs)
