"""What a check's report says of its power: the pairs that the margin takes, and its steps."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from perfledger.metrics import STEP_TIME
from perfledger_service.rendering.check.comment import comment
from perfledger_service.rendering.check.report_json import report_json
from perfledger_service.usecases.check.report_builder import build_report

STARTED = datetime(2026, 11, 20, 11, tzinfo=UTC)


@pytest.fixture
def followed(make_bundle):
    """Return a bundle whose runs followed each other, two seconds apart."""
    bundle = make_bundle(workloads=("a:step", "b:step"), samples=6, ratio=1.0)
    runs = tuple(
        replace(run, started_at=(STARTED + timedelta(seconds=2 * place)).isoformat())
        for place, run in enumerate(bundle.runs)
    )
    return replace(bundle, runs=runs)


def reported(bundle):
    return build_report(bundle, today=date(2026, 11, 20), is_local=True)


def test_every_result_with_a_spread_says_how_many_pairs_find_the_margin(followed):
    report = reported(followed)

    table = comment(report).partition("| Pairs (for ±1\N{NO-BREAK SPACE}%) |")[2]

    speed = [one for one in report.pairs_needed if one.metric == STEP_TIME.name]
    assert {one.workload for one in speed} == {"a:step", "b:step"}
    assert all(4 <= one.pairs <= 20 for one in speed)
    assert f" ({speed[0].pairs}) |" in table


def test_the_best_step_count_is_shown_where_runs_follow_each_other(followed):
    report = reported(followed)

    shown_comment = comment(report)

    assert all(5 <= one.best <= 30 for one in report.steps)
    assert "- A process measured 6 steps. The best use of the machine's time" in shown_comment
    assert f"{report.steps[1].best} of `b:step`." in shown_comment


def test_interleaved_runs_have_no_best_step_count(followed):
    turns = tuple(replace(run, turns=(3, 3)) for run in followed.runs)

    report = reported(replace(followed, runs=turns))

    assert [(one.fewest, one.most, one.best) for one in report.steps] == [(6, 6, None)] * 2
    assert "- A process measured 6 steps.\n" in comment(report)


def test_a_report_names_the_workloads_that_were_interleaved(followed):
    turns = tuple(
        replace(run, turns=(3, 3)) if run.workload == "b:step" else run for run in followed.runs
    )

    comments = [comment(reported(replace(followed, runs=runs))) for runs in (followed.runs, turns)]

    assert "back to back on one device" in comments[0]
    assert "interleaved in 1 of 2 workloads" in comments[1]


def test_the_document_has_both(followed):
    document = json.loads(report_json(reported(followed)))

    (power, *_), (steps, _) = document["power"], document["steps"]
    assert (power["workload"], power["metric"], power["change"]) == ("a:step", STEP_TIME.name, 0.01)
    assert isinstance(power["pairs"], int)
    assert (steps["workload"], steps["fewest"], steps["most"]) == ("a:step", 6, 6)
