"""The day's retention as a durable workflow: once a day, resumed, and its own records go, too."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from queue import Queue

import pytest

from perfledger_service.values.jobs.queued_work import QueuedRetention
from perfledger_service.workflows import UploadWorkflow
from tests.service.workflows.engine_files import NO_STEPS

PATIENCE_S = 600
TODAY = QueuedRetention(due_at=datetime(2020, 11, 20, tzinfo=UTC))
TOMORROW = QueuedRetention(due_at=datetime(2020, 11, 21, tzinfo=UTC))


@pytest.fixture
def passes():
    """What each pass returns, and raises if it is an error."""
    return []


@pytest.fixture
def calls():
    return Queue()


@pytest.fixture
def workflow(engine_url, passes, calls):
    def prune():
        calls.put("prune")
        result = passes.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    workflow = UploadWorkflow(engine_url, replace(NO_STEPS, prune=prune), retry_interval_s=0.001)
    workflow.launch()
    yield workflow
    workflow.close()


@pytest.mark.slow(ci_only=True)
def test_a_day_is_pruned_once_in_as_many_passes_as_it_takes(workflow, passes, calls):
    passes += [True, True, False, False]
    for _ in range(3):
        workflow.enqueue_retention(TODAY)
    for _ in range(3):
        calls.get(timeout=PATIENCE_S)

    workflow.enqueue_retention(TODAY)
    workflow.enqueue_retention(TOMORROW)

    calls.get(timeout=PATIENCE_S)
    assert passes == []
    assert calls.empty()


@pytest.mark.slow
def test_a_day_that_fails_leaves_the_next_one_alone(workflow, passes, calls):
    passes += [ValueError("a bug"), False]
    workflow.enqueue_retention(TODAY)
    calls.get(timeout=PATIENCE_S)

    workflow.enqueue_retention(TOMORROW)

    calls.get(timeout=PATIENCE_S)
    assert passes == []


@pytest.mark.slow(ci_only=True)
def test_records_of_ended_work_go_and_its_id_is_free_again(workflow, passes, calls):
    passes += [False, False]
    workflow.enqueue_retention(TODAY)
    calls.get(timeout=PATIENCE_S)
    while True:  # its end is recorded after the step's
        workflow.forget_ended(datetime.now(UTC) + timedelta(days=1))
        workflow.enqueue_retention(TODAY)
        if not calls.empty():
            break

    assert calls.get(timeout=PATIENCE_S) == "prune"
