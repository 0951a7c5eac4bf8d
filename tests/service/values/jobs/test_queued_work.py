"""Queue entries: their names in the engine, by which work runs once."""

import pickle
from datetime import UTC, datetime

from perfledger_service import workflows
from perfledger_service.values.jobs.queued_work import (
    QueuedAnswer,
    QueuedCheck,
    QueuedCommand,
    QueuedUpload,
)

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
COMMAND = QueuedCommand(command_id=5, partition="o/r#7", due_at=NOON)
ANSWER = QueuedAnswer(command_id=5, partition="o/r#7", due_at=NOON, edition=2)


def test_a_command_and_each_edition_of_its_answer_have_names_of_their_own():
    assert (COMMAND.id, ANSWER.id) == ("command-5-1", "answer-5-2-1")


def test_a_check_has_a_name_for_each_time():
    check = QueuedCheck(
        project_id=1, repository="o/r", pull_request=7, head_sha="b" * 40, due_at=NOON
    )

    assert check.id == f"check-1-7-{'b' * 40}-20261120T120000.000000"
    assert check.partition == "1#7"


def test_entries_that_earlier_versions_stored_are_read_by_their_old_module():
    for kind in (QueuedCheck, QueuedCommand, QueuedUpload):
        assert getattr(workflows, kind.__name__) is kind
    assert pickle.loads(pickle.dumps(ANSWER)) == ANSWER
