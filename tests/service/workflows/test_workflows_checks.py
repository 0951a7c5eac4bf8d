"""The workflow of checks, really running, with a step that says what it posted."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from queue import Queue
from typing import Any

import pytest

from perfledger_service.values.jobs.queued_work import QueuedCheck
from perfledger_service.workflows import UploadWorkflow
from tests.service.workflows.engine_files import NO_STEPS

PATIENCE_S = 600
CHECK = QueuedCheck(
    project_id=1,
    repository="o/r",
    pull_request=7,
    head_sha="b" * 40,
    due_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
)
LATER = replace(CHECK, due_at=CHECK.due_at + timedelta(hours=6))


@pytest.mark.slow
@pytest.mark.parametrize("last", [(), None], ids=["now", "as earlier versions recorded it"])
def test_a_check_is_posted_again_once_at_the_deadline_that_posting_it_set(engine_url, last):
    posted_ids, later_checks = Queue[Any](), iter([(LATER,), (LATER,), last])

    def post(check):
        posted_ids.put(check.id)
        return next(later_checks)

    steps = replace(NO_STEPS, post_check=post)
    jobs = UploadWorkflow(engine_url, steps, retry_interval_s=0.001, closing_s=30.0)
    jobs.launch()
    try:
        jobs.enqueue_check(CHECK)
        assert posted_ids.get(timeout=PATIENCE_S) == CHECK.id
        assert posted_ids.get(timeout=PATIENCE_S) == LATER.id
        other = replace(CHECK, pull_request=8)
        jobs.enqueue_check(other)
        assert posted_ids.get(timeout=PATIENCE_S) == other.id
    finally:
        jobs.close()
