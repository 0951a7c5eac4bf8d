"""The jobs of a command, on both databases."""

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.comments.command_jobs import (
    CommandJob,
    add_command_jobs,
    command_jobs,
)
from perfledger_service.store.comments.commands import (
    CommandStatus,
    NewCommand,
    add_command,
    commands_with,
    set_command,
    unfinished_commands,
)
from perfledger_service.store.database import write_session
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob, add_runner_job
from perfledger_service.store.projects import project_for

ID = f"{1:032x}"
JOB = NewRunnerJob(key="rerun:1", kind=RunnerJobKind.RERUN, machine_class="cpu:*", metric="m")


def test_a_command_has_one_job_of_a_machine_class_however_often_it_is_stored(any_engine, now):
    jobs = (
        CommandJob(machine_class="cpu:*", job_id=ID),
        CommandJob(machine_class="tpu:*", problem="the queue is full"),
    )
    with write_session(any_engine) as session:
        project_id = project_for(session, "o/a", now=now).id
        new = NewCommand(
            project_id=project_id, pull_request=7, comment_id=1, login="a", author="b", line="x"
        )
        command = add_command(session, new, now=now)
        add_runner_job(session, project_id, JOB, job_id=ID, now=now)
        for _ in range(2):
            add_command_jobs(session, command.id, jobs)

        assert command_jobs(session, command.id) == jobs
        assert command_jobs(session, command.id + 1) == ()


def test_a_command_that_waits_is_not_unfinished_and_keeps_its_answer(any_engine, now):
    with write_session(any_engine) as session:
        project_id = project_for(session, "o/a", now=now).id
        new = NewCommand(
            project_id=project_id, pull_request=7, comment_id=1, login="a", author="b", line="x"
        )
        command = add_command(session, new, now=now)
        assert command.edition == 0
        decided = CommandStatus.DECIDED
        set_command(session, command.id, decided, answer="one", edition=3)
        assert len(unfinished_commands(session)) == 1
        set_command(session, command.id, CommandStatus.WAITING)

        assert unfinished_commands(session) == ()
        [waiting] = commands_with(session, CommandStatus.WAITING)
        assert (waiting.id, waiting.answer, waiting.edition) == (command.id, "one", 3)
