"""Work of an executor that died, on a real PostgreSQL."""

import threading
from contextlib import contextmanager
from queue import Queue

import pytest

from perfledger_service.values.jobs.queued_work import QueuedUpload
from perfledger_service.workflow_database import workflow_database_url
from perfledger_service.workflows import UploadWorkflow, WorkflowSteps

PATIENCE_S = 600


class HeldPosts:
    """Posts that begin and end when they may, and which executors somebody asked about."""

    def __init__(self):
        self.posted: Queue[str] = Queue()
        self.has_begun, self.may_end = threading.Event(), threading.Event()
        self.questions, self.dead = [], set()

    def post(self, upload_id):
        self.posted.put(upload_id)
        self.has_begun.set()
        self.may_end.wait(timeout=PATIENCE_S)
        return ()

    @contextmanager
    def of_dead(self, executor_id):
        self.questions.append(executor_id)
        yield executor_id in self.dead


@pytest.fixture
def posts():
    return HeldPosts()


@pytest.fixture
def launched(posts, postgres_url):
    @contextmanager
    def launched(executor_id):
        steps = WorkflowSteps(
            judge=lambda _: True,
            post=posts.post,
            fail=lambda _, __: None,
            defer=lambda _, __, ___: None,
            deadlines=lambda _: (),
            post_check=lambda _: (),
            carry_out=lambda _: (),
            fail_command=lambda _, __: None,
        )
        url = workflow_database_url(postgres_url)
        jobs = UploadWorkflow(url, steps, closing_s=0.0, executor_id=executor_id)
        jobs.launch()
        try:
            yield jobs
        finally:
            jobs.close()

    return launched


@pytest.mark.slow(ci_only=True)
def test_the_work_of_a_dead_executor_is_resumed_in_its_queue_and_that_of_a_living_one_is_not(
    posts, launched
):
    with launched("one") as jobs:
        jobs.enqueue(QueuedUpload(upload_id="1", partition="o/r#7"))
        assert posts.has_begun.wait(timeout=PATIENCE_S)
        jobs.take_over(posts.of_dead)
        assert posts.questions == []  # nobody buries himself
    assert posts.posted.get(timeout=PATIENCE_S) == "1"
    with launched("two") as jobs:
        jobs.take_over(posts.of_dead)
        jobs.enqueue(QueuedUpload(upload_id="2", partition="o/r#7"))  # behind the first one
        assert posts.posted.empty()
        posts.dead.add("one")
        posts.may_end.set()
        jobs.take_over(posts.of_dead)
        done = [posts.posted.get(timeout=PATIENCE_S) for _ in range(2)]

    assert done == ["1", "2"]
    assert posts.questions == ["one", "one"]
