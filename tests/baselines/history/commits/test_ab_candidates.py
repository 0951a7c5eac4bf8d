from dataclasses import replace

import numpy as np
import pytest

from perfledger.metrics import STEP_TIME, family_metric
from perfledger_baselines.history.commits.ab_candidates import (
    CONFOUNDED_REACH,
    STRENGTH_OF_CHANGE,
    CandidateSeries,
    ab_candidates,
    family_candidates,
)
from perfledger_baselines.history.commits.attribution import CommitRange, Harm, Series
from perfledger_baselines.history.commits.confirmation_state import ConfirmationState
from perfledger_baselines.history.detection.tail_suspects import tail_suspects


def watched(values, *, workload="m:f", every=1):
    return CandidateSeries(
        series=Series(workload, STEP_TIME, "cpu:made up:1"),
        commits=tuple(range(0, every * len(values), every)),
        values=tuple(values.tolist()),
        pair_seconds=2.0,
    )


@pytest.mark.slow(ci_only=True)
def test_an_odd_end_is_a_candidate_of_the_newest_commit_against_one_surely_before(make):
    values = make.series(make.noise(60, seed=1), [(59, 0.06)])

    [ab_candidate] = ab_candidates([watched(values, every=3)])

    assert (ab_candidate.good, ab_candidate.bad, ab_candidate.newest) == (3 * 57, 3 * 59, 3 * 59)
    assert ab_candidate.harm is Harm.WORSE
    assert ab_candidate.pair_seconds == 2.0
    assert ab_candidate.strength < STRENGTH_OF_CHANGE


def test_a_change_of_a_young_stretch_is_measured_at_the_newest_commit(make):
    [young] = ab_candidates([watched(make.series(make.noise(100, seed=2), [(88, 0.06)]))])

    assert young.strength == STRENGTH_OF_CHANGE
    assert CommitRange(88, 88).distance(young.commits) == 0
    assert (young.bad, young.newest) == (99, 99)


@pytest.mark.parametrize("place", [30, 60, 80])
def test_a_change_of_twenty_observations_and_more_is_measured_where_it_happened(make, place):
    """Nobody may have measured it while it was young, and without an A/B it never alerts."""
    [old] = ab_candidates([watched(make.series(make.noise(100, seed=2), [(place, 0.06)]))])

    assert old.strength == STRENGTH_OF_CHANGE
    assert old.good < place <= old.bad < place + 5
    assert old.good >= place - 8
    assert old.newest == 99


def test_an_old_change_that_nobody_requested_leads_to_an_alert(make, ab):
    candidates = ab_candidates([watched(make.series(make.noise(100, seed=2), [(60, 0.06)]))])
    state, requests = ab.request(ConfirmationState(), *candidates)
    alerts = []
    for _ in range(10):
        if not requests:
            break
        is_changed = requests[0].base < 60 <= requests[0].head
        verdict = ab.regressed if is_changed else ab.unchanged
        state, new_alerts = ab.answer(state, verdict, request=requests[0])
        alerts += new_alerts
        state, requests = ab.request(state, *candidates)

    assert alerts[-1].is_final
    assert alerts[-1].commits == CommitRange(60, 60)
    assert requests == ()


def test_a_candidate_names_the_devices_of_its_odd_points(make):
    values = make.series(make.noise(60, seed=1), [(58, 0.06)])
    devices = ("GPU-1",) * 58 + ("GPU-2", "")

    [ab_candidate] = ab_candidates([replace(watched(values), devices=devices)])

    assert ab_candidate.devices == ("GPU-2",)


def test_every_series_is_looked_at_and_quiet_ones_are_silent(make):
    series = [
        watched(
            make.series(make.noise(count, seed=count), [(count - 1, step)]), workload=f"m:{count}"
        )
        for count, step in ((60, 0.0), (61, 0.07), (80, -0.07))
    ]

    found_ab_candidates = ab_candidates(series)

    assert [one.series.workload for one in found_ab_candidates] == ["m:61", "m:80"]
    assert [one.harm for one in found_ab_candidates] == [Harm.WORSE, Harm.BETTER]


def test_many_series_are_suspected_as_each_alone(make):
    series = [
        make.series(make.noise(40 + seed % 3, seed=seed), [(39, 0.04)]).tolist()
        for seed in range(12)
    ]

    assert tail_suspects(series) == tuple(
        suspect for values in series for suspect in tail_suspects([values])
    )


@pytest.mark.parametrize(
    ("steps", "good"),
    [((), 200 - CONFOUNDED_REACH), (((172, 0.2),), 172)],
    ids=["where the place may be late", "and never across another change"],
)
def test_a_step_that_a_cycle_may_hide_is_a_candidate(make, steps, good):
    day, count = 86_400.0, 300
    rng = np.random.default_rng(2)
    times = np.sort(rng.uniform(0, 56 * day, count))
    times[200:] = np.floor(times[200:] / day) * day  # measured at midnight from here on
    logs = make.noise(count, seed=3, sd=0.005) + 0.03 * np.cos(2 * np.pi * times / day)
    series = replace(watched(make.series(logs, steps)), times=tuple(times.tolist()))

    hidden = ab_candidates([series])[-1]

    assert hidden.bad == 299
    assert abs(hidden.good - good) <= 4
    assert 0.01 < hidden.change < 0.05


@pytest.mark.parametrize("count", [1, 5])
def test_a_short_series_raises_no_candidate(make, count):
    assert ab_candidates([watched(make.series(make.noise(count, seed=1)))]) == ()


@pytest.mark.parametrize("place", [40, 90, 97])
def test_a_change_across_an_epoch_is_no_candidate(make, place):
    slower = watched(make.series(make.noise(100, seed=2), [(place, 0.3)]))

    assert ab_candidates([slower])
    assert ab_candidates([replace(slower, epochs=(place,))]) == ()


def test_a_change_within_the_last_epoch_is_a_candidate_at_its_own_place(make):
    """The driver made all 30 % slower, and sixty commits later one of them another 6 %."""
    slower = watched(make.series(make.noise(140, seed=2), [(60, 0.3), (120, 0.06)]))

    [ab_candidate] = ab_candidates([replace(slower, epochs=(60,))])

    assert CommitRange(120, 120).distance(ab_candidate.commits) <= 2
    assert ab_candidate.change == pytest.approx(0.06, abs=0.02)


def test_series_with_and_without_epochs_are_searched_together(make):
    plain_candidate_series = watched(make.series(make.noise(100, seed=2), [(60, 0.06)]))
    split = replace(watched(make.series(make.noise(100, seed=3), [(40, 0.3)])), epochs=(40,))

    assert ab_candidates([split, plain_candidate_series, split]) == ab_candidates(
        [plain_candidate_series]
    )


def family(make, name, steps, *, seed):
    values = make.series(make.noise(60, seed=seed, sd=0.005), steps)
    series = Series("m:f", family_metric(name), "cpu:made up:1")
    return replace(watched(values), series=series)


def test_a_family_that_became_slower_is_a_candidate(make):
    families = [family(make, "mm", [], seed=1), family(make, "gelu", [(30, 0.05)], seed=2)]

    (ab_candidate,) = family_candidates(families)

    assert ab_candidate.series.metric == family_metric("gelu")
    assert ab_candidate.harm is Harm.WORSE
    assert ab_candidate.good < 30 <= ab_candidate.bad


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param({"gelu": [(30, -0.05)]}, id="faster"),
        pytest.param({"gelu": [(30, 0.05)], "mm": [(30, -0.05)]}, id="work that moved"),
        pytest.param({"gelu": [(30, 0.05), (45, -0.05)]}, id="mended since"),
        pytest.param({"gelu": [(59, 0.05)]}, id="an odd end"),
    ],
)
def test_no_other_family_is_a_candidate(make, steps):
    families = [
        family(make, name, steps.get(name, []), seed=seed)
        for seed, name in enumerate(("mm", "gelu", "add"))
    ]

    assert family_candidates(families) == ()


def test_without_families_there_is_no_candidate():
    assert family_candidates([]) == ()
