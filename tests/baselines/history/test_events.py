from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import CPU_ACTIVE, METRICS, PEAK_MEMORY, STEP_TIME
from perfledger_baselines.history.attribution import (
    PLACE_ERROR_COMMITS,
    AttributionError,
    CommitRange,
    Harm,
    Observed,
    Series,
)
from perfledger_baselines.history.events import OtherClasses, find_events
from perfledger_baselines.history.findings import ChangePoint

H100, A100 = "cuda:H100:1", "cuda:A100:1"


def change(index, earliest=None, latest=None, *, size=0.05, p_value=1e-6):
    return ChangePoint(
        index=index,
        earliest=index if earliest is None else earliest,
        latest=index if latest is None else latest,
        before=1.0,
        after=1 + size,
        change=size,
        low=size,
        high=size,
        confidence=1 - p_value,
    )


def history(
    workload, *changes, metric=STEP_TIME, on=H100, commits=range(100), environments=(), driver_at=0
):
    """Return a series, observed at every commit and on a new driver from `driver_at` on."""
    commits = tuple(commits)
    if driver_at:
        environments = tuple("old" if commit < driver_at else "new" for commit in commits)
    return Observed(
        series=Series(workload, metric, on),
        commits=commits,
        changes=changes,
        environments=environments,
    )


def only_event(*histories):
    happened = find_events(histories)
    assert not happened.environment_changes
    (event,) = happened.events
    return event


def workloads(event):
    return sorted(member.move.series.workload for member in event.members)


def test_nothing_that_moved_is_nothing_that_happened():
    happened = find_events([history("m:f"), history("m:g")])

    assert (happened.events, happened.environment_changes) == ((), ())


def test_no_series_at_all_is_nothing_that_happened():
    assert find_events([]).events == ()


def test_series_that_move_at_one_commit_are_one_event():
    event = only_event(history("m:f", change(40)), history("n:g", change(40)), history("m:h"))

    assert (event.commits, event.harm, event.watched) == (CommitRange(40, 40), Harm.WORSE, 3)
    assert workloads(event) == ["m:f", "n:g"]


def test_an_event_lies_where_all_its_ranges_overlap():
    event = only_event(history("m:f", change(40, 30, 45)), history("m:g", change(42, 41, 60)))

    assert event.commits == CommitRange(41, 45)


def test_places_that_miss_each_other_by_two_commits_are_one_event():
    event = only_event(history("m:f", change(40)), history("m:g", change(42)))

    assert event.commits == CommitRange(40, 42)


def test_places_that_miss_each_other_by_three_commits_are_two_events():
    happened = find_events([history("m:f", change(40)), history("m:g", change(43))])

    assert [event.commits.first for event in happened.events] == [40, 43]


@pytest.mark.parametrize(
    ("before", "after"),
    [(change(37, 36, 38), change(42, 42, 43)), (change(38, 37, 38), change(43, 42, 44))],
)
def test_neighbours_of_one_commit_on_either_side_are_no_neighbours_of_each_other(before, after):
    happened = find_events(
        [history("m:f", change(40)), history("m:g", before), history("m:h", after)]
    )

    assert len(happened.events) == 2


def test_a_chain_of_overlapping_ranges_is_not_one_event():
    chain = [history(f"m:f{n}", change(n + 3, n, n + 6)) for n in range(10, 70, 5)]

    events = find_events(chain).events

    assert len(events) == 6
    assert all(event.commits.count <= 2 for event in events)


def test_who_is_not_sure_of_the_place_joins_the_nearest_who_is():
    happened = find_events(
        [
            history("m:f", change(20)),
            history("m:g", change(60)),
            history("m:h", change(55, 10, 70)),
        ]
    )

    assert [workloads(event) for event in happened.events] == [["m:f"], ["m:g", "m:h"]]


def test_two_changes_of_one_series_are_two_events():
    happened = find_events([history("m:f", change(40), change(41, size=0.1))])

    assert len(happened.events) == 2


def test_worse_and_better_are_two_events():
    happened = find_events([history("m:f", change(40)), history("m:g", change(40, size=-0.05))])

    assert [event.harm for event in happened.events] == [Harm.BETTER, Harm.WORSE]


def test_slower_and_idler_are_the_same_harm():
    event = only_event(
        history("m:f", change(40)), history("m:f", change(40, size=-0.2), metric=CPU_ACTIVE)
    )

    assert event.harm is Harm.WORSE


def test_unrelated_workloads_that_were_seldom_measured_stay_apart():
    weekly = range(0, 100, 20)

    happened = find_events(
        [history("m:f", change(2), commits=weekly), history("n:g", change(2), commits=weekly)]
    )

    assert len(happened.events) == 2


def test_related_workloads_that_were_seldom_measured_are_one_event():
    weekly = range(0, 100, 20)

    event = only_event(
        history("m:f", change(2), commits=weekly), history("m:g", change(2), commits=weekly)
    )

    assert event.commits == CommitRange(21, 40)


def test_members_are_sorted_by_size():
    event = only_event(
        history("m:f", change(40, size=0.02)),
        history("m:g", change(40, size=-0.5), metric=CPU_ACTIVE),
        history("m:h", change(40, size=0.6)),
    )

    assert workloads(event) == ["m:f", "m:g", "m:h"]
    assert [member.move.change.change for member in event.members] == [-0.5, 0.6, 0.02]


def test_who_is_first_seen_to_have_moved_moved_first():
    event = only_event(
        history("m:f", change(41)),
        history("m:g", change(40)),
        history("m:h", change(40, 38, 42, size=0.5)),
    )

    assert event.moved_first.series.workload == "m:g"


def test_who_has_surely_moved_is_before_who_is_exactly_placed():
    event = only_event(history("m:f", change(38, 35, 41)), history("m:g", change(42)))

    assert event.moved_first.series.workload == "m:f"


def test_among_many_series_a_weak_move_is_not_believed():
    weak = history("m:f", change(40, p_value=0.01))
    silent = [history(f"m:g{n}") for n in range(9)]

    event = only_event(weak, *silent)

    assert (event.members[0].adjusted_p, event.is_believed) == (pytest.approx(0.1), False)


def test_a_weak_move_is_believed_in_strong_company():
    strong = [history(f"m:g{n}", change(40)) for n in range(9)]

    event = only_event(history("m:f", change(40, p_value=0.01)), *strong)

    assert all(member.is_believed for member in event.members)


@pytest.mark.parametrize("commits", [range(50, 100), range(30)])
def test_a_series_that_was_not_watched_counts_for_nothing(commits):
    weak = history("m:f", change(40, p_value=0.01))
    others = [history(f"m:g{n}", commits=commits) for n in range(9)]

    assert only_event(weak, *others).watched == 1


def test_who_is_not_believed_neither_narrows_the_event_nor_leads_it():
    event = only_event(history("m:f", change(39, p_value=0.2)), history("m:g", change(41, 40, 42)))

    assert (event.commits, event.moved_first.series.workload) == (CommitRange(40, 42), "m:g")


def test_the_same_on_another_machine_class_confirms():
    event = only_event(history("m:f", change(40)), history("m:f", change(40), on=A100))

    assert event.other_classes is OtherClasses.CONFIRMED


def test_the_same_workload_that_stood_still_elsewhere_contradicts():
    event = only_event(history("m:f", change(40)), history("m:f", on=A100))

    assert event.other_classes is OtherClasses.CONTRADICTED
    assert [series.machine_class for series in event.still_elsewhere] == [A100]


@pytest.mark.parametrize("elsewhere", [change(70), change(40, size=-0.05)])
def test_who_moved_elsewhere_at_another_commit_or_the_other_way_contradicts(elsewhere):
    happened = find_events([history("m:f", change(40)), history("m:f", elsewhere, on=A100)])

    event = next(e for e in happened.events if e.moved_first.series.machine_class == H100)
    assert event.other_classes is OtherClasses.CONTRADICTED


def test_other_classes_may_disagree():
    event = only_event(
        history("m:f", change(40)),
        history("m:f", change(40), on=A100),
        history("m:f", on="tpu:v4:8"),
    )

    assert event.other_classes is OtherClasses.MIXED


@pytest.mark.parametrize(
    "other",
    [
        history("m:g", on=A100),
        history("m:f", on=A100, metric=PEAK_MEMORY),
        history("m:f", on=A100, commits=range(42)),
        history("m:f", on=A100, driver_at=40),
    ],
    ids=["another workload", "another metric", "two later observations", "machine changed"],
)
def test_who_cannot_know_is_no_witness(other):
    event = only_event(history("m:f", change(40)), other)

    assert event.other_classes is OtherClasses.UNKNOWN


def farm(*sizes, on=H100, driver_at=40):
    """Return a workload for each size: moved by so much at commit 40, or not at all."""
    return [
        history(f"m{n}:f", *([change(40, size=size)] if size else []), on=on, driver_at=driver_at)
        for n, size in enumerate(sizes)
    ]


def test_a_driver_that_moves_most_workloads_is_no_regression():
    happened = find_events(farm(0.05, -0.02, 0.1, 0, 0))

    (found,) = happened.environment_changes
    assert happened.events == ()
    assert (found.machine_class, found.commits) == (H100, CommitRange(40, 40))
    assert (found.moved_workloads, found.watched_workloads) == (3, 5)


def test_who_misses_the_driver_by_a_commit_is_part_of_it():
    late = history("late:f", change(42), driver_at=40)

    happened = find_events([*farm(0.05, 0.05), late])

    assert happened.events == ()


def test_metrics_that_no_driver_can_move_do_not_hide_it():
    memory = [history(f"m{n}:f", metric=PEAK_MEMORY, driver_at=40) for n in range(2)]
    work = [history(f"m{n}:f", metric=METRICS["flops_per_step"], driver_at=40) for n in range(2)]

    happened = find_events([*farm(0.05, 0.05), *memory, *work])

    assert len(happened.environment_changes) == 1


def test_a_driver_that_comes_with_few_moves_leaves_them_to_the_commit():
    event = only_event(*farm(0.05, 0, 0, 0, 0))

    assert event.has_new_environment


def test_one_workload_alone_is_no_change_of_the_environment():
    assert only_event(*farm(0.05)).has_new_environment


def test_moves_without_a_new_environment_are_events():
    assert not only_event(*farm(0.05, 0.05, 0.05, driver_at=0)).has_new_environment


def test_moves_that_are_not_believed_show_no_change_of_the_environment():
    doubtful = [history(f"m:f{n}", change(40, p_value=0.03), driver_at=40) for n in range(3)]
    silent = [
        history(f"m:f{n}", metric=metric, driver_at=40)
        for n in range(3)
        for metric in (PEAK_MEMORY, CPU_ACTIVE)
    ]

    assert find_events([*doubtful, *silent]).environment_changes == ()


def test_what_moves_as_well_on_machines_that_stayed_is_a_commit():
    event = only_event(*farm(0.05, 0.05, 0.05), *farm(0.05, 0.05, 0, on=A100, driver_at=0))

    assert len(event.members) == 5


def test_machines_that_stayed_and_did_not_move_bear_the_driver_out():
    happened = find_events([*farm(0.05, 0.05), *farm(0, 0, on=A100, driver_at=0)])

    (found,) = happened.environment_changes
    assert {series.machine_class for series in found.still_elsewhere} == {A100}


def test_two_classes_whose_drivers_change_are_two_findings():
    happened = find_events([*farm(0.05, 0.05), *farm(0.05, 0.05, on=A100)])

    assert [found.machine_class for found in happened.environment_changes] == [A100, H100]


def test_a_series_that_is_given_twice_is_refused():
    with pytest.raises(AttributionError, match="series given twice"):
        find_events([history("m:f"), history("m:f")])


places = st.tuples(
    st.integers(1, 9),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from([-0.1, 0.02, 0.1]),
    st.sampled_from([1e-6, 0.01, 0.2]),
)


def some_history(key, step, found, driver_at):
    """Return a series that was observed ten times, and changes at places within it."""
    workload, metric, machine_class = key
    changes = [
        change(place, max(0, place - before), min(9, place + after), size=size, p_value=p_value)
        for place, before, after, size, p_value in sorted(found)
    ]
    return history(
        workload,
        *changes,
        metric=metric,
        on=machine_class,
        commits=range(0, 10 * step, step),
        driver_at=driver_at,
    )


repositories = st.lists(
    st.builds(
        some_history,
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
    unique_by=lambda observed: observed.series.key,
)


def findings(happened):
    return (*happened.events, *happened.environment_changes)


@pytest.mark.slow
@given(repositories, st.randoms(use_true_random=False))
def test_the_order_of_series_does_not_matter(histories, random):
    shuffled = random.sample(histories, len(histories))

    assert find_events(shuffled) == find_events(histories)


@pytest.mark.slow
@given(repositories)
def test_every_change_is_in_exactly_one_finding(histories):
    members = [member for found in findings(find_events(histories)) for member in found.members]

    placed = [(member.move.series.key, member.move.change.index) for member in members]
    given_ = [(one.series.key, point.index) for one in histories for point in one.changes]
    assert sorted(placed) == sorted(given_)


@pytest.mark.slow
@given(repositories)
def test_no_two_members_of_a_finding_lie_further_apart_than_places_are_uncertain_by(histories):
    for found in findings(find_events(histories)):
        moves = [member.move for member in found.members]

        assert len({move.series.key for move in moves}) == len(moves)
        for one, other in combinations(moves, 2):
            assert one.commits.distance(other.commits) <= PLACE_ERROR_COMMITS


@pytest.mark.slow
@given(repositories)
def test_all_members_of_an_event_share_its_harm(histories):
    for event in find_events(histories).events:
        assert {member.move.harm for member in event.members} == {event.harm}


@pytest.mark.slow
@given(repositories)
def test_more_silent_series_make_no_move_more_believable(histories):
    same_machine = [replace(one, environments=()) for one in histories]
    silent = [history(f"silent:{n}") for n in range(5)]

    alone, in_company = find_events(same_machine), find_events([*same_machine, *silent])

    assert believed(in_company) <= believed(alone)


def believed(happened):
    return {m.move for event in happened.events for m in event.members if m.is_believed}
