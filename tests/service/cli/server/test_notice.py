"""Tests `perfledger server notice` on a database: targets are added, listed and removed."""

import json

import pytest

from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.store.database import write_session
from perfledger_service.store.projects import project_for


@pytest.fixture
def server_notice(run, database_url, engine, now):
    with write_session(engine) as session:
        project_for(session, "octo/models", now=now)
        session.commit()

    def server_notice(*words, **values):
        return run("server", "notice", *words, PERFLEDGER_DATABASE_URL=database_url, **values)

    return server_notice


@pytest.mark.slow(ci_only=True)
def test_targets_are_added_changed_listed_and_removed(server_notice):
    assert "No notices are sent." in server_notice("list", "octo/models")
    server_notice("add", "octo/models", "webhook", "chat", "--weekly")
    server_notice("add", "octo/models", "issue", "--early", "--hourly", 3)
    server_notice("add", "octo/models", "webhook", "chat")
    answer = json.loads(server_notice("list", "octo/models", "--json"))

    targets = [
        (one["channel"], one["address"], one["is_early"], one["is_weekly"], one["hourly"])
        for one in answer["targets"]
    ]
    assert targets == [("webhook", "chat", False, False, 10), ("issue", "", True, False, 3)]
    assert answer["notices"] == []
    answer = json.loads(server_notice("remove", "octo/models", "issue", "--json"))
    assert [one["channel"] for one in answer["targets"]] == ["webhook"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("webhook", "https://hooks.example/canary"), "not its URL"),
        (("webhook",), "name a webhook"),
        (("mail", "perf"), "one address of mail"),
        (("issue", "octo/models"), "give no address"),
        (("issue", "--hourly", "1001"), "between 1 and 1000"),
    ],
)
def test_a_target_that_cannot_be_is_refused(server_notice, words, message):
    with pytest.raises(UsageError, match=message) as caught:
        server_notice("add", "octo/models", *words)

    assert "canary" not in str(caught.value)


def test_what_is_not_there_is_not_removed(server_notice):
    with pytest.raises(NotFoundError, match="notices have no target webhook chat"):
        server_notice("remove", "octo/models", "webhook", "chat")
