"""Daily and weekly cycles: separated where each week predicts the others, and nowhere else."""

import math

import numpy as np
import pytest

from perfledger.time_units import SECONDS_PER_DAY, SECONDS_PER_WEEK
from perfledger_baselines.history.detection.detect import detect, detect_many
from perfledger_baselines.history.detection.observations import SeriesError
from perfledger_baselines.history.detection.tail_suspects import tail_suspects
from perfledger_baselines.history.detection.time_cycles import CycleBasis

COUNT, WEEKS = 400, 8
RNG = np.random.default_rng(1)


@pytest.fixture
def timed():
    """Return a function that makes logs in 0.5 % of noise with both cycles, and their times."""

    def timed(seed, *, size=0.015):
        rng = np.random.default_rng(seed)
        times = np.sort(rng.uniform(0, WEEKS * SECONDS_PER_WEEK, COUNT))
        local = times + np.where(
            times > WEEKS / 2 * SECONDS_PER_WEEK, 3600.0, 0.0
        )  # the clock changes
        logs = 0.005 * rng.standard_normal(COUNT)
        for period in (SECONDS_PER_DAY, SECONDS_PER_WEEK):
            logs += size * np.sin(2 * np.pi * (local / period + rng.random()))
        return logs, times

    return timed


def test_a_step_in_a_daily_and_weekly_cycle_is_found_once_times_are_known(timed, make):
    made_series = [timed(seed) for seed in range(8)]
    series = [make.series(logs, [(200, 0.02)]).tolist() for logs, _ in made_series]

    plain_series_findings = detect_many(series)
    series_findings = detect_many(series, times=[times.tolist() for _, times in made_series])

    assert sum(near(history, 200) for history in plain_series_findings) <= 1
    assert sum(near(history, 200) for history in series_findings) >= 7
    assert sum(len(history.changes) for history in series_findings) <= 9
    for history in series_findings:
        assert [cycle.period for cycle in history.cycles] == ["day", "week"]
        assert all(0.011 < cycle.size < 0.019 for cycle in history.cycles)


@pytest.mark.parametrize("period", [SECONDS_PER_DAY, SECONDS_PER_WEEK])
def test_the_other_period_of_a_cycle_is_hardly_ever_named_in_much_noise(make, period):
    rng = np.random.default_rng(2)
    times = np.sort(rng.uniform(0, WEEKS * SECONDS_PER_WEEK, (8, COUNT)), axis=1)
    logs = 0.05 * rng.standard_normal((8, COUNT)) + 0.15 * np.sin(2 * np.pi * times / period)
    series = [make.series(each).tolist() for each in logs]

    series_findings = detect_many(series, times=times.tolist())

    names = [cycle.period for history in series_findings for cycle in history.cycles]
    assert names.count("day" if period == SECONDS_PER_DAY else "week") == 8
    assert len(names) <= 9


def test_a_large_step_does_not_hide_the_cycle(timed, make):
    logs, times = timed(3)

    series_findings = detect(make.series(logs, [(150, 0.4)]), times=times)

    assert [change.index for change in series_findings.changes] == [150]
    assert series_findings.changes[0].change == pytest.approx(0.4, abs=0.01)
    assert len(series_findings.cycles) == 2


@pytest.mark.parametrize(
    "times",
    [
        np.full(COUNT, 1.7e9),
        np.full(COUNT, math.nan),
        np.arange(COUNT, dtype=np.float64),
        RNG.uniform(0, WEEKS * SECONDS_PER_WEEK, COUNT),
        np.sort(RNG.uniform(0, WEEKS * SECONDS_PER_WEEK, COUNT))[::-1],
        RNG.choice([-1e300, 0.0, 1e300, math.nan], COUNT),
    ],
    ids=["equal", "unknown", "ordinals", "random", "backwards", "absurd"],
)
def test_times_that_mean_nothing_change_nothing(make, times):
    values = make.series(make.noise(COUNT, seed=4), [(130, 0.03), (300, -0.05)])

    assert detect(values, times=times) == detect(values)


def test_no_step_is_taken_for_a_cycle_by_its_times(make):
    logs = [make.noise(COUNT, seed=seed, dependence=0.5) for seed in range(6)]
    series = [make.series(each, [(200, 0.05)]).tolist() for each in logs]
    times = np.linspace(0, WEEKS * SECONDS_PER_WEEK, COUNT).tolist()

    assert detect_many(series, times=[times] * 6) == detect_many(series)


@pytest.mark.parametrize("seed", [1, 2, 6, 11])
def test_times_that_are_forged_to_hide_a_step_make_it_a_suspect_at_best(timed, make, seed):
    logs, times = timed(seed)
    values = make.series(logs, [(200, 0.03)])
    forged = np.where(
        np.arange(COUNT) < 200, times, np.floor(times / SECONDS_PER_DAY) * SECONDS_PER_DAY + 10_000
    )

    plain_series_findings, series_findings = detect(values), detect(values, times=forged)

    assert near(plain_series_findings, 200, reach=10)
    places = [change.index for change in series_findings.changes]
    places += [change.index for change in series_findings.confounded_changes]
    assert any(abs(place - 200) <= 15 for place in places)


def test_commits_without_a_time_keep_their_values(timed):
    logs, times = timed(1)
    times[::10] = math.nan

    offsets = CycleBasis(times).offsets(logs, []).sum(axis=0)

    assert (offsets[::10] == 0).all()
    assert np.std(logs - offsets) < 0.8 * np.std(logs)


def test_the_end_of_a_cycle_is_no_suspect(timed, make):
    made_series = [timed(seed) for seed in range(8)]
    series = [make.series(logs).tolist() for logs, _ in made_series]

    assert tail_suspects(series, times=[times.tolist() for _, times in made_series]) == (None,) * 8


def test_a_series_of_one_week_shows_no_cycle(timed):
    _, times = timed(1)

    assert not CycleBasis(times[times < SECONDS_PER_WEEK]).can_show_cycle
    assert not CycleBasis(times[:30] * 8).can_show_cycle
    assert CycleBasis(times).can_show_cycle


@pytest.mark.parametrize(
    ("times", "message"),
    [([0.0] * 9, "has 9 times for 10 values"), ([0.0] * 9 + [math.inf], "has an infinite time")],
)
@pytest.mark.parametrize("epochs", [(), (5,), (9,)])
def test_times_that_cannot_be_are_refused(times, message, epochs):
    with pytest.raises(SeriesError, match=message):
        detect([1.0] * 10, times=times, epochs=epochs)


def near(history, place, *, reach=5):
    return any(abs(change.index - place) <= reach for change in history.changes)
