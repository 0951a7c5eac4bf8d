import pytest

from perfledger_baselines.history.commits.attribution import attributed_changes
from perfledger_baselines.history.commits.clusters import cluster_changes


@pytest.fixture
def places(past):
    """Return the places of the changes in each group of changes of different series."""

    def places(*changes, belongs=lambda _one, _other: True):
        made_attributed_changes = [
            change
            for number, place in enumerate(changes)
            for change in attributed_changes(past.history(f"m:f{number}", past.change(*place)))
        ]
        groups = cluster_changes(made_attributed_changes, belongs=belongs)
        return sorted(sorted(one.change.index for one in group) for group in groups)

    return places


def test_changes_within_two_commits_of_each_other_are_a_group(places):
    assert places((40,), (42,), (45,)) == [[40, 42], [45]]


def test_an_uncertain_change_joins_the_nearest_certain_one(places):
    assert places((20,), (60,), (55, 10, 70)) == [[20], [55, 60]]


def test_what_does_not_belong_together_is_a_group_of_its_own(places):
    assert places((40,), (40,), belongs=lambda _one, _other: False) == [[40], [40]]


def test_no_group_has_two_changes_of_a_series(past):
    history = past.history("m:f", past.change(40), past.change(42))

    assert len(cluster_changes(attributed_changes(history), belongs=lambda _a, _b: True)) == 2
