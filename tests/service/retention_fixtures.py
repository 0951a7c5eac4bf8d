"""Fixtures of old checks behind newer ones, and of what retention does to them."""

from datetime import timedelta

import pytest
from sqlalchemy import func
from sqlmodel import select

from perfledger_service.store.database import read_session
from perfledger_service.store.removals.reads import removals_of
from perfledger_service.usecases.server.prune import run_retention
from tests.service.retention_history import (
    EVERYTHING,
    OPERATOR,
    add_newer_checks,
    add_newer_commits,
    commits,
)


@pytest.fixture
def history(any_engine, judged, make_bundle, now):
    """Store old checks of a project, by number, behind a hundred newer ones."""

    def store(*checks, newer_commits=True):
        uploads = []
        for number, values in enumerate(checks, start=1):
            at = now - timedelta(days=400 - number)
            bundle = make_bundle(
                **{
                    "seed": number,
                    "pairs": 4,
                    "created_at": at.isoformat(),
                    "pull_request": None,
                    **commits(number - 1, number),
                    **values,
                }
            )
            uploads.append(
                judged(any_engine, bundle, upload_id=f"{number:032x}", now=at, trust_runners=True)
            )
        newest = judged(
            any_engine,
            make_bundle(
                seed=99, pairs=4, pull_request=None, **commits(50, 51), created_at=now.isoformat()
            ),
            upload_id="9" * 32,
            now=now,
            trust_runners=True,
        )
        add_newer_checks(any_engine, newest, since=now)
        if newer_commits:
            add_newer_commits(any_engine, newest.project_id)
        return uploads

    return store


@pytest.fixture
def prune(any_engine, now):
    def prune(policy=EVERYTHING, *, pull_requests=None, at=now + timedelta(hours=1), **values):
        return run_retention(
            any_engine,
            policy,
            actor=OPERATOR,
            clock=lambda: at,
            pull_requests=pull_requests,
            pause=lambda _: None,
            **values,
        )

    return prune


@pytest.fixture
def removed_parts(any_engine):
    def parts(upload):
        with read_session(any_engine) as session:
            return {one.part for one in removals_of(session, upload.id)}

    return parts


@pytest.fixture
def count(any_engine):
    def count(row, upload):
        with read_session(any_engine) as session:
            of_upload = select(func.count()).where(row.upload_id == upload.id)
            return session.exec(of_upload).one()

    return count
