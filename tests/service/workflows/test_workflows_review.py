"""The workflow of a quarter's review: one attempt a day, and a failure that is recorded."""

from dataclasses import replace
from datetime import UTC, datetime
from queue import Queue
from typing import Any

import pytest

from perfledger_service.errors import INTERNAL, UsageError
from perfledger_service.values.jobs.queued_work import QueuedReview
from perfledger_service.workflows import UploadWorkflow
from tests.service.workflows.engine_files import NO_STEPS

pytestmark = pytest.mark.slow

PATIENCE_S = 600
TODAY = QueuedReview(quarter="2020Q3", due_at=datetime(2020, 10, 9, tzinfo=UTC))
TOMORROW = QueuedReview(quarter="2020Q3", due_at=datetime(2020, 10, 10, tzinfo=UTC))


@pytest.fixture
def calls():
    return Queue[Any]()


@pytest.fixture
def outcomes():
    """What each attempt raises, None for one that stores the review."""
    return []


@pytest.fixture
def workflow(engine_url, outcomes, calls):
    def make(work):
        calls.put(("made", work))
        if (outcome := outcomes.pop(0)) is not None:
            raise outcome

    steps = replace(
        NO_STEPS, review=make, fail_review=lambda work, reason: calls.put((reason, work))
    )
    workflow = UploadWorkflow(engine_url, steps, retry_interval_s=0.001)
    workflow.launch()
    yield workflow
    workflow.close()


def test_a_day_has_one_attempt_and_says_what_is_missing(workflow, outcomes, calls):
    outcomes += [UsageError("there is no bill"), ValueError("a bug"), None]
    for _ in range(3):
        workflow.enqueue_review(TODAY)
    first = [calls.get(timeout=PATIENCE_S) for _ in range(2)]
    for _ in range(2):
        workflow.enqueue_review(TOMORROW)

    assert first == [("made", TODAY), ("there is no bill", TODAY)]
    assert [calls.get(timeout=PATIENCE_S) for _ in range(2)] == [
        ("made", TOMORROW),
        (INTERNAL, TOMORROW),
    ]
    assert outcomes == [None]
