import json

import pytest

from perfledger.records import Revision
from perfledger_service.errors import UsageError
from tests.service.git_history import GitHistory


@pytest.fixture
def history(tmp_path):
    return GitHistory(tmp_path / "models")


@pytest.fixture
def server(run, database_url):
    def server(*words):
        return run("server", *words, PERFLEDGER_DATABASE_URL=database_url)

    return server


def test_a_project_is_reordered_by_a_clone(engine, judged, make_bundle, history, server):
    old, new = history.commit(), history.commit()
    bundle = make_bundle(pull_request=None, base=Revision(sha=old), head=Revision(sha=new))
    judged(engine, bundle)

    document = json.loads(server("reorder", "octo/models", "--clone", history.folder, "--json"))

    assert document["commits"] == [old, new]
    assert (document["source"], document["moved_commits"]) == ("the clone", 2)
    assert document["unattested"] == []
    assert "0 commits moved" in server("reorder", "octo/models", "--clone", history.folder)


def test_nobody_is_asked_without_a_source(server):
    server("project", "add", "octo/models")

    with pytest.raises(UsageError, match="the order of octo/models"):
        server("reorder", "octo/models")


def test_a_project_may_trust_its_runners_from_the_start(server):
    server("project", "add", "octo/models", "--trust", "runners")

    assert "according to the runners" in server("reorder", "octo/models")
    with pytest.raises(UsageError):
        server("reorder", "octo/models", "--trust", "github")
