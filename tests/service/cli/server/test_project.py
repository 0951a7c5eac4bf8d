import json

import pytest

from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.store.comments.acceptances import add_acceptance
from perfledger_service.store.database import open_engine, write_session
from perfledger_service.values.acceptance import Acceptance


@pytest.fixture
def server(run, database_url):
    def server(*words):
        return run("server", *words, PERFLEDGER_DATABASE_URL=database_url)

    return server


def test_a_project_prints_its_token_once(server):
    token = server("project", "add", "octo/models").strip()

    (row,) = json.loads(server("project", "list", "--json"))["tokens"]
    assert token.startswith(row["prefix"])
    assert (row["repository"], row["revoked_on"]) == ("octo/models", None)
    assert token not in server("project", "list")


def test_a_new_token_in_json_is_beside_its_project(server):
    document = json.loads(server("project", "add", "octo/models", "--json"))

    (row,) = json.loads(server("project", "list", "--json"))["tokens"]
    assert document["repository"] == "octo/models"
    assert document["token"].startswith(row["prefix"])


def test_a_project_may_have_several_tokens(server):
    tokens = {server("project", "add", "octo/models") for _ in range(2)}

    assert len(tokens) == 2
    assert server("project", "list").count("octo/models") == 2


def test_a_name_that_is_no_repository_is_refused(server):
    with pytest.raises(UsageError, match="is not a repository: give OWNER/NAME"):
        server("project", "add", "models")


def test_runs_of_github_actions_are_let_in_listed_and_refused_again(server):
    numbers = ("--repository-id", "1296269", "--owner-id", "583231")
    permission = json.loads(server("project", "actions", "octo/models", *numbers, "--json"))
    assert (permission["is_allowed"], permission["repository_id"]) == (True, 1296269)

    (row,) = json.loads(server("project", "list", "--json"))["actions"]
    assert (row["repository_id"], row["owner_id"], row["branch"]) == (1296269, 583231, "main")
    off = server("project", "actions", "octo/models", "--off")
    assert off == "Runs of octo/models may no longer upload.\n"
    assert json.loads(server("project", "list", "--json"))["actions"] == []


def test_numbers_beside_off_are_refused(server):
    with pytest.raises(UsageError, match="--owner-id: --off needs only the repository"):
        server("project", "actions", "octo/models", "--off", "--owner-id", "583231")


def test_runs_of_github_actions_need_both_numbers(server):
    with pytest.raises(UsageError, match="or --off"):
        server("project", "actions", "octo/models", "--owner-id", "583231")


def test_a_renamed_project_keeps_its_tokens(server):
    token = server("project", "add", "octo/models").strip()
    renamed = json.loads(server("project", "rename", "Octo/Models", "octo/kernels", "--json"))
    assert renamed["former_repository"] == "Octo/Models"

    (row,) = json.loads(server("project", "list", "--json"))["tokens"]
    assert row["repository"] == "octo/kernels"
    assert token.startswith(row["prefix"])


def test_accepted_regressions_are_listed_with_who_why_and_until(server, database_url, now):
    server("project", "add", "octo/models")
    acceptance = Acceptance(
        pull_request=7,
        head_sha="b" * 40,
        login="alice",
        workload="gpt:step",
        reason="worth it",
        accepted_at=now,
        until=now.date(),
    )
    engine = open_engine(database_url)
    with write_session(engine) as session:
        add_acceptance(session, 1, acceptance, comment_id=1)
        session.commit()
    engine.dispose()

    (row,) = json.loads(server("project", "accepted", "octo/models", "--json"))["accepted"]
    assert (row["workload"], row["pull_request"], row["login"]) == ("gpt:step", 7, "alice")
    assert (row["until"], row["reason"], row["merged_sha"]) == ("2026-11-20", "worth it", "")
    assert "gpt:step" in server("project", "accepted", "octo/models")
    with pytest.raises(NotFoundError):
        server("project", "accepted", "octo/unknown")
