"""Tests making and revoking tokens, and telling whose a token is."""

from datetime import timedelta

import pytest
from sqlmodel import select

from perfledger_service.errors import NotFoundError, RefusedError
from perfledger_service.store.database import read_session
from perfledger_service.store.tables import TokenRow
from perfledger_service.usecases.server.project import add_project
from perfledger_service.usecases.server.token import (
    TOKEN,
    list_tokens,
    new_token,
    revoke_token,
    valid_token,
)
from perfledger_service.values.token_scope import TokenScope


def test_a_token_is_its_projects(any_engine, now):
    mine, other = new_token(), new_token()
    add_project(any_engine, "octo/models", token=mine, now=now)
    add_project(any_engine, "octo/other", token=other, now=now)

    assert (
        valid_token(any_engine, mine, now=now, scope=TokenScope.UPLOAD).project.repository
        == "octo/models"
    )
    assert (
        valid_token(any_engine, other, now=now, scope=TokenScope.UPLOAD).project.repository
        == "octo/other"
    )


def test_tokens_are_random_and_long_enough():
    tokens = {new_token() for _ in range(100)}

    assert len(tokens) == 100
    assert all(TOKEN.fullmatch(token) for token in tokens)


def test_only_a_tokens_hash_is_stored(engine, now):
    token = new_token()
    add_project(engine, "octo/models", token=token, now=now)
    with read_session(engine) as session:
        row = session.exec(select(TokenRow)).one()

    assert token[12:] not in str(row.model_dump())
    assert row.prefix == token[:11]


def test_a_revoked_token_is_useless_and_the_others_are_not(engine, now):
    old, new = new_token(), new_token()
    add_project(engine, "octo/models", token=old, now=now)
    add_project(engine, "octo/models", token=new, now=now)
    revoke_token(engine, old[:11], now=now)
    revoke_token(engine, old[:11], now=now + timedelta(days=1))

    with pytest.raises(RefusedError) as caught:
        valid_token(engine, old, now=now, scope=TokenScope.UPLOAD)
    assert caught.value.status == 401
    assert (
        valid_token(engine, new, now=now, scope=TokenScope.UPLOAD).project.repository
        == "octo/models"
    )
    assert [token.revoked_at for token in list_tokens(engine)] == [now, None]


def test_revoking_what_is_not_there_says_so(engine, now):
    with pytest.raises(NotFoundError, match="no token begins with 'pl_00000000'"):
        revoke_token(engine, "pl_00000000", now=now)


@pytest.mark.parametrize("text", ["", "\ud800", "pl_", "\x00", "x" * 10_000])
def test_whatever_comes_instead_of_a_token_is_refused(engine, now, text):
    with pytest.raises(RefusedError, match="no valid project token"):
        valid_token(engine, text, now=now, scope=TokenScope.UPLOAD)


def test_a_token_may_nothing_from_its_end_on(engine, now):
    token = new_token()
    add_project(engine, "octo/models", token=token, now=now, lifetime=timedelta(days=1))

    last = now + timedelta(days=1) - timedelta(microseconds=1)
    assert (
        valid_token(engine, token, now=last, scope=TokenScope.UPLOAD).project.repository
        == "octo/models"
    )
    with pytest.raises(RefusedError, match=f"the token {token[:11]}_… expired") as caught:
        valid_token(engine, token, now=now + timedelta(days=1), scope=TokenScope.UPLOAD)
    assert caught.value.status == 401
    assert token[12:] not in str(caught.value)


def test_a_token_that_may_read_does_not_upload(engine, now):
    token = new_token()
    add_project(engine, "octo/models", token=token, now=now, scope=TokenScope.READ)

    assert (
        valid_token(engine, token, now=now, scope=TokenScope.READ).project.repository
        == "octo/models"
    )
    with pytest.raises(RefusedError, match="may only read") as caught:
        valid_token(engine, token, now=now, scope=TokenScope.UPLOAD)
    assert caught.value.status == 403
