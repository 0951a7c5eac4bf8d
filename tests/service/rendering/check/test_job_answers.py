"""Answers about jobs: each stage in words, and untrusted text as text."""

from datetime import date

import pytest

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.rendering.check.job_answers import jobs_answer
from perfledger_service.values.jobs.progress import JobProgress, JobStage

HOSTILE = "`</code><b>@octo [x](http://e.vil)| "
URL = "https://ledger.example/runs/1"
HEAD = "b" * 40


def text(**values):
    progress = JobProgress(machine_class="cpu:X:1", **values)
    lines = jobs_answer(RunnerJobKind.RERUN, HEAD, "", [progress]).splitlines()
    return lines[-1].removeprefix("- `cpu:X:1`: ")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"stage": JobStage.NOT_QUEUED}, "not queued: no runner of this machine class"),
        ({"stage": JobStage.NOT_QUEUED, "reason": "9 jobs wait"}, "not queued: 9 jobs wait"),
        ({"stage": JobStage.WITHOUT_RUNNER}, "in the queue, but no runner of this"),
        (
            {"stage": JobStage.OVER_BUDGET, "budget_until": date(2026, 11, 30)},
            "in the queue; the budget of this project's jobs is used up until 2026-11-30",
        ),
        ({"stage": JobStage.RETRYING, "reason": "it failed"}, "will be tried again: it failed"),
        ({"stage": JobStage.QUEUED}, "in the queue, the next one"),
        ({"stage": JobStage.QUEUED, "jobs_before": 1}, "in the queue, 1 job is before it"),
        ({"stage": JobStage.QUEUED, "jobs_before": 2}, "in the queue, 2 jobs are before it"),
        (
            {"stage": JobStage.QUEUED, "jobs_before": 49},
            "in the queue, 20 jobs or more are before it",
        ),
        ({"stage": JobStage.RUNNING, "runner": "box"}, "running on `box`"),
        ({"stage": JobStage.JUDGING}, "measured, and being judged"),
        ({"stage": JobStage.DONE, "title": "No regression", "url": URL}, f"[No regression]({URL})"),
        (
            {"stage": JobStage.DONE, "title": "No regression", "url": URL, "commit": "f" * 40},
            f"found `ffffffffffff`: [No regression]({URL})",
        ),
        ({"stage": JobStage.DONE, "reason": "the ends are alike"}, "done: the ends are alike"),
        ({"stage": JobStage.DROPPED, "reason": "it failed"}, "without a result: it failed"),
    ],
)
def test_each_stage_has_its_words(values, words):
    assert words in text(**values)


def test_a_forks_commit_is_named_as_such():
    answer = jobs_answer(RunnerJobKind.RERUN, HEAD, "", [], is_fork=True)

    assert answer.startswith(
        "Check of the fork's commit `bbbbbbbbbbbb`, allowed until the next push:"
    )


def test_places_far_back_change_seldom():
    lines = {text(stage=JobStage.QUEUED, jobs_before=number) for number in range(1000)}

    assert len(lines) <= 10


@pytest.mark.parametrize(
    "stage", [stage for stage in JobStage if stage is not JobStage.OVER_BUDGET]
)
def test_untrusted_text_is_shown_as_text(stage):
    progress = JobProgress(
        machine_class=HOSTILE, stage=stage, runner=HOSTILE, reason=HOSTILE, title=HOSTILE, url=URL
    )
    answer = jobs_answer(RunnerJobKind.BISECTION, HEAD, HOSTILE, [progress])
    outside = "".join(answer.split("``")[::2])

    assert "<b>" not in outside
    assert "@octo" not in outside
    assert "](http://e.vil" not in outside
    assert answer.startswith("Bisection of ``")
