from dataclasses import replace
from typing import Any

import pytest

from perfledger_cost_models.capacity.devices_needed import DevicesNeeded
from perfledger_cost_models.capacity.log_queue import log_queue_plan
from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.queueing.server_count import WaitTarget, assumed_arrivals, queue_plan
from perfledger_service.rendering.plan.calibration import recorded_devices_sentence
from perfledger_service.rendering.plan.log_queue import (
    formula_sentences,
    log_queue_document,
    needed_sentence,
    queue_rows,
)

TARGET = WaitTarget(wait_s=60.0, share=0.9)


def plain_text(text):
    """Return a text with plain spaces."""
    return " ".join(text.split())


@pytest.fixture
def plan():
    jobs = table_of(
        Job(submit_s=at * 100.0, run_s=400.0, devices=4, wait_s=30.0) for at in range(20)
    )
    return log_queue_plan(
        jobs, log="jobs.csv", devices=16, per_node=None, policy=None, target=TARGET
    )


def test_the_record_comes_before_the_replays(plan):
    rows = queue_rows(plan)

    assert [row.source for row in rows] == ["as recorded", "replay, fifo"]
    assert [row.devices for row in rows] == [None, 16]


def test_another_number_of_devices_that_is_enough_has_a_row_of_its_own(plan):
    fewer = replace(plan, needed=replace(plan.needed, devices=8))

    assert [row.devices for row in queue_rows(fewer)] == [None, 16, 8]


@pytest.mark.parametrize(
    ("stated", "recorded", "row", "sentence"),
    [
        (
            None,
            24,
            24,
            (
                "The log shows 28 devices in use at one moment, more than the 16 of the replay: "
                "its share in use is relative to 24."
            ),
        ),
        (
            None,
            16,
            None,
            "The log shows 28 devices in use at one moment, more than the 16 of the replay.",
        ),
        (16, 16, 16, ""),
        (
            64,
            64,
            64,
            (
                "The log's header states 64 devices, not the 16 of the replay: its share in use "
                "is relative to 64."
            ),
        ),
        (
            8,
            24,
            24,
            (
                "The log's header states 8 devices, but on average more are in use: its share in "
                "use is relative to 24. Check its sizes and times."
            ),
        ),
        (
            20,
            20,
            20,
            (
                "The log's header states 20 devices, not the 16 of the replay: its share in use is "
                "relative to 20. At one moment its jobs hold 28, so some of its sizes or times are "
                "wrong."
            ),
        ),
    ],
)
def test_the_record_is_of_its_own_devices(plan, stated, recorded, row, sentence):
    plan = replace(plan, peak_devices=28, stated_devices=stated, recorded_devices=recorded)

    assert queue_rows(plan)[0].devices == row
    assert recorded_devices_sentence(plan, has_waits=True) == sentence


def test_devices_that_the_replay_has_are_no_news(plan):
    plan = replace(plan, peak_devices=16, stated_devices=None, recorded_devices=16)

    assert recorded_devices_sentence(plan, has_waits=True) == ""


def test_a_log_without_waits_has_no_share_in_use(plan):
    plan = replace(plan, stated_devices=64, recorded_devices=64)

    assert recorded_devices_sentence(plan, has_waits=False) == (
        "The log's header states 64 devices, not the 16 of the replay."
    )


def test_the_sentence_names_devices_nodes_target_and_policy(plan):
    assert plain_text(needed_sentence(plan)).startswith(
        "16 devices (2 nodes of 8) are enough: 90 % of the jobs wait at most 1 min in the "
        "replay with fifo"
    )


def test_the_range_of_resampled_logs_is_shown():
    needed = DevicesNeeded(devices=16, low=8, high=24, logs=20)
    jobs = table_of(Job(submit_s=at * 100.0, run_s=40.0, devices=1) for at in range(5))
    plan = log_queue_plan(
        jobs, log="jobs.csv", devices=4, per_node=None, policy=None, target=TARGET
    )
    plan = replace(plan, needed=needed)

    assert "; the log and 20 logs resampled from its days need 8 to 24." in needed_sentence(plan)


def test_programs_get_the_whole_plan(plan):
    facts: Any = log_queue_document(plan).facts

    assert facts["needed"].devices == 16
    assert facts["formula"] is None
    assert facts["no_formula_because"] == plan.formula_obstacle
    assert facts["calibration"]["policy"] == "fifo"


def test_every_sentence_of_a_formula_is_labelled():
    arrivals = assumed_arrivals(arrivals_per_s=1 / 600, service_s=1800.0)

    stable = list(formula_sentences(queue_plan(arrivals, devices=5, target=TARGET)))
    unstable = list(formula_sentences(queue_plan(arrivals, devices=2)))

    assert all(line.startswith("Formula for random arrivals (M/M/c)") for line in stable + unstable)
    assert "devices, 90 % of the jobs wait at most 1 min" in plain_text(stable[1])
    assert "grows without limit" in unstable[0]
