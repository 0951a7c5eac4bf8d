"""`perfledger plan queue` as a user runs it, on a log that is made up."""

from functools import partial

import pytest


@pytest.fixture
def run(run):
    return partial(run, "plan")


def test_a_queue_says_waits_and_how_many_devices_are_enough(run):
    words = (
        "--arrivals-per-hour",
        40,
        "--service-minutes",
        30,
        "--devices",
        24,
        "--max-wait-minutes",
        5,
    )
    shown = " ".join(run("queue", *words).split())

    assert "20 busy of 24" in shown
    assert "devices are enough so that 95.0 % wait at most 5 min" in shown


def test_a_large_queue_is_shown_in_whole_devices(run):
    words = ("--arrivals-per-hour", 5600, "--service-minutes", 120, "--devices", 12_000)
    shown = " ".join(run("queue", *words).split())

    assert "5,600 devices requested an hour, for 2 h each: 11,200 busy of 12,000" in shown
    assert "the queue holds 0 jobs on average" in shown


def test_a_queue_of_a_log_adds_a_screening(run, log):
    shown = " ".join(run("queue", log, "--devices", 4).split())

    assert "G/G/c (screening)" in shown


def test_a_queue_without_end_says_so(run):
    assert "grows without limit" in run(
        "queue", "--arrivals-per-hour", 40, "--service-minutes", 60, "--devices", 9
    )


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_queue_is_written_for_programs(run, form):
    shown = run(
        "queue",
        "--arrivals-per-hour",
        4,
        "--service-minutes",
        30,
        "--max-wait-minutes",
        1,
        "--format",
        form,
    )

    assert "devices_needed" in shown
