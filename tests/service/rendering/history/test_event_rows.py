import json
import math
from dataclasses import replace

import pytest

from perfledger.metrics import PEAK_MEMORY
from perfledger_baselines.history.commits.attribution import CommitRange, Series
from perfledger_baselines.history.commits.grouping import GroupedChanges
from perfledger_service.rendering.history.event_rows import (
    MAX_MOVED_SERIES,
    commits_between,
    doubtful_events_sentence,
    event_rows,
    events_record,
)

COMMITS = tuple(f"c{place}" for place in range(8))


def grouped(*events):
    return GroupedChanges(events=events, environment_changes=())


def test_commits_are_named_as_git_names_a_range():
    assert commits_between(CommitRange(3, 3), COMMITS) == "c2..c3"
    assert commits_between(CommitRange(1, 7), COMMITS) == "c0..c7"


def test_what_happened_last_comes_first_and_what_is_doubtful_not_at_all(grouped_changes):
    rows = event_rows(grouped_changes, COMMITS)

    assert [(row.commits, row.what, row.tone) for row in rows] == [
        ("c4..c6", "machine changed", "undecided"),
        ("c2..c3", "worse", "regressed"),
    ]
    assert doubtful_events_sentence(grouped_changes) == (
        "1 other change of single series may be due to chance"
    )


def test_without_doubtful_events_there_is_no_sentence_and_with_two_a_plural(make_events):
    doubtful = make_events.event_of(make_events.attributed("a:f"), significant=0)

    assert doubtful_events_sentence(grouped()) == ""
    assert doubtful_events_sentence(grouped(doubtful, doubtful)).startswith("2 other changes of")


def test_an_event_names_its_series_largest_first_and_which_moved_first(make_events):
    large = make_events.attributed("gpt:step", change=0.2, first=3, last=5)
    early = make_events.attributed("gpt:eval", first=3, last=3)
    memory = make_events.attributed("gpt:step", metric=PEAK_MEMORY)
    event = make_events.event_of(large, early, memory, significant=2)

    (row,) = event_rows(grouped(event), COMMITS)

    assert row.summary == "2 of 120 series"
    assert [(one.workload, one.was_first) for one in row.moved_series] == [
        ("gpt:step", False),
        ("gpt:eval", True),
    ]
    first = row.moved_series[0]
    assert (first.size, first.interval) == ("+20.0\xa0%", "+19.0\xa0to\xa0+21.0")
    assert (first.metric, first.machine_class) == ("step_time_p50", "")


def test_machines_are_named_where_the_series_are_of_several(make_events):
    event = make_events.event_of(
        make_events.attributed("gpt:step"),
        make_events.attributed("gpt:step", machine_class="cpu:Other:1"),
    )

    (row,) = event_rows(grouped(event), COMMITS)

    assert [one.machine_class for one in row.moved_series] == ["cpu:Test CPU:1", "cpu:Other:1"]


def test_the_machine_of_an_import_is_named_though_all_series_are_of_it(make_events):
    imported = make_events.attributed("fib", machine_class="imported:asv, box:1")

    (row,) = event_rows(grouped(make_events.event_of(imported)), COMMITS)

    assert [one.machine_class for one in row.moved_series] == ["imported:asv, box:1"]


def test_of_many_series_the_largest_are_named(make_events):
    changes = [make_events.attributed(f"m:f{number}") for number in range(MAX_MOVED_SERIES + 3)]

    (row,) = event_rows(grouped(make_events.event_of(*changes)), COMMITS)

    assert row.summary == f"{MAX_MOVED_SERIES + 3} of 120 series"
    assert len(row.moved_series) == MAX_MOVED_SERIES


SERIES = (Series("gpt:step", PEAK_MEMORY, "cpu:Other:1"),)


@pytest.mark.parametrize(
    ("values", "detail"),
    [
        ({}, ""),
        ({"changed_elsewhere": SERIES}, "other machines changed as well"),
        ({"unchanged_elsewhere": SERIES}, "other machines did not change"),
        (
            {"changed_elsewhere": SERIES, "unchanged_elsewhere": SERIES},
            "some other machines changed, some did not",
        ),
        (
            {"changed_elsewhere": SERIES, "has_new_environment": True},
            (
                "other machines changed as well; the machine changed there too: "
                "measure again to be sure"
            ),
        ),
    ],
)
def test_an_event_says_what_other_machines_and_its_own_did(make_events, values, detail):
    event = make_events.event_of(make_events.attributed("gpt:step"), **values)

    (row,) = event_rows(grouped(event), COMMITS)

    assert row.detail == detail


def test_what_became_better_has_its_colour(make_events):
    (row,) = event_rows(
        grouped(make_events.event_of(make_events.attributed("gpt:step", change=-0.1))), COMMITS
    )

    assert (row.what, row.tone) == ("better", "improved")


def test_a_machine_that_changed_is_no_commits_fault(grouped_changes):
    row = event_rows(grouped_changes, COMMITS)[0]

    assert row.summary == "2 of 3 workloads on cpu:Test CPU:1"
    assert row.detail.startswith("no commit is responsible")
    assert {one.was_first for one in row.moved_series} == {False}


def test_programs_get_all_events_with_places_from_zero(grouped_changes):
    record = json.loads(json.dumps(events_record(grouped_changes, COMMITS)))

    believed, doubtful = record["events"]
    assert (believed["is_believed"], doubtful["is_believed"]) == (True, False)
    assert (believed["first"], believed["last"]) == (3, 3)
    assert (believed["after"], believed["until"]) == ("c2", "c3")
    assert believed["moved_first"]["workload"] in {"gpt:step", "gpt:eval"}
    assert believed["members"][0] == {
        "workload": "gpt:step",
        "metric": "step_time_p50",
        "machine_class": "cpu:Test CPU:1",
        "change": 0.2,
        "low": 0.19,
        "high": pytest.approx(0.21),
        "adjusted_p": 0.01,
        "is_believed": True,
    }
    (machine,) = record["environment_changes"]
    assert (machine["moved_workloads"], machine["watched_workloads"]) == (2, 3)


def test_a_change_from_nothing_has_no_relative_size_in_json(make_events):
    change = make_events.attributed("gpt:step")
    endless = replace(change, change=replace(change.change, change=math.inf, high=math.nan))

    record = events_record(grouped(make_events.event_of(endless)), COMMITS)

    (event,) = json.loads(json.dumps(record, allow_nan=False))["events"]
    assert (event["members"][0]["change"], event["members"][0]["high"]) == (None, None)
