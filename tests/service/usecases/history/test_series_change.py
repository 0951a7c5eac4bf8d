import pytest

from perfledger_baselines.history.detection.changes import ChangePoint
from perfledger_service.usecases.history.series_change import series_change

COMMITS = tuple(f"{number:040x}" for number in range(10))


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

    change = series_change(point, COMMITS)

    assert (change.after_sha, change.sha, change.last_sha) == (
        COMMITS[after],
        COMMITS[5],
        COMMITS[7],
    )
    assert (change.change, change.low, change.high) == (0.2, 0.1, 0.3)
