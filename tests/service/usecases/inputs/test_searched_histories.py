"""Histories are searched all at once, and commits without a value keep their places."""

import math
from random import Random

import pytest

from perfledger.metrics import STEP_TIME
from perfledger_baselines.history.commits.attribution import Series
from perfledger_service.usecases.inputs.searched_histories import observed_in, searched_series
from perfledger_service.values.measured_series import MeasuredSeries

MOVED_AT, GAPS = 20, (3, 4, 21)


def a_history(**values):
    noise = Random(1)
    levels = [1.0 if place < MOVED_AT else 1.5 for place in range(40)]
    history = [level + 0.001 * noise.gauss() for level in levels]
    for place in GAPS:
        history[place] = math.nan
    return MeasuredSeries(name="step", unit="s", values=tuple(history), **values)


def test_a_step_between_two_levels_is_found():
    (searched,) = searched_series([a_history()])

    (change,) = searched.history.changes
    assert change.earliest <= MOVED_AT <= change.latest


def test_machines_that_take_turns_hide_no_epoch_of_each_other():
    """A change of the noisy machine's driver would else make its noise that of both epochs."""
    noise = Random(2)
    environments, values = [], []
    for place in range(160):
        is_old = place < 100
        level = 1.008 if place >= 130 else 1.0
        environments += ["old" if is_old else "new", "other"]
        values += [level + (0.03 if is_old else 0.002) * noise.gauss(), math.nan]

    alone = MeasuredSeries(
        name="step", unit="s", values=tuple(values[::2]), environments=tuple(environments[::2])
    )
    beside = MeasuredSeries(
        name="step", unit="s", values=tuple(values), environments=tuple(environments)
    )
    of_alone, of_beside = searched_series([alone, beside])

    assert [change.index for change in of_alone.history.changes] == [130]
    assert [change.index for change in of_beside.history.changes] == [260]


@pytest.mark.parametrize(("driver_from", "places"), [(20, {20}), (24, set()), (40, set())])
def test_a_change_says_whether_the_machine_changed_there_too(driver_from, places):
    series = Series("gpt:step", STEP_TIME, "cpu:test:1")
    environments = tuple("old" if place < driver_from else "new" for place in range(40))

    (searched,) = searched_series([a_history(series=series, environments=environments)])

    assert [change.index for change in searched.history.changes] == [20]
    assert searched.new_machines == places


def test_commits_without_a_value_are_no_observations():
    series = Series("gpt:step", STEP_TIME, "cpu:test:1")
    (searched,) = searched_series([a_history(series=series, environments=("",) * 40)])

    observed = observed_in(searched)

    assert observed is not None
    assert observed.commits == tuple(place for place in range(40) if place not in GAPS)
    assert observed.commits[observed.changes[0].index] == MOVED_AT


def test_a_file_whose_series_is_unknown_has_no_observations():
    (searched,) = searched_series([a_history()])

    assert observed_in(searched) is None


def test_a_history_without_environments_has_none_by_observation():
    series = Series("gpt:step", STEP_TIME, "")
    (searched,) = searched_series([a_history(series=series)])

    observed = observed_in(searched)

    assert observed is not None
    assert observed.environments == ()
