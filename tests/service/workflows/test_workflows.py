"""The workflow engine, really running, with steps that only say that they were called."""

import sqlite3
import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from queue import Queue

import pytest
from sqlalchemy.exc import OperationalError

from perfledger_service.errors import INTERNAL, GitHubError, PerfledgerError, UsageError
from perfledger_service.values.jobs.queued_work import QueuedCheck, QueuedUpload
from perfledger_service.workflow_database import workflow_database_url
from perfledger_service.workflows import ATTEMPTS, UploadWorkflow, WorkflowSteps

PATIENCE_S = 600
CHECK = QueuedCheck(
    project_id=1,
    repository="o/r",
    pull_request=7,
    head_sha="b" * 40,
    due_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
)


class ScriptedSteps:
    """Steps whose behaviour a test sets; `done` gets what was called at the end of it."""

    def __init__(self):
        self.calls: list[tuple[str, str]] = []
        self.done: Queue[tuple[str, str]] = Queue()
        self.on_judge = lambda _: True
        self.on_say = lambda _: None
        self.on_check = lambda _: None
        self.on_fail = lambda: None
        self.deadlines: tuple[QueuedCheck, ...] = ()
        self.others: tuple[QueuedCheck, ...] = ()
        self.deferred: list[tuple[str, str, float | None]] = []
        self.next_attempt = None

    def judge(self, upload_id):
        self.calls.append(("judge", upload_id))
        is_to_be_said = self.on_judge(upload_id)
        if not is_to_be_said:
            self.done.put(("judged", upload_id))
        return is_to_be_said

    def say(self, upload_id):
        self.calls.append(("say", upload_id))
        self.on_say(upload_id)
        self.done.put(("posted", upload_id))
        return self.others

    def fail(self, _, reason):
        self.done.put(("failed", reason))
        return self.on_fail()

    def defer(self, upload_id, reason, wait_s):
        self.deferred.append((upload_id, reason, wait_s))
        return self.next_attempt

    def post_check(self, check):
        self.on_check(check)
        self.done.put(("check", check.id))

    def next(self):
        return self.done.get(timeout=PATIENCE_S)


def functions_of(steps):
    return WorkflowSteps(
        judge=steps.judge,
        post=steps.say,
        fail=steps.fail,
        defer=steps.defer,
        deadlines=lambda _: steps.deadlines,
        post_check=steps.post_check,
        carry_out=lambda _: (),
        fail_command=lambda _, __: None,
    )


@pytest.fixture
def steps():
    return ScriptedSteps()


@pytest.fixture
def launched(engine_url):
    @contextmanager
    def launch(steps, *, url=engine_url, closing_s=30.0):
        jobs = UploadWorkflow(url, functions_of(steps), retry_interval_s=0.001, closing_s=closing_s)
        jobs.launch()
        try:
            yield jobs
        finally:
            if jobs.is_launched:
                jobs.close()

    return launch


def work(upload_id="1", partition="o/r#7"):
    return QueuedUpload(upload_id=upload_id, partition=partition)


@pytest.mark.slow(ci_only=True)
def test_an_upload_is_judged_and_then_said_once_however_often_it_is_enqueued(steps, launched):
    with launched(steps) as jobs:
        for _ in range(3):
            jobs.enqueue(work())
        assert steps.next() == ("posted", "1")
        jobs.enqueue(work())
        jobs.enqueue(work("2"))
        assert steps.next() == ("posted", "2")

    assert steps.calls == [("judge", "1"), ("say", "1"), ("judge", "2"), ("say", "2")]


@pytest.mark.slow(ci_only=True)
def test_a_deadline_that_an_upload_brings_posts_the_check_once(steps, launched):
    steps.deadlines = (CHECK,)
    with launched(steps) as jobs:
        jobs.enqueue(work())
        assert {steps.next()[0], steps.next()[0]} == {"posted", "check"}
        jobs.sweep([], [CHECK])
        steps.deadlines = ()
        jobs.enqueue(work("2"))
        assert steps.next() == ("posted", "2")

    assert steps.done.empty()


@pytest.mark.slow
def test_a_post_has_the_checks_of_other_pull_requests_posted_after_it(steps, launched):
    steps.others = (CHECK,)
    with launched(steps) as jobs:
        jobs.enqueue(work())

        assert [steps.next(), steps.next()] == [("posted", "1"), ("check", CHECK.id)]


@pytest.mark.slow
def test_a_check_waits_for_its_time(steps, launched):
    distant = datetime(2126, 11, 20, 12, tzinfo=UTC)
    with launched(steps) as jobs:
        jobs.enqueue_check(replace(CHECK, due_at=distant))
        jobs.enqueue(work())
        assert steps.next() == ("posted", "1")

    assert steps.done.empty()


@pytest.mark.slow
def test_the_next_attempt_is_another_work(steps, launched):
    with launched(steps) as jobs:
        jobs.enqueue(work())
        assert steps.next() == ("posted", "1")
        for _ in range(2):
            jobs.enqueue(QueuedUpload(upload_id="1", partition="o/r#7", attempt=2))
        assert steps.next() == ("posted", "1")

    assert steps.calls == [("judge", "1"), ("say", "1")] * 2


@pytest.mark.slow
def test_where_there_is_nothing_to_say_nothing_is_said(steps, launched):
    steps.on_judge = lambda _: False
    with launched(steps) as jobs:
        jobs.enqueue(work())
        assert steps.next() == ("judged", "1")
        jobs.enqueue(work("2"))
        assert steps.next() == ("judged", "2")

    assert [name for name, _ in steps.calls] == ["judge", "judge"]


@pytest.mark.slow
def test_works_of_one_pull_request_come_in_order_and_those_of_two_together(steps, launched):
    meeting = threading.Barrier(2)
    running, overlaps = {"o/r#7": 0, "o/r#8": 0}, []
    partition_of = {"1": "o/r#7", "2": "o/r#7", "3": "o/r#8"}

    def say(upload_id):
        partition = partition_of[upload_id]
        running[partition] += 1
        overlaps.append(running[partition])
        if upload_id != "2":
            meeting.wait(timeout=PATIENCE_S)  # 1 and 3 are here at the same time
        running[partition] -= 1

    steps.on_say = say
    with launched(steps) as jobs:
        for upload_id, partition in partition_of.items():
            jobs.enqueue(work(upload_id, partition))
        order = [steps.next()[1] for _ in range(3)]

    assert order.index("1") < order.index("2")
    assert overlaps == [1, 1, 1]


@pytest.mark.slow
def test_a_github_that_comes_back_is_spoken_to_again(steps, launched):
    trouble = iter([GitHubError("502", is_transient=True)] * 3)

    def say(_):
        for error in trouble:
            raise error

    steps.on_say = say
    with launched(steps) as jobs:
        jobs.enqueue(work())
        assert steps.next() == ("posted", "1")

    assert [name for name, _ in steps.calls] == ["judge", "say", "say", "say", "say"]


def raising(error):
    def step(_):
        raise error

    return step


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "attempts", "reason"),
    [
        (GitHubError("GitHub answered 502", is_transient=True), ATTEMPTS, "GitHub answered 502"),
        (GitHubError("GitHub answered 403"), 1, "GitHub answered 403"),
        (UsageError("no plan"), 1, "no plan"),
    ],
)
def test_trouble_that_stays_is_recorded_with_its_reason(steps, launched, error, attempts, reason):
    steps.on_say = raising(error)
    with launched(steps) as jobs:
        jobs.enqueue(work())
        assert steps.next() == ("failed", reason)

    assert [name for name, _ in steps.calls].count("say") == attempts


@pytest.mark.slow(ci_only=True)
def test_a_failure_that_may_pass_is_attempted_again_as_other_work_and_no_worker_waits(
    steps, launched
):
    errors = iter([GitHubError("limited", is_transient=True, wait_s=900.0)])

    def say(_):
        for error in errors:
            raise error

    steps.on_say = say
    soon = datetime.now(UTC) + timedelta(seconds=0.5)
    steps.next_attempt = QueuedUpload(upload_id="1", partition="o/r#7", attempt=2, due_at=soon)
    with launched(steps) as jobs:
        jobs.enqueue(work())
        assert steps.next() == ("posted", "1")

    assert steps.deferred == [("1", "limited", 900.0)]
    assert steps.calls == [("judge", "1"), ("say", "1")] * 2


@pytest.mark.slow
def test_a_check_that_github_did_not_take_is_posted_later(steps, launched):
    errors = iter([GitHubError("limited", is_transient=True, wait_s=60.0)])

    def refuse(_):
        for error in errors:
            raise error

    steps.on_check = refuse
    minutes_ago = datetime.now(UTC) - timedelta(minutes=5)
    check = replace(CHECK, due_at=minutes_ago)
    with launched(steps) as jobs:
        jobs.enqueue_check(check)
        later = replace(check, due_at=minutes_ago + timedelta(minutes=1))
        assert steps.next() == ("check", later.id)


@pytest.mark.slow
def test_a_bug_is_logged_and_only_its_presence_is_recorded(steps, launched, caplog):
    steps.on_say = raising(ZeroDivisionError("a secret detail"))
    with launched(steps) as jobs:
        jobs.enqueue(work())
        assert steps.next() == ("failed", INTERNAL)

    assert [name for name, _ in steps.calls] == ["judge", "say"]
    assert "a secret detail" in caplog.text


@pytest.mark.slow
def test_a_judge_that_fails_says_nothing(steps, launched):
    steps.on_judge = raising(UsageError("alpha is no error rate"))
    with launched(steps) as jobs:
        jobs.enqueue(work())
        assert steps.next() == ("failed", "alpha is no error rate")

    assert steps.calls == [("judge", "1")]


@pytest.mark.slow
def test_a_failure_is_recorded_and_posted_though_the_store_is_busy_for_long(steps, launched):
    """Nobody would look again for an upload whose work ended without its reason."""
    errors = iter([OperationalError("", {}, Exception("database is locked"))] * (ATTEMPTS + 1))

    def fail():
        for error in errors:
            raise error
        return CHECK

    steps.on_judge, steps.on_fail = raising(UsageError("no plan")), fail
    with launched(steps) as jobs:
        jobs.enqueue(work())
        assert [steps.next() for _ in range(ATTEMPTS + 2)] == [("failed", "no plan")] * 6
        assert steps.next() == ("check", CHECK.id)


@pytest.mark.slow(ci_only=True)
def test_what_was_left_over_is_worked_on_after_a_restart(steps, launched):
    with launched(steps) as jobs:
        jobs.enqueue(work())
        assert steps.next() == ("posted", "1")
    with launched(steps) as jobs:
        jobs.sweep([work("1"), work("2")])
        assert steps.next() == ("posted", "2")

    assert [upload_id for name, upload_id in steps.calls if name == "say"] == ["1", "2"]


@pytest.fixture
def blocking_step(steps):
    """A step that tells when it has begun and ends when it may."""
    has_begun, may_end = threading.Event(), threading.Event()

    def say(_):
        has_begun.set()
        may_end.wait(timeout=PATIENCE_S)

    steps.on_say = say
    yield has_begun, may_end
    may_end.set()


@pytest.mark.slow
def test_closing_waits_for_what_is_under_way(steps, launched, blocking_step):
    has_begun, may_end = blocking_step
    with launched(steps) as jobs:
        jobs.enqueue(work())
        assert has_begun.wait(timeout=PATIENCE_S)
        threading.Timer(0.1, may_end.set).start()

        assert jobs.close()
        assert steps.next() == ("posted", "1")


@pytest.mark.slow(ci_only=True)
def test_closing_does_not_wait_for_ever_and_the_work_goes_on_after_the_next_launch(
    steps, launched, blocking_step
):
    has_begun, may_end = blocking_step
    with launched(steps, closing_s=0.0) as jobs:
        jobs.enqueue(work())
        assert has_begun.wait(timeout=PATIENCE_S)
        assert not jobs.close()
    has_begun.clear()
    with launched(steps):
        assert has_begun.wait(timeout=PATIENCE_S)
        may_end.set()
        assert steps.next() == ("posted", "1")


@pytest.mark.slow
def test_the_engines_file_has_a_write_ahead_log(steps, launched, tmp_path):
    file = tmp_path / "new.db"
    with launched(steps, url=f"sqlite:///{file}") as jobs:
        assert jobs.is_launched
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
    assert not jobs.is_launched


@pytest.mark.slow(ci_only=True)
def test_the_engine_works_on_postgresql_too(steps, launched, postgres_url):
    with launched(steps, url=workflow_database_url(postgres_url)) as jobs:
        jobs.enqueue(work())
        assert steps.next() == ("posted", "1")


def test_nothing_is_enqueued_before_the_launch(steps):
    jobs = UploadWorkflow("sqlite:///x.db", functions_of(steps))

    with pytest.raises(PerfledgerError, match="is not running"):
        jobs.enqueue(work())
