"""The made history: a small one has what the pages show."""

from datetime import UTC, datetime

import pytest

from perfledger_service.store.database import open_engine, read_session
from perfledger_service.store.default_branch import commits_of_branch
from perfledger_service.store.page_queries import index_view, pull_request_view
from perfledger_service.store.projects import project_named
from perfledger_service.store.upgrade import upgrade
from perfledger_service.usecases.server.machines import machines_view

pytestmark = pytest.mark.slow
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def session(demo, tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('history') / 'service.db'}"
    upgrade(url)
    engine = open_engine(url)
    demo.demo_history.seed_history(
        engine, token="pl_0123abcd_" + "s" * 43, now=NOW, commits=4, pull_requests=3
    )
    with read_session(engine) as session:
        yield session
    engine.dispose()


@pytest.mark.slow(ci_only=True)
def test_the_commits_are_on_the_default_branch(demo, session):
    project = project_named(session, demo.demo_repository.REPOSITORY)

    assert len(commits_of_branch(session, project.id)) == 4


def test_three_machines_are_measured(session):
    assert len({one.machine_class for one in index_view(session).uploads}) == 3


def test_a_pull_request_is_judged_on_its_machines(demo, session):
    view = pull_request_view(session, demo.demo_repository.REPOSITORY, 43, now=NOW)

    assert [one.conclusion for one in view.uploads] == ["failure", "failure"]
    assert all("train_step" in one.headline for one in view.uploads)


def test_the_recorded_pull_request_is_explained(demo, session):
    view = pull_request_view(session, demo.demo_repository.REPOSITORY, 41, now=NOW)

    assert "aten::bmm" in view.uploads[0].headline


def test_one_gpu_is_slow_at_last_and_in_quarantine(demo, session):
    view = machines_view(session, demo.demo_repository.REPOSITORY)
    in_quarantine = [one.key.name for one in view.devices if one.quarantine is not None]

    assert in_quarantine == [demo.demo_commits.A100.machine.uuid]
    assert [one.name for one in view.runners] == [demo.demo_machines.RUNNER]
