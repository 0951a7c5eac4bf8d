"""A project whose branch has commits in order, and events that a search found there."""

from dataclasses import replace

import pytest

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventOccurrence,
    EventUpdate,
    TrackedEvent,
)
from perfledger_service.store.branch_commits import put_places
from perfledger_service.store.database import write_session
from perfledger_service.store.default_branch import claim_commits
from perfledger_service.store.events.events import save_event
from perfledger_service.store.projects import project_for
from perfledger_service.store.tables import RevisionRow
from perfledger_service.usecases.notices.notice import set_target
from perfledger_service.values.notices.notice import NoticeChannel, NoticeTarget
from perfledger_service.values.people.person import Actor
from tests.service.servers.notice_servers import Certificates, Webhook, running_server

REPOSITORY = "octo/models"
CHAT = NoticeTarget(channel=NoticeChannel.WEBHOOK, address="chat", is_early=True)


def sha(commit):
    return f"{commit:040x}"


def changed(workload="gpt:step", change=0.2, **values):
    defaults = {
        "workload": workload,
        "metric": "step_time_p50",
        "machine_class": "cpu:Test CPU:1",
        "before": 1.0,
        "after": 1 + change,
        "change": change,
        "low": change - 0.01,
        "high": change + 0.01,
    }
    return ChangedSeries(**defaults | values)


def an_event(commit=5, *series, **values):
    """Return a regression of the default branch at a commit."""
    place = EventOccurrence(
        after_sha=sha(commit - 1), last_sha=sha(commit), series=series or (changed(),)
    )
    return replace(TrackedEvent(harm=Harm.WORSE, occurrences=(place,)), **values)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def webhook(certificates):
    with running_server(Webhook(certificates.server)) as server:
        yield server


@pytest.fixture
def project(any_engine, now):
    """octo/models with thirty measured commits on its default branch."""
    with write_session(any_engine) as session:
        project = project_for(session, REPOSITORY, now=now)
        shas = [sha(commit) for commit in range(1, 31)]
        for position, one in enumerate(shas):
            session.add(RevisionRow(project_id=project.id, position=position, sha=one))
        session.flush()
        claim_commits(session, project.id, shas)
        put_places(session, project.id, {one: place for place, one in enumerate(shas)})
        session.commit()
    return project


@pytest.fixture
def save(any_engine, project, now):
    def save(event, *, now=now):
        with write_session(any_engine) as session:
            number = save_event(session, project.id, EventUpdate(event, "found"), now=now)
            session.commit()
        return replace(event, id=number)

    return save


@pytest.fixture
def send_to(any_engine, project, now):  # noqa: ARG001 - there is a project
    def send_to(target=CHAT, *, now=now, **values):
        actor = Actor(name="operator")
        overview = set_target(
            any_engine, REPOSITORY, replace(target, **values), actor=actor, now=now
        )
        return overview.targets[-1]

    return send_to
