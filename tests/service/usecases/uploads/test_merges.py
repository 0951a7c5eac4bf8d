"""What a delivery that a pull request was closed changes."""

import pytest

from perfledger_service.store.comments.acceptances import acceptances_of, add_acceptance
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import events_of_pull_request
from perfledger_service.store.projects import project_for, set_actions
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.usecases.uploads.merges import receive_closing
from perfledger_service.values.acceptance import Acceptance

SHA = "c" * 40


@pytest.fixture
def project(any_engine, now):
    with write_session(any_engine) as session:
        project = project_for(session, "octo/models", now=now)
        session.commit()
    return project


@pytest.fixture
def close(any_engine, now):
    def close(*, merged_sha=SHA, pull_request=7, repository="octo/models"):
        return receive_closing(
            any_engine, repository, 1296269, pull_request, merged_sha=merged_sha, now=now
        )

    return close


def test_an_acceptance_that_is_carried_out_after_the_merge_names_its_commit(
    any_engine, project, close, now
):
    assert close() == ""
    acceptance = Acceptance(
        pull_request=7,
        head_sha="b" * 40,
        login="alice",
        workload="gpt:step",
        reason="safer",
        accepted_at=now,
        until=None,
    )
    with write_session(any_engine) as session:
        add_acceptance(session, project.id, acceptance, comment_id=1)
        session.commit()

        [stored] = acceptances_of(session, project.id, 7)
    assert stored.merged_sha == SHA


def test_a_closed_pull_request_is_no_merge(any_engine, judged, make_bundle, close):
    judged(any_engine, make_bundle(pairs=4))
    assert close(merged_sha=None) == ""

    with read_session(any_engine) as session:
        [event] = events_of_pull_request(session, 1, 7)
    assert (event.merged_sha, event.is_detected) == ("", False)


@pytest.mark.parametrize(
    "values",
    [
        {"pull_request": 0},
        {"pull_request": MAX_PULL_REQUEST + 1},
        {"merged_sha": "HEAD"},
        {"repository": "octo/nothing"},
    ],
)
@pytest.mark.usefixtures("project")
def test_what_cannot_be_is_not_recorded(close, values):
    assert close(**values) != ""


def test_another_repository_of_the_name_merges_nothing(any_engine, project, close):
    with write_session(any_engine) as session:
        set_actions(session, project, repository_id=5, owner_id=6, branch="main")
        session.commit()

    assert "another repository" in close()


@pytest.mark.usefixtures("project")
def test_numbers_of_pull_requests_are_recorded_up_to_the_limit(close):
    assert close(pull_request=1) == close(pull_request=MAX_PULL_REQUEST) == ""
