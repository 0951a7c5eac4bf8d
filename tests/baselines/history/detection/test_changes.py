import pytest

from perfledger_baselines.history.detection.changes import Movement
from perfledger_baselines.history.detection.detect import detect


def test_a_fall_is_a_movement_down(make):
    (change,) = detect(make.series(make.noise(100, seed=2), [(50, -0.05)])).changes

    assert change.movement is Movement.DOWN
    assert change.low < -0.05 < change.high


@pytest.mark.parametrize(
    ("after", "movement"), [(1.05, Movement.UP), (0.95, Movement.DOWN), (-1.0, Movement.DOWN)]
)
def test_a_movement_is_that_of_the_level(past, after, movement):
    assert past.change(10, size=after - 1).movement is movement
