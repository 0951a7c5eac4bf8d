import json

import pytest

from perfledger_service.errors import NotFoundError


def test_a_revoked_token_is_listed_with_its_day(run, database_url):
    def server(*words):
        return run("server", *words, PERFLEDGER_DATABASE_URL=database_url)

    prefix = server("project", "add", "octo/models")[: len("pl_0123abcd")]

    assert server("token", "revoke", prefix) == f"{prefix} is revoked\n"
    (row,) = json.loads(server("project", "list", "--json"))["tokens"]
    assert row["revoked_on"] is not None


def test_a_token_that_nobody_has_is_named(run, database_url):
    with pytest.raises(NotFoundError, match="pl_deadbeef"):
        run("server", "token", "revoke", "pl_deadbeef", PERFLEDGER_DATABASE_URL=database_url)
