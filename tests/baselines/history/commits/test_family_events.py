"""Kernel families among the events of all series: one event for each cause."""

import pytest

from perfledger.metrics import family_metric
from perfledger_baselines.history.commits.attribution import CommitRange, Harm
from perfledger_baselines.history.commits.family_events import family_group, with_family_changes
from perfledger_baselines.history.commits.grouping import group_changes


@pytest.fixture
def group(past):
    """Return the families of a workload, each with its changes, and two that never changed."""

    def group(workload="m:f", **changes):
        families = {"mm": (), "add": ()} | changes
        return family_group(
            [
                past.history(workload, *own, metric=family_metric(name))
                for name, own in families.items()
            ]
        )

    return group


def names(event):
    return [member.change.series.metric.name for member in event.members]


def test_a_family_that_changed_with_its_step_is_part_of_that_event(past, group):
    step = past.history("m:f", past.change(40, size=0.01))

    grouped = with_family_changes(group_changes([step]), [group(gelu=(past.change(41, size=0.3),))])

    (event,) = grouped.events
    assert names(event) == ["step_time_p50", "kernel:gelu"]
    assert (event.commits, event.observed_series) == (CommitRange(40, 40), 4)


def test_a_family_whose_step_does_not_show_it_is_an_event_of_its_own(past, group):
    steps = [past.history("m:f"), past.history("m:g", past.change(70))]

    grouped = with_family_changes(group_changes(steps), [group(gelu=(past.change(40),))])

    assert [names(event) for event in grouped.events] == [["kernel:gelu"], ["step_time_p50"]]
    assert {event.harm for event in grouped.events} == {Harm.WORSE}


def test_families_of_several_workloads_at_one_commit_are_one_event(past, group):
    groups = [group(name, gelu=(past.change(40),)) for name in ("m:f", "m:g")]

    (event,) = with_family_changes(group_changes([]), groups).events

    assert names(event) == ["kernel:gelu"] * 2
    assert past.workloads(event) == ["m:f", "m:g"]


@pytest.mark.parametrize(
    "changes",
    [
        {"gelu": (40, -0.2)},
        {"gelu": (40, 0.2), "attention": (40, -0.2)},
        {"gelu": (40, 0.2, 0.02)},
    ],
    ids=["faster", "moved", "by chance"],
)
def test_what_costs_nothing_more_is_no_event(past, group, changes):
    own = {}
    for name, (place, size, *p_value) in changes.items():
        values = {"p_value": p_value[0]} if p_value else {}
        own[name] = (past.change(place, size=size, **values),)

    assert with_family_changes(group_changes([]), [group(**own)]).events == ()


def test_a_family_that_became_faster_with_its_step_is_part_of_the_gain(past, group):
    step = past.history("m:f", past.change(40, size=-0.1))

    grouped = with_family_changes(group_changes([step]), [group(mm=(past.change(40, size=-0.3),))])

    (event,) = grouped.events
    assert (event.harm, names(event)) == (Harm.BETTER, ["step_time_p50", "kernel:mm"])


@pytest.mark.parametrize(
    ("change", "workload"),
    [((44, 44, 44), "m:f"), ((43, 38, 45), "n:g"), ((40, 40, 40), "better")],
)
def test_a_change_elsewhere_or_the_other_way_takes_no_family(past, group, change, workload):
    size = -0.05 if workload == "better" else 0.05
    step = past.history(workload, past.change(*change, size=size))

    grouped = with_family_changes(group_changes([step]), [group(gelu=(past.change(40),))])

    assert sorted(names(event) for event in grouped.events) == [
        ["kernel:gelu"],
        ["step_time_p50"],
    ]


def test_a_family_that_changed_with_its_machines_is_theirs(past, group):
    steps = [past.history(name, past.change(40, size=0.2), driver_at=40) for name in ("m:f", "m:g")]
    grouped = group_changes(steps)

    assert len(grouped.environment_changes) == 1
    assert with_family_changes(grouped, [group(gelu=(past.change(40),))]) == grouped


def test_families_are_returned_with_the_changes_that_count(past, group):
    own = group(gelu=(past.change(20), past.change(40)), attention=(past.change(40, size=-0.05),))

    counted = {one.series.metric.name: one.changes for one in own.counted_families}

    assert counted["kernel:gelu"] == (past.change(20),)
    assert counted["kernel:attention"] == counted["kernel:mm"] == ()
