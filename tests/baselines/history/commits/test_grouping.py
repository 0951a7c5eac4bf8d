import pytest

from perfledger.metrics import CPU_ACTIVE
from perfledger_baselines.history.commits.attribution import AttributionError, CommitRange, Harm
from perfledger_baselines.history.commits.grouping import group_changes


def test_nothing_that_moved_is_nothing_that_happened(past):
    grouped_changes = group_changes([past.history("m:f"), past.history("m:g")])

    assert (grouped_changes.events, grouped_changes.environment_changes) == ((), ())


def test_no_series_at_all_is_nothing_that_happened():
    assert group_changes([]).events == ()


def test_series_that_move_at_one_commit_are_one_event(past):
    event = past.only_event(
        past.history("m:f", past.change(40)),
        past.history("n:g", past.change(40)),
        past.history("m:h"),
    )

    assert (event.commits, event.harm, event.observed_series) == (
        CommitRange(40, 40),
        Harm.WORSE,
        3,
    )
    assert past.workloads(event) == ["m:f", "n:g"]


def test_an_event_lies_where_all_its_ranges_overlap(past):
    event = past.only_event(
        past.history("m:f", past.change(40, 30, 45)), past.history("m:g", past.change(42, 41, 60))
    )

    assert event.commits == CommitRange(41, 45)


def test_places_that_miss_each_other_by_two_commits_are_one_event(past):
    event = past.only_event(
        past.history("m:f", past.change(40)), past.history("m:g", past.change(42))
    )

    assert event.commits == CommitRange(40, 42)


def test_places_that_miss_each_other_by_three_commits_are_two_events(past):
    grouped_changes = group_changes(
        [past.history("m:f", past.change(40)), past.history("m:g", past.change(43))]
    )

    assert [event.commits.first for event in grouped_changes.events] == [40, 43]


@pytest.mark.parametrize(
    ("before", "after"),
    [((37, 36, 38), (42, 42, 43)), ((38, 37, 38), (43, 42, 44))],
)
def test_neighbours_of_one_commit_on_either_side_are_no_neighbours_of_each_other(
    past, before, after
):
    grouped_changes = group_changes(
        [
            past.history("m:f", past.change(40)),
            past.history("m:g", past.change(*before)),
            past.history("m:h", past.change(*after)),
        ]
    )

    assert len(grouped_changes.events) == 2


def test_a_chain_of_overlapping_ranges_is_not_one_event(past):
    chain = [past.history(f"m:f{n}", past.change(n + 3, n, n + 6)) for n in range(10, 70, 5)]

    events = group_changes(chain).events

    assert len(events) == 6
    assert all(event.commits.count <= 2 for event in events)


def test_who_is_not_sure_of_the_place_joins_the_nearest_who_is(past):
    grouped_changes = group_changes(
        [
            past.history("m:f", past.change(20)),
            past.history("m:g", past.change(60)),
            past.history("m:h", past.change(55, 10, 70)),
        ]
    )

    assert [past.workloads(event) for event in grouped_changes.events] == [["m:f"], ["m:g", "m:h"]]


def test_two_changes_of_one_series_are_two_events(past):
    grouped_changes = group_changes(
        [past.history("m:f", past.change(40), past.change(41, size=0.1))]
    )

    assert len(grouped_changes.events) == 2


def test_worse_and_better_are_two_events(past):
    grouped_changes = group_changes(
        [past.history("m:f", past.change(40)), past.history("m:g", past.change(40, size=-0.05))]
    )

    assert [event.harm for event in grouped_changes.events] == [Harm.BETTER, Harm.WORSE]


def test_slower_and_idler_are_the_same_harm(past):
    event = past.only_event(
        past.history("m:f", past.change(40)),
        past.history("m:f", past.change(40, size=-0.2), metric=CPU_ACTIVE),
    )

    assert event.harm is Harm.WORSE


def test_unrelated_workloads_that_were_seldom_measured_stay_apart(past):
    weekly = range(0, 100, 20)

    grouped_changes = group_changes(
        [
            past.history("m:f", past.change(2), commits=weekly),
            past.history("n:g", past.change(2), commits=weekly),
        ]
    )

    assert len(grouped_changes.events) == 2


def test_related_workloads_that_were_seldom_measured_are_one_event(past):
    weekly = range(0, 100, 20)

    event = past.only_event(
        past.history("m:f", past.change(2), commits=weekly),
        past.history("m:g", past.change(2), commits=weekly),
    )

    assert event.commits == CommitRange(21, 40)


def test_members_are_sorted_by_size(past):
    event = past.only_event(
        past.history("m:f", past.change(40, size=0.02)),
        past.history("m:g", past.change(40, size=-0.5), metric=CPU_ACTIVE),
        past.history("m:h", past.change(40, size=0.6)),
    )

    assert past.workloads(event) == ["m:f", "m:g", "m:h"]
    assert [member.change.change.change for member in event.members] == [-0.5, 0.6, 0.02]


def test_who_is_first_seen_to_have_moved_moved_first(past):
    event = past.only_event(
        past.history("m:f", past.change(41)),
        past.history("m:g", past.change(40)),
        past.history("m:h", past.change(40, 38, 42, size=0.5)),
    )

    assert event.first_change.series.workload == "m:g"


def test_who_has_surely_moved_is_before_who_is_exactly_placed(past):
    event = past.only_event(
        past.history("m:f", past.change(38, 35, 41)), past.history("m:g", past.change(42))
    )

    assert event.first_change.series.workload == "m:f"


def test_among_many_series_a_weak_move_is_not_believed(past):
    weak = past.history("m:f", past.change(40, p_value=0.01))
    silent = [past.history(f"m:g{n}") for n in range(9)]

    event = past.only_event(weak, *silent)

    assert (event.members[0].adjusted_p, event.is_significant) == (pytest.approx(0.1), False)


def test_a_weak_move_is_believed_in_strong_company(past):
    strong = [past.history(f"m:g{n}", past.change(40)) for n in range(9)]

    event = past.only_event(past.history("m:f", past.change(40, p_value=0.01)), *strong)

    assert all(member.is_significant for member in event.members)


@pytest.mark.parametrize(
    ("commits", "observed"),
    [(range(50, 100), 1), (range(30), 1), (range(40, 100), 1), (range(40), 1), (range(39, 41), 10)],
)
def test_series_count_that_were_observed_before_the_change_and_with_it(past, commits, observed):
    weak = past.history("m:f", past.change(40, p_value=0.01))
    others = [past.history(f"m:g{n}", commits=commits) for n in range(9)]

    assert past.only_event(weak, *others).observed_series == observed


def test_who_is_not_believed_neither_narrows_the_event_nor_leads_it(past):
    event = past.only_event(
        past.history("m:f", past.change(39, p_value=0.2)),
        past.history("m:g", past.change(41, 40, 42)),
    )

    assert (event.commits, event.first_change.series.workload) == (CommitRange(40, 42), "m:g")


def test_a_series_that_is_given_twice_is_refused(past):
    with pytest.raises(AttributionError, match="series passed twice"):
        group_changes([past.history("m:f"), past.history("m:f")])
