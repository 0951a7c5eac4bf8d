import pytest

from perfledger.metrics import STEP_TIME
from perfledger_baselines.history.commits.attribution import (
    ObservedSeries,
    Series,
    attributed_changes,
)
from perfledger_baselines.history.detection.changes import ChangePoint
from perfledger_service.usecases.history.series_change import series_change

COMMITS = tuple(f"{number:040x}" for number in range(10))


def observed(point, environments=()):
    return ObservedSeries(
        series=Series("m:f", STEP_TIME, "cpu:test:1"),
        commits=tuple(range(len(COMMITS))),
        changes=(point,),
        environments=environments,
    )


@pytest.mark.parametrize(("earliest", "after"), [(4, 3), (0, 0)])
def test_a_change_came_after_the_last_commit_that_surely_lacks_it(earliest, after):
    point = ChangePoint(
        index=5,
        earliest=earliest,
        latest=7,
        before=1.0,
        after=1.2,
        change=0.2,
        low=0.1,
        high=0.3,
        confidence=0.999,
    )

    (attributed,) = attributed_changes(observed(point))
    change = series_change(attributed, COMMITS)

    assert (change.after_sha, change.sha, change.last_sha) == (
        COMMITS[after],
        COMMITS[5],
        COMMITS[7],
    )
    assert (change.change, change.low, change.high) == (0.2, 0.1, 0.3)


@pytest.mark.parametrize(("new_at", "is_new"), [(5, True), (9, False)])
def test_a_change_says_whether_the_machine_changed_at_its_commits(new_at, is_new):
    point = ChangePoint(
        index=5,
        earliest=5,
        latest=5,
        before=1.0,
        after=1.2,
        change=0.2,
        low=0.1,
        high=0.3,
        confidence=0.999,
    )
    environments = tuple("old" if at < new_at else "new" for at in range(len(COMMITS)))

    (attributed,) = attributed_changes(observed(point, environments))

    assert series_change(attributed, COMMITS).has_new_environment is is_new
