"""Lists events, sets their states, and reports the ones to decide."""

from datetime import UTC, datetime, timedelta
from getpass import getuser
from typing import Annotated

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import DAY, argument, how, what
from perfledger_service.cli.option_values import Repository
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.people.person import Actor

EventId = Annotated[int, argument("its number, as `list` prints it", metavar="EVENT")]


@command(
    examples=(
        "perfledger server event list octo/models",
        "perfledger server event list octo/models --state open --state expected --json",
        "perfledger server event list octo/models --before 120 --most 20",
    )
)
def list_events(
    repository: Repository,
    *,
    state: Annotated[list[EventState] | None, what("only events in this state; repeatable")] = None,
    before: Annotated[
        int | None, what("only events older than this one", metavar="EVENT", minimum=1)
    ] = None,
    most: Annotated[int, what("number of events to list", metavar="COUNT", minimum=1)] = 100,
    output: DocumentOutput,
) -> None:
    """List the changes found in a project's history and on its pull requests.

    Changes at one place count as one event. The running service searches a history again within
    half a minute after it changed.
    """
    from perfledger_service.rendering.server.event import events_document

    with open_store() as engine:
        from perfledger_service.usecases.events.event import list_events as events_of_project
        from perfledger_service.usecases.server.project import project_of_name

        project = project_of_name(engine, repository)
        events = events_of_project(engine, project, states=state or (), before=before, most=most)
    output.write_document(events, events_document)


@command(
    examples=(
        "perfledger server event show octo/models 1",
        "perfledger server event show octo/models 1 --json",
    )
)
def show(repository: Repository, event: EventId, *, output: DocumentOutput) -> None:
    """Show an event and its history."""
    from perfledger_service.rendering.server.event import event_document

    with open_store() as engine:
        from perfledger_service.usecases.events.event import event_history
        from perfledger_service.usecases.server.project import project_of_name

        history = event_history(engine, project_of_name(engine, repository), event)
    output.write_document(history, event_document)


@command(
    examples=(
        "perfledger server event set octo/models 1 acknowledged --reason 'alice bisects it'",
        "perfledger server event set octo/models 1 expected --reason 'safer math' --owner alice",
        "perfledger server event set octo/models 1 environment --reason 'new driver' --json",
    )
)
def set_event(
    repository: Repository,
    event: EventId,
    state: Annotated[
        EventState,
        argument("open, acknowledged, expected or environment", metavar="STATE"),
    ],
    *,
    reason: Annotated[str, how("the reason for this state", metavar="TEXT")] = "",
    owner: Annotated[
        str, how("the person responsible for it; required for expected", metavar="NAME")
    ] = "",
    until: Annotated[
        datetime | None,
        how("the last day on which it is expected", metavar=DAY, default="no last day"),
    ] = None,
    output: DocumentOutput,
) -> None:
    """Set the state of an event, with a reason.

    An expected event reopens after its last day, or if its change grows. An event becomes fixed
    only when a later change undoes it.
    """
    from perfledger_service.rendering.server.event import event_document

    with open_store() as engine:
        from perfledger_service.usecases.events.event import set_event as store_state
        from perfledger_service.usecases.server.project import project_of_name

        history = store_state(
            engine,
            project_of_name(engine, repository),
            event,
            state,
            actor=Actor(name=getuser()),
            reason=reason,
            owner=owner,
            until=until.date() if until else None,
            now=datetime.now(UTC),
        )
    output.write_document(history, event_document)


@command(
    examples=(
        "perfledger server event triage octo/models",
        "perfledger server event triage octo/models --format markdown --output triage.md",
        "perfledger server event triage octo/models --days 30 --json",
    )
)
def triage(
    repository: Repository,
    *,
    days: Annotated[int, what("number of past days to report on", metavar="DAYS", minimum=1)] = 7,
    output: DocumentOutput,
) -> None:
    """Report a project's undecided regressions, and what happened in the last week."""
    from perfledger_service.rendering.server.event import triage_document

    with open_store() as engine:
        from perfledger_service.usecases.events.event import triage as triage_report

        report = triage_report(
            engine, repository, period=timedelta(days=days), now=datetime.now(UTC)
        )
    output.write_document(report, triage_document)
