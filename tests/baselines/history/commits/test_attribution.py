import math

import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import CPU_ACTIVE, STEP_TIME
from perfledger_baselines.history.commits.attribution import (
    AttributionError,
    CommitRange,
    Harm,
    ObservedSeries,
    Series,
    at_observations,
    attributed_changes,
    begins_environment,
    harm_of,
    has_new_environment,
    observations_around,
)
from perfledger_baselines.history.detection.changes import ChangePoint

SERIES = Series("m:f", STEP_TIME, "cuda:H100:1")


def change(index, earliest=None, latest=None, *, size=0.05, before=1.0, confidence=0.999):
    return ChangePoint(
        index=index,
        earliest=index if earliest is None else earliest,
        latest=index if latest is None else latest,
        before=before,
        after=before * (1 + size),
        change=size,
        low=size,
        high=size,
        confidence=confidence,
    )


def observed(commits, *changes, environments=(), series=SERIES):
    return ObservedSeries(
        series=series, commits=tuple(commits), changes=changes, environments=tuple(environments)
    )


def only_move(*arguments, **options):
    (move,) = attributed_changes(observed(*arguments, **options))
    return move


def test_a_change_between_neighbours_has_one_candidate():
    move = only_move(range(10), change(4))

    assert move.commits == move.likely == CommitRange(4, 4)


def test_commits_that_were_skipped_are_candidates():
    move = only_move([0, 3, 7, 20], change(2))

    assert move.commits == CommitRange(4, 7)


def test_an_uncertain_place_widens_the_candidates_and_not_the_likely_ones():
    move = only_move([0, 3, 7, 20, 30], change(2, 1, 3))

    assert (move.commits, move.likely) == (CommitRange(1, 20), CommitRange(4, 7))


def test_the_first_observation_is_never_the_first_of_a_new_level():
    move = only_move([5, 6, 7], change(1, 0, 2))

    assert move.commits == CommitRange(6, 7)


@pytest.mark.parametrize(
    ("index", "earliest", "latest"), [(0, 0, 0), (1, 1, 3), (2, 1, 1), (1, 2, 2), (1, -1, 1)]
)
def test_a_change_outside_the_observations_is_refused(index, earliest, latest):
    with pytest.raises(AttributionError, match="not inside its 3 observations"):
        observed([5, 6, 7], change(index, earliest, latest))


@pytest.mark.parametrize("commits", [[1, 1], [2, 1], [-1, 0], []])
def test_commits_that_do_not_increase_are_refused(commits):
    with pytest.raises(AttributionError, match="do not increase"):
        observed(commits)


def test_an_environment_for_some_observations_only_is_refused():
    with pytest.raises(AttributionError, match="2 observations and 1 environments"):
        observed([1, 2], environments=["a"])


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (3, 2)])
def test_a_range_without_commits_is_refused(first, last):
    with pytest.raises(AttributionError, match="not a range"):
        CommitRange(first, last)


@pytest.mark.parametrize(
    ("one", "other", "distance"), [((1, 3), (3, 9), 0), ((1, 3), (4, 9), 1), ((7, 9), (1, 3), 4)]
)
def test_the_distance_of_ranges_is_the_way_between_their_nearest_commits(one, other, distance):
    assert CommitRange(*one).distance(CommitRange(*other)) == distance


@pytest.mark.parametrize(
    ("metric", "size", "harm"),
    [
        (STEP_TIME, 0.1, Harm.WORSE),
        (STEP_TIME, -0.1, Harm.BETTER),
        (CPU_ACTIVE, 0.1, Harm.BETTER),
        (CPU_ACTIVE, -0.1, Harm.WORSE),
    ],
)
def test_the_metric_says_which_way_is_worse(metric, size, harm):
    assert harm_of(metric, size) is harm


def test_a_change_from_nothing_has_a_direction_and_no_finite_size():
    point = ChangePoint(
        index=1,
        earliest=1,
        latest=1,
        before=0.0,
        after=3.0,
        change=math.nan,
        low=math.nan,
        high=math.nan,
        confidence=1.0,
    )

    move = only_move([0, 1], point)

    assert (move.harm, move.size) == (Harm.WORSE, math.inf)


def test_twice_and_half_are_equally_large():
    double, half = (only_move([0, 1], change(1, size=size)) for size in (1.0, -0.5))

    assert double.size == pytest.approx(half.size)


def test_the_p_value_is_what_confidence_leaves():
    assert only_move([0, 1], change(1, confidence=0.99)).p_value == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("commits", "is_new"),
    [
        (CommitRange(21, 30), True),
        (CommitRange(25, 25), True),
        (CommitRange(11, 19), True),
        (CommitRange(32, 40), True),
        (CommitRange(11, 18), False),
        (CommitRange(33, 40), False),
        (CommitRange(51, 60), False),
        (CommitRange(0, 0), False),
    ],
)
def test_the_environment_is_new_where_it_changed_at_the_commits_or_two_beside_them(commits, is_new):
    series = observed([0, 10, 20, 30, 40, 50], environments="aaabbb")

    assert has_new_environment(series, commits) is is_new


def test_an_unknown_environment_never_changed():
    assert not has_new_environment(observed([0, 10, 20]), CommitRange(0, 20))


def test_a_move_knows_whether_the_machine_changed_too():
    moves = attributed_changes(observed(range(9), change(2), change(6), environments="aaaaaabbb"))

    assert [move.has_new_environment for move in moves] == [False, True]


def test_observations_inside_a_range_are_on_neither_side():
    series = observed([0, 2, 4, 6, 8, 10])

    assert observations_around(series, CommitRange(4, 8)) == (2, 2)


def test_a_place_in_a_gap_belongs_to_the_next_observation():
    change_point = at_observations(change(5, 4, 9), [0, 1, 3, 6, 9])

    assert (change_point.index, change_point.earliest, change_point.latest) == (3, 3, 4)


@st.composite
def series_with_a_true_commit(draw):
    """Return a series that was observed here and there, with a place interval that is right."""
    commits = sorted(draw(st.sets(st.integers(0, 60), min_size=2, max_size=20)))
    culprit = draw(st.integers(commits[0] + 1, commits[-1]))
    first_new = next(place for place, commit in enumerate(commits) if commit >= culprit)
    earliest = draw(st.integers(1, first_new))
    latest = draw(st.integers(first_new, len(commits) - 1))
    index = draw(st.integers(earliest, latest))
    return observed(commits, change(index, earliest, latest)), culprit


@given(series_with_a_true_commit())
def test_a_right_place_has_the_true_commit_among_its_candidates(case):
    series, culprit = case

    (move,) = attributed_changes(series)

    assert move.commits.first <= culprit <= move.commits.last
    assert move.commits.first <= move.likely.first <= move.likely.last <= move.commits.last


@given(st.sets(st.integers(0, 40), min_size=2), st.data())
def test_a_series_with_gaps_is_attributed_like_one_without(places, data):
    places = sorted(places)
    index = data.draw(st.integers(1, len(places) - 1))
    with_gaps = change(places[index])

    (move,) = attributed_changes(observed(places, at_observations(with_gaps, places)))

    assert move.commits == CommitRange(places[index - 1] + 1, places[index])


@pytest.mark.parametrize(
    ("environments", "is_new"),
    [("abbbbbbbbb", True), ("bbbbbbbbbb", False), ("bbbbbbbbba", False)],
)
def test_the_first_environment_counts_for_a_change_right_after_it(environments, is_new):
    series = observed(range(10), environments=environments)

    assert has_new_environment(series, CommitRange(1, 1)) is is_new


@pytest.mark.parametrize(
    ("size", "expected"), [(1.0, math.log(2)), (-0.5, math.log(2)), (-1.0, math.inf)]
)
def test_half_and_double_are_equally_large_and_nothing_is_the_largest(size, expected):
    assert only_move(range(10), change(4, size=size)).size == pytest.approx(expected)


@pytest.mark.parametrize(
    ("environments", "places"),
    [
        ("aaaaabbbbb", [5]),
        ("ababababab", []),
        ("aabbabbaab", []),
        ("aaaabababa", []),
        ("aaaaabaaaa", []),
        ("aaaaabbbbbaaaaa", [5, 10]),
        ("aaaabcbcb", [4]),
        ("abb", [1]),
        ("aaaaab", []),
        ("aaaa", []),
        ("aaaaabababa" + "ab" * 8, []),
        ("a" * 10 + "ba" * 5, []),
    ],
)
def test_machines_that_take_turns_change_nowhere(environments, places):
    changed = [
        place for place in range(1, len(environments)) if begins_environment(environments, place)
    ]

    assert changed == places


@pytest.mark.parametrize(
    ("environments", "places"),
    [
        ("aaaaaaaababbbbbb", [8]),
        ("aaaaaaaabbabbbbb", [8]),
        ("aaaaaaaabbbbabbb", [8]),
        ("aaaaaaaabbbbbbba", [8]),
        ("aaaaababbbbbb", [5]),
        ("aaaaabaabbbbbbbb", [8]),
        ("aaabaaaabbbbbbbb", [8]),
        ("aaaacaaabbbcbbbb", [8]),
        ("aaaababbbbbb", []),
        ("aaaaaaaababbbbb", []),
        ("aaaaaaaabbaabbbb", []),
        ("aaaaaaaababbabbb", []),
        ("aaaaabaabbabbbbb", []),
    ],
)
def test_one_stray_of_another_machine_hides_no_change_of_machines(environments, places):
    changed = [
        place for place in range(1, len(environments)) if begins_environment(environments, place)
    ]

    assert changed == places


def test_a_rerun_on_the_old_machine_leaves_the_change_to_the_new_one():
    environments = "a" * 10 + "bba" + "b" * 7

    moves = attributed_changes(observed(range(20), change(10), environments=environments))

    assert [move.has_new_environment for move in moves] == [True]
