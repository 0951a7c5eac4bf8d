from dataclasses import replace

import pytest

from perfledger_cost_models.review.document import UnknownFigure
from perfledger_cost_models.review.queue_waits import RecordedWaits, WaitFigures
from perfledger_service.rendering.layout.number_format import NOTHING
from perfledger_service.rendering.plan.queue_waits import wait_rows, wait_sentence

UNKNOWN = UnknownFigure(name="queue waits", reason="no log was given", remedy="add jobs")


def waits(team, *, met=None):
    return WaitFigures(
        team=team,
        jobs=12_345,
        wait_mean_s=5400.0,
        wait_p50_s=90.0,
        wait_p95_s=86_400.0,
        met_share=met,
        wait_curve_s=(),
    )


@pytest.fixture
def recorded():
    return RecordedWaits(
        log="jobs\x1b.csv",
        overall=waits(""),
        teams=(waits("nlp"), waits("")),
        objective_s=None,
        objective_share=None,
    )


def test_teams_come_before_everyone_and_use_without_one_is_named(recorded):
    rows = wait_rows(recorded)

    assert rows is not None
    assert [row["team"] for row in rows] == ["nlp", "(no team)", "all jobs"]
    assert rows[0] == {
        "team": "nlp",
        "jobs": "12,345",
        "mean": "1.5 h",
        "p50": "1.5 min",
        "p95": "1 d",
        "met": NOTHING,
    }


def test_waits_that_are_not_known_have_no_rows_and_no_sentence():
    assert wait_rows(UNKNOWN) is None
    assert wait_sentence(UNKNOWN, "2026Q3") == ""


def test_without_an_objective_the_sentence_says_so(recorded):
    assert wait_sentence(recorded, "2026Q3") == (
        "12,345 jobs of 2026Q3 waited 1.5 h on average, 95 % of them at most 1 d, by jobs.csv. "
        "The plan states no objective for waits."
    )


@pytest.mark.parametrize(("met", "verdict"), [(0.95, "met: 95.0 %"), (0.5, "not met: 50.0 %")])
def test_an_objective_is_met_or_not(recorded, met, verdict):
    aimed = replace(recorded, overall=waits("", met=met), objective_s=3600.0, objective_share=0.9)

    sentence = wait_sentence(aimed, "2026Q3").replace("\xa0", " ")
    rows = wait_rows(aimed)

    assert sentence.endswith(f"The objective, 90 % within 1 h, was {verdict} were.")
    assert rows is not None
    assert rows[-1]["met"].replace("\xa0", " ") == verdict.removeprefix("not ").removeprefix(
        "met: "
    )


def test_jobs_whose_run_a_log_cuts_are_named(recorded):
    sentence = wait_sentence(replace(recorded, cut_jobs=3), "2026Q3")

    assert sentence.endswith(
        "The plan states no objective for waits. 3 jobs may have run before the log shows them: "
        "their waits are unknown. Either sacct --truncate cut the runs (export without it), or a "
        "job was requeued and kept its Submit (its earlier runs are in the log; the wait of a "
        "later run is not)."
    )
