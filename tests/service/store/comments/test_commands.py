"""Commands in comments, on each kind of database."""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger_service.store.comments import commands
from perfledger_service.store.comments.commands import (
    CommandStatus,
    NewCommand,
    add_command,
    command_by_id,
    is_known_comment,
    set_command,
    unfinished_commands,
)
from perfledger_service.store.database import write_session
from perfledger_service.store.projects import project_for


@pytest.fixture
def session(any_engine):
    with write_session(any_engine) as session:
        yield session


@pytest.fixture
def command(session, now):
    return NewCommand(
        project_id=project_for(session, "octo/models", now=now).id,
        pull_request=7,
        comment_id=2**40,
        login="alice",
        author="bob",
        line="/perfledger help",
    )


def test_a_command_is_stored_and_its_status_and_answer_are_kept(session, command, now):
    stored = add_command(session, command, now=now)

    assert (stored.repository, stored.line, stored.received_at) == (
        "octo/models",
        "/perfledger help",
        now,
    )
    assert unfinished_commands(session) == (stored,)
    set_command(session, stored.id, CommandStatus.DECIDED, answer="so")
    assert [one.answer for one in unfinished_commands(session)] == ["so"]
    set_command(session, stored.id, CommandStatus.DONE)
    done = command_by_id(session, stored.id)
    assert (done.status, done.answer, unfinished_commands(session)) == (
        CommandStatus.DONE,
        "so",
        (),
    )


def test_a_comment_is_known_in_its_project_alone(session, command, now):
    add_command(session, command, now=now)
    other = project_for(session, "octo/other", now=now).id

    assert is_known_comment(session, command.project_id, 2**40)
    assert not is_known_comment(session, command.project_id, 1)
    assert not is_known_comment(session, other, 2**40)


def test_a_person_has_only_so_many_commands_a_day_under_a_pull_request(
    session, command, now, monkeypatch
):
    monkeypatch.setattr(commands, "MAX_COMMANDS", 2)

    def add(number, **values):
        return add_command(session, replace(command, comment_id=number, **values), now=now)

    assert [add(number) is not None for number in (1, 2, 3)] == [True, True, False]
    assert add(4, pull_request=8) is not None
    assert add(6, login="Alice") is None
    assert add(7, login="carol") is not None
    later = now + timedelta(days=1)
    assert add_command(session, replace(command, comment_id=5), now=later) is not None
