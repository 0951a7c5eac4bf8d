import json
from getpass import getuser

import pytest

from perfledger_service.errors import NotFoundError


def test_a_revoked_token_is_listed_with_its_day(run, database_url):
    def server(*words):
        return run("server", *words, PERFLEDGER_DATABASE_URL=database_url)

    prefix = server("project", "add", "octo/models")[: len("pl_0123abcd")]

    assert server("token", "revoke", prefix) == f"{prefix} is revoked.\n"
    (row,) = json.loads(server("project", "list", "--json"))["tokens"]
    assert row["revoked_on"] is not None


def test_what_operators_do_with_projects_and_tokens_is_audited(run, database_url):
    def server(*words):
        return run("server", *words, PERFLEDGER_DATABASE_URL=database_url)

    options = ("--scope", "read", "--days", "90", "--trust", "runners")
    token = server("project", "add", "octo/models", *options)
    prefix = token[: len("pl_0123abcd")]
    server("project", "actions", "octo/models", "--repository-id", 7, "--owner-id", 8)
    server("project", "actions", "octo/models", "--off")
    server("project", "rename", "octo/models", "octo/new")
    for _ in range(2):
        server("token", "revoke", prefix)

    text = server("audit", "--json")
    entries = json.loads(text)["entries"]
    assert [(one["action"], one["detail"]) for one in reversed(entries)] == [
        ("change project", "its runners are trusted"),
        ("make token", f"{prefix} that may read, for 90 days"),
        ("change project", "runs of repository 7 may upload, branch 'main'"),
        ("change project", "its runs may not upload"),
        ("change project", "octo/models is now octo/new"),
        ("revoke token", prefix),
    ]
    assert {one["repository"] for one in entries} == {"octo/new"}
    assert {one["actor"] for one in entries} == {getuser()}
    assert token.strip() not in text


def test_a_token_that_nobody_has_is_named(run, database_url):
    with pytest.raises(NotFoundError, match="pl_deadbeef"):
        run("server", "token", "revoke", "pl_deadbeef", PERFLEDGER_DATABASE_URL=database_url)
