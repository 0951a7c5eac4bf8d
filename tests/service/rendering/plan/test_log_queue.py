from dataclasses import replace
from typing import Any

import pytest

from perfledger_cost_models.capacity.devices_needed import DevicesNeeded
from perfledger_cost_models.capacity.log_queue import log_queue_plan
from perfledger_cost_models.job_logs.job_table import Job, table_of
from perfledger_cost_models.queueing.server_count import WaitTarget, assumed_arrivals, queue_plan
from perfledger_service.rendering.plan.log_queue import (
    formula_sentences,
    log_queue_document,
    needed_sentence,
    queue_rows,
)

TARGET = WaitTarget(wait_s=60.0, share=0.9)


def plain(text):
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

    assert [row.source for row in rows] == ["as recorded", "replay, fifo", "replay, fifo"]
    assert [row.devices for row in rows] == [None, 16, 16]


def test_the_sentence_names_devices_nodes_target_and_policy(plan):
    assert plain(needed_sentence(plan)).startswith(
        "16 devices (2 nodes of 8) are enough so that 90.0 % of the jobs wait at most 1 min in the "
        "replay with fifo"
    )


def test_the_range_of_resampled_logs_is_shown():
    needed = DevicesNeeded(devices=16, low=8, high=24, logs=20)
    jobs = table_of(Job(submit_s=at * 100.0, run_s=40.0, devices=1) for at in range(5))
    plan = log_queue_plan(
        jobs, log="jobs.csv", devices=4, per_node=None, policy=None, target=TARGET
    )
    plan = replace(plan, needed=needed)

    assert "; it and 20 logs resampled from its days need 8 to 24." in needed_sentence(plan)


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
    assert "devices so that 90.0 % of the jobs wait at most 1 min" in plain(stable[1])
    assert "grows without limit" in unstable[0]
