import pytest

from perfledger_baselines.history.commits.family_gaps import short_times


@pytest.mark.parametrize(
    ("recorded", "times"),
    [
        ({2: 0.0, 3: 4.0, 4: 4.0}, {0: 0.0, 1: 0.0}),
        ({0: 4.0, 1: 4.0, 2: 0.0}, {3: 0.0, 4: 0.0}),
        ({0: 4.0, 1: 0.2, 3: 0.1, 4: 4.0}, {2: 0.1}),
        ({0: 4.0, 1: 1.9}, {2: 1.9, 3: 1.9, 4: 1.9}),
        ({0: 4.0, 1: 2.0}, {}),
        ({0: 1.0, 2: 1.1, 4: 1.0}, {}),
        ({3: 4.0}, {}),
    ],
    ids=["came", "went", "came back", "shrank", "half as long", "now and then", "once"],
)
def test_a_family_takes_what_it_took_where_it_was_last_short(recorded, times):
    assert short_times(recorded, range(5)) == times
