"""The same on other machine classes, and what a new environment did rather than a commit."""

from dataclasses import replace

import pytest

from perfledger.metrics import CPU_ACTIVE, METRICS, PEAK_MEMORY
from perfledger_baselines.history.commits.attribution import CommitRange
from perfledger_baselines.history.commits.grouping import OtherClasses, group_changes

H100, A100 = "cuda:H100:1", "cuda:A100:1"


def test_the_same_on_another_machine_class_confirms(past):
    event = past.only_event(
        past.history("m:f", past.change(40)), past.history("m:f", past.change(40), on=A100)
    )

    assert event.other_classes is OtherClasses.CONFIRMED


def test_the_same_workload_that_stood_still_elsewhere_contradicts(past):
    event = past.only_event(past.history("m:f", past.change(40)), past.history("m:f", on=A100))

    assert event.other_classes is OtherClasses.CONTRADICTED
    assert [series.machine_class for series in event.unchanged_elsewhere] == [A100]


@pytest.mark.parametrize(("place", "size"), [(70, 0.05), (40, -0.05)])
def test_who_moved_elsewhere_at_another_commit_or_the_other_way_contradicts(past, place, size):
    change = past.change(place, size=size)

    grouped_changes = group_changes(
        [past.history("m:f", past.change(40)), past.history("m:f", change, on=A100)]
    )

    event = next(e for e in grouped_changes.events if e.first_change.series.machine_class == H100)
    assert event.other_classes is OtherClasses.CONTRADICTED


def test_other_classes_may_disagree(past):
    event = past.only_event(
        past.history("m:f", past.change(40)),
        past.history("m:f", past.change(40), on=A100),
        past.history("m:f", on="tpu:v4:8"),
    )

    assert event.other_classes is OtherClasses.MIXED


@pytest.mark.parametrize(
    ("workload", "values"),
    [
        ("m:g", {}),
        ("m:f", {"metric": PEAK_MEMORY}),
        ("m:f", {"commits": range(42)}),
        ("m:f", {"driver_at": 40}),
    ],
    ids=["another workload", "another metric", "two later observations", "machine changed"],
)
def test_who_cannot_know_is_no_witness(past, workload, values):
    other = past.history(workload, on=A100, **values)

    event = past.only_event(past.history("m:f", past.change(40)), other)

    assert event.other_classes is OtherClasses.UNKNOWN


def farm(past, *sizes, on=H100, driver_at=40):
    """Return a workload for each size: moved by so much at commit 40, or not at all."""
    return [
        past.history(
            f"m{n}:f", *([past.change(40, size=size)] if size else []), on=on, driver_at=driver_at
        )
        for n, size in enumerate(sizes)
    ]


def test_a_driver_that_moves_most_workloads_is_no_regression(past):
    grouped_changes = group_changes(farm(past, 0.05, -0.02, 0.1, 0, 0))

    (environment_change,) = grouped_changes.environment_changes
    assert grouped_changes.events == ()
    assert (environment_change.machine_class, environment_change.commits) == (
        H100,
        CommitRange(40, 40),
    )
    assert (environment_change.changed_workloads, environment_change.watched_workloads) == (3, 5)


def test_who_misses_the_driver_by_a_commit_is_part_of_it(past):
    late = past.history("late:f", past.change(42), driver_at=40)

    grouped_changes = group_changes([*farm(past, 0.05, 0.05), late])

    assert grouped_changes.events == ()


def test_metrics_that_no_driver_can_move_do_not_hide_it(past):
    memory = [past.history(f"m{n}:f", metric=PEAK_MEMORY, driver_at=40) for n in range(2)]
    work = [
        past.history(f"m{n}:f", metric=METRICS["flops_per_step"], driver_at=40) for n in range(2)
    ]

    grouped_changes = group_changes([*farm(past, 0.05, 0.05), *memory, *work])

    assert len(grouped_changes.environment_changes) == 1


def test_a_driver_that_comes_with_few_moves_leaves_them_to_the_commit(past):
    event = past.only_event(*farm(past, 0.05, 0, 0, 0, 0))

    assert event.has_new_environment


def test_one_workload_alone_is_no_change_of_the_environment(past):
    assert past.only_event(*farm(past, 0.05)).has_new_environment


def test_moves_without_a_new_environment_are_events(past):
    assert not past.only_event(*farm(past, 0.05, 0.05, 0.05, driver_at=0)).has_new_environment


def test_moves_that_are_not_believed_show_no_change_of_the_environment(past):
    doubtful = [
        past.history(f"m:f{n}", past.change(40, p_value=0.03), driver_at=40) for n in range(3)
    ]
    silent = [
        past.history(f"m:f{n}", metric=metric, driver_at=40)
        for n in range(3)
        for metric in (PEAK_MEMORY, CPU_ACTIVE)
    ]

    assert group_changes([*doubtful, *silent]).environment_changes == ()


def test_what_moves_as_well_on_machines_that_stayed_is_a_commit(past):
    event = past.only_event(
        *farm(past, 0.05, 0.05, 0.05), *farm(past, 0.05, 0.05, 0, on=A100, driver_at=0)
    )

    assert len(event.members) == 5


def test_machines_that_stayed_and_did_not_move_bear_the_driver_out(past):
    grouped_changes = group_changes(
        [*farm(past, 0.05, 0.05), *farm(past, 0, 0, on=A100, driver_at=0)]
    )

    (environment_change,) = grouped_changes.environment_changes
    assert environment_change.machine_class != A100


def test_two_classes_whose_drivers_change_are_two_findings(past):
    grouped_changes = group_changes([*farm(past, 0.05, 0.05), *farm(past, 0.05, 0.05, on=A100)])

    assert [
        environment_change.machine_class
        for environment_change in grouped_changes.environment_changes
    ] == [A100, H100]


def test_machines_that_take_turns_excuse_no_change_of_most_workloads(past):
    turns = ("old", "new") * 50
    workloads = [
        replace(past.history(name, past.change(40)), environments=turns) for name in ("m:f", "m:g")
    ]

    event = past.only_event(*workloads)

    assert (event.commits, event.has_new_environment) == (CommitRange(40, 40), False)


def test_one_rerun_on_the_old_machine_makes_the_driver_no_regression(past):
    environments = ["old"] * 40 + ["new"] * 60
    environments[41] = "old"
    workloads = [
        replace(past.history(name, past.change(40)), environments=tuple(environments))
        for name in ("m:f", "m:g")
    ]

    grouped_changes = group_changes(workloads)

    assert grouped_changes.events == ()
    assert [
        environment_change.commits for environment_change in grouped_changes.environment_changes
    ] == [CommitRange(40, 40)]
