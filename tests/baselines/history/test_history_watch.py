import json
import math

import pytest

from perfledger_baselines.history.detect import detect
from perfledger_baselines.history.series import SeriesError
from perfledger_baselines.history.watch import (
    LONGEST_TAIL,
    Watch,
    WatchError,
    extend,
    watch_from_json,
)


def commit_by_commit(values, watch=None):
    """Return the watch at the end and (commit, alarm) for every alarm on the way."""
    watch = watch or Watch()
    raised = []
    for number, value in enumerate(values):
        watch, alarms = extend(watch, [value])
        raised += [(number, alarm) for alarm in alarms]
    return watch, raised


@pytest.mark.slow
def test_a_step_is_alarmed_once_and_soon(make):
    values = make.series(make.noise(110, seed=1), [(70, 0.06)])

    watch, raised = commit_by_commit(values)

    ((number, alarm),) = raised
    assert alarm.index == 70
    assert number <= 76
    assert watch.raised == (alarm,)


@pytest.mark.slow
def test_a_step_back_is_an_alarm_of_its_own(make):
    values = make.series(make.noise(120, seed=2), [(50, 0.06), (80, 1 / 1.06 - 1)])

    _, raised = commit_by_commit(values)

    assert [alarm.index for _, alarm in raised] == [50, 80]


def test_what_comes_in_one_go_is_found_as_detect_finds_it(make):
    values = make.series(make.noise(120, seed=3), [(60, 0.05)])

    _, alarms = extend(Watch(), values)

    assert alarms == detect(values).changes


def test_a_long_series_keeps_its_tail_and_its_indices(make):
    values = make.series(make.noise(1000, seed=4), [(200, 0.05), (900, -0.05)])

    watch, first = extend(Watch(), values[:600])
    watch, second = extend(watch, values[600:])

    assert len(watch.tail) == LONGEST_TAIL
    assert watch.first == 600
    assert [alarm.index for alarm in (*first, *second)] == [200, 900]
    assert watch.raised == (*first, *second)


def test_gaps_alone_raise_nothing():
    watch, alarms = extend(Watch(), [math.nan, math.nan])

    assert alarms == ()
    assert len(watch.tail) == 2


def test_an_infinite_value_is_an_error():
    with pytest.raises(SeriesError, match="infinite"):
        extend(Watch(), [1.0, math.inf])


def test_a_stored_watch_goes_on_as_if_it_had_never_stopped(make):
    values = make.series(make.noise(130, seed=5), [(60, 0.05), (100, 0.05)])
    values[10] = math.nan
    watch, _ = extend(Watch(min_change=0.01), values[:80])

    restored = watch_from_json(watch.to_json())

    assert restored.to_json() == watch.to_json()
    assert restored.raised == watch.raised
    assert extend(restored, values[80:])[1] == extend(watch, values[80:])[1]


def test_sizes_that_json_has_no_number_for_survive():
    watch, (endless,) = extend(Watch(), [1e-300] * 20 + [1e300] * 20)
    other, (sizeless,) = extend(Watch(), [0.0] * 20 + [5.0] * 20)

    assert watch_from_json(watch.to_json()).raised == (endless,)
    assert math.isnan(watch_from_json(other.to_json()).raised[0].change)
    assert math.isnan(sizeless.change)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', "nonsense", "null"])
def test_what_is_no_watch_is_an_error(text):
    with pytest.raises(WatchError, match="is no stored watch"):
        watch_from_json(text)


def test_a_watch_of_another_version_is_an_error():
    stored = {**json.loads(Watch().to_json()), "version": 2}

    with pytest.raises(WatchError, match="version 2, not 1"):
        watch_from_json(json.dumps(stored))
