"""Tests of what Slurm's accounting says of a job, on answers as sacct gives them."""

import os

import pytest

from perfledger_runners.launchers import slurm_accounting
from perfledger_runners.launchers.engine_tool import ToolAnswer


@pytest.fixture
def usage_of(monkeypatch):
    """Return what is said of a job of which sacct says each of these, the last one for good."""

    def usage_of(*answers, status=0):
        times = iter(range(1000))
        left = [*answers]

        def ask_tool(words, **_):
            assert words[-2] == "--name=perfledger-1"
            return ToolAnswer(status, (left.pop(0) if left[1:] else left[0]).encode(), "")

        monkeypatch.setattr(slurm_accounting, "ask_tool", ask_tool)
        return slurm_accounting.accounted_usage(
            "perfledger-1", {"COMPLETED"}, clock=lambda: next(times), wait=lambda _: None
        )

    return usage_of


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            "COMPLETED|3600|billing=8,cpu=8,gres/gpu:h100=2,gres/gpu=2,node=1",
            "2 GPU hours and 8 CPU hours in 1 run",
        ),
        (
            "COMPLETED|3600|cpu=8,gres/gpu:h100=1,gres/gpu:a100=1",
            "2 GPU hours and 8 CPU hours in 1 run",
        ),
        (
            "PREEMPTED|1800|cpu=2,gres/gpu=1\nCOMPLETED|5400|cpu=2,gres/gpu=4",
            "6.5 GPU hours and 4 CPU hours in 2 runs",
        ),
        (
            "CANCELLED by 1000|0|\nCOMPLETED|3600|cpu=2,gres/gpu=1",
            "1 GPU hours and 2 CPU hours in 1 run",
        ),
        ("COMPLETED|3600|billing=2,cpu=2,mem=4000M,node=1", "2 CPU hours in 1 run"),
        ("NODE_FAIL|3600|cpu=2,gres/gpu=1\nCOMPLETED|3600|cpu=2", "4 CPU hours in 2 runs"),
        ("COMPLETED|3600|gres/gpu=2,node=1", "2 GPU hours in 1 run"),
    ],
)
def test_the_runs_of_a_job_add_up_and_what_is_not_accounted_for_is_not_zero(
    usage_of, lines, sentence
):
    assert usage_of(lines) == f"Slurm's accounting: {sentence}"


def test_a_job_that_never_began_used_nothing(usage_of):
    assert usage_of("COMPLETED|0|") == ""
    assert usage_of("COMPLETED|5|node=1") == ""


def test_accounting_is_asked_until_it_has_the_last_run(usage_of):
    first = "PREEMPTED|1800|cpu=2,gres/gpu=1\n"
    answers = ["", first, f"{first}RUNNING|3|cpu=2,gres/gpu=1"]

    assert usage_of(*answers, f"{first}COMPLETED|1800|cpu=2,gres/gpu=1") == (
        "Slurm's accounting: 1 GPU hours and 2 CPU hours in 2 runs"
    )
    for answer in answers:
        assert usage_of(answer) == (
            "Slurm's accounting has not its end yet: sacct --duplicates --name=perfledger-1"
        )


@pytest.mark.parametrize("lines", ["sacct: error", "COMPLETED|long|cpu=2", "COMPLETED|1|cpu=2|x"])
def test_lines_that_are_no_runs_say_nothing(usage_of, lines):
    assert usage_of(lines) == ""


def test_without_accounting_nothing_is_said(usage_of, monkeypatch):
    assert usage_of("Slurm accounting storage is disabled", status=1) == ""
    monkeypatch.undo()
    monkeypatch.setitem(os.environ, "PATH", "")
    assert slurm_accounting.accounted_usage("perfledger-1", {"COMPLETED"}) == ""
