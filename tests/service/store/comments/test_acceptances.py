"""Accepted regressions, on each kind of database."""

from dataclasses import replace
from datetime import date

import pytest

from perfledger_service.store.comments import acceptances
from perfledger_service.store.comments.acceptances import (
    acceptances_of,
    acceptances_of_project,
    add_acceptance,
    set_merged,
)
from perfledger_service.store.database import write_session
from perfledger_service.store.projects import project_for
from perfledger_service.values.acceptance import Acceptance


@pytest.fixture
def session(any_engine):
    with write_session(any_engine) as session:
        yield session


@pytest.fixture
def project(session, now):
    return project_for(session, "octo/models", now=now).id


@pytest.fixture
def acceptance(now):
    return Acceptance(
        pull_request=7,
        head_sha="b" * 40,
        login="alice",
        workload="gpt:step[dtype='bf16']",
        reason="worth it",
        accepted_at=now,
        until=date(2026, 12, 31),
    )


def test_an_acceptance_is_read_as_it_was_stored_once_for_its_comment(session, project, acceptance):
    assert add_acceptance(session, project, acceptance, comment_id=2**40)
    assert add_acceptance(session, project, replace(acceptance, login="bob"), comment_id=2**40)

    assert acceptances_of(session, project, 7) == (acceptance,)
    assert acceptances_of(session, project, 8) == acceptances_of(session, project, None) == ()


def test_a_project_lists_its_own_newest_first(session, project, acceptance, now):
    other = project_for(session, "octo/other", now=now).id
    for number in (1, 2):
        add_acceptance(
            session, project, replace(acceptance, pull_request=number), comment_id=number
        )
    add_acceptance(session, other, acceptance, comment_id=1)

    listed = acceptances_of_project(session, project)
    assert [one.pull_request for one in listed] == [2, 1]
    assert len(acceptances_of_project(session, other)) == 1


def test_a_merge_is_recorded_with_its_pull_requests_acceptances(session, project, acceptance):
    add_acceptance(session, project, acceptance, comment_id=1)
    add_acceptance(session, project, replace(acceptance, pull_request=8), comment_id=2)
    set_merged(session, project, 7, "d" * 40)

    [merged], [still_open] = (acceptances_of(session, project, number) for number in (7, 8))
    assert (merged.merged_sha, still_open.merged_sha) == ("d" * 40, "")


def test_only_so_many_of_a_pull_request_are_kept(session, project, acceptance, monkeypatch):
    monkeypatch.setattr(acceptances, "MAX_ACCEPTANCES", 2)
    kept_acceptances = [
        add_acceptance(session, project, acceptance, comment_id=one) for one in (1, 2, 3)
    ]

    assert kept_acceptances == [True, True, False]
