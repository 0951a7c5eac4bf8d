import json

import pytest

from perfledger_service.errors import UsageError
from tests.service.git_history import GitHistory

TOKEN = "pl_0123abcd_" + "s" * 43


@pytest.fixture
def history(tmp_path, monkeypatch):
    """Work in a repository with two commits."""
    history = GitHistory(tmp_path / "repository")
    history.commit()
    history.commit()
    monkeypatch.chdir(history.folder)
    return history


@pytest.mark.slow(ci_only=True)
def test_a_check_is_announced_by_its_number_and_commit(run, site, history):
    words = ("announce", "--pull-request", 7, "--upload-url", site.url, "--json")

    document = json.loads(run(*words, PERFLEDGER_UPLOAD_TOKEN=TOKEN))

    assert document["head_sha"] == history.git("rev-parse", "HEAD")
    assert [check.pull_request for check in site.jobs.checks] == [7, 7]


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("history")
def test_a_merge_group_has_no_number(run, site):
    words = ("announce", "--base", "HEAD~1", "--merge-group", "--upload-url", site.url)

    text = run(*words, PERFLEDGER_UPLOAD_TOKEN=TOKEN)

    assert "A check of a merge group of octo/models at" in text
    assert [check.pull_request for check in site.jobs.checks] == [0, 0]


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("words", [(), ("--merge-group", "--pull-request", 7)], ids=str)
def test_a_check_is_of_a_pull_request_or_a_merge_group(run, words):
    with pytest.raises(UsageError, match="or say --merge-group, not both"):
        run("announce", *words)


@pytest.mark.usefixtures("history")
def test_without_a_service_the_command_says_what_to_set(run, monkeypatch):
    monkeypatch.delenv("PERFLEDGER_UPLOAD_URL", raising=False)

    with pytest.raises(UsageError, match="--upload-url or set PERFLEDGER_UPLOAD_URL"):
        run("announce", "--pull-request", 7)
