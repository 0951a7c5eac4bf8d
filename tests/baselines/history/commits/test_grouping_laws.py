"""What holds of events whatever moved in whichever series."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import CPU_ACTIVE, STEP_TIME
from perfledger_baselines.history.commits.attribution import PLACE_ERROR_COMMITS
from perfledger_baselines.history.commits.grouping import group_changes

H100, A100 = "cuda:H100:1", "cuda:A100:1"

places = st.tuples(
    st.integers(1, 9),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from([-0.1, 0.02, 0.1]),
    st.sampled_from([1e-6, 0.01, 0.2]),
)
repositories = st.lists(
    st.builds(
        lambda *sample: sample,
        st.tuples(
            st.sampled_from(["m:f", "m:g", "n:f"]),
            st.sampled_from([STEP_TIME, CPU_ACTIVE]),
            st.sampled_from([H100, A100]),
        ),
        st.integers(1, 3),
        st.lists(places, max_size=2, unique_by=lambda place: place[0]),
        st.sampled_from([0, 6]),
    ),
    max_size=8,
    unique_by=lambda sample: sample[0],
)


def built(past, sample):
    return [some_history(past, *one) for one in sample]


def some_history(past, key, step, steps, driver_at):
    """Return a series that was observed ten times, and changes at places within it."""
    workload, metric, machine_class = key
    changes = [
        past.change(
            place, max(0, place - before), min(9, place + after), size=size, p_value=p_value
        )
        for place, before, after, size, p_value in sorted(steps)
    ]
    return past.history(
        workload,
        *changes,
        metric=metric,
        on=machine_class,
        commits=range(0, 10 * step, step),
        driver_at=driver_at,
    )


def findings(changes):
    return (*changes.events, *changes.environment_changes)


@pytest.mark.slow
@given(repositories, st.randoms(use_true_random=False))
def test_the_order_of_series_does_not_matter(past, sample, random):
    histories = built(past, sample)
    shuffled = random.sample(histories, len(histories))

    assert group_changes(shuffled) == group_changes(histories)


@pytest.mark.slow
@given(repositories)
def test_every_change_is_in_exactly_one_finding(past, sample):
    histories = built(past, sample)

    members = [
        member for finding in findings(group_changes(histories)) for member in finding.members
    ]

    placed = [(member.change.series.key, member.change.change.index) for member in members]
    change_points = [(one.series.key, point.index) for one in histories for point in one.changes]
    assert sorted(placed) == sorted(change_points)


@pytest.mark.slow
@given(repositories)
def test_no_two_members_of_a_finding_lie_further_apart_than_places_are_uncertain_by(past, sample):
    histories = built(past, sample)

    for finding in findings(group_changes(histories)):
        moves = [member.change for member in finding.members]

        assert len({move.series.key for move in moves}) == len(moves)
        for one, other in combinations(moves, 2):
            assert one.commits.distance(other.commits) <= PLACE_ERROR_COMMITS


@pytest.mark.slow
@given(repositories)
def test_all_members_of_an_event_share_its_harm(past, sample):
    histories = built(past, sample)

    for event in group_changes(histories).events:
        assert {member.change.harm for member in event.members} == {event.harm}


@pytest.mark.slow
@given(repositories)
def test_more_silent_series_make_no_move_more_believable(past, sample):
    histories = built(past, sample)

    same_machine = [replace(one, environments=()) for one in histories]
    silent = [past.history(f"silent:{n}") for n in range(5)]

    alone, in_company = group_changes(same_machine), group_changes([*same_machine, *silent])

    assert believed(in_company) <= believed(alone)


def believed(changes_before):
    return {m.change for event in changes_before.events for m in event.members if m.is_significant}
