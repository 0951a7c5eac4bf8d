"""Tests requests about workflows; what a launcher makes of them is tested beside it."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from perfledger_runners.launchers.github_actions.workflow_runs import ActionsError, RequestEffect
from perfledger_service.errors import SettingsError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.workflow_runs import (
    MAX_RUN_PAGES,
    RUNS_PAGE,
    GitHubWorkflowRuns,
    open_workflow_runs,
)

REPOSITORY, WORKFLOW = "octo/models", "job.yml"
NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
LIMIT = {"headers": {"Retry-After": "90"}}
PAGE = "<html>tired</html>"


@pytest.fixture
def runs(stand_in):
    stand_in.state.repository(REPOSITORY, create=True)
    known_fields = {"ref": "main", "title": "name", "inputs": ["name"]}
    stand_in.state.workflows[f"{REPOSITORY}/{WORKFLOW}"] = known_fields
    api = GitHubApi(stand_in.url, write_interval_s=0.0, sleep=lambda _: None)
    yield GitHubWorkflowRuns(api, SecretStr("t"), REPOSITORY)
    api.close()


@pytest.fixture
def add_runs(stand_in):
    """Add runs of the workflow, one a minute from noon on."""

    def add_runs(*titles):
        for minute, title in enumerate(titles):
            key = stand_in.state.new_id()
            stand_in.state.runs[str(key)] = {
                "id": key,
                "workflow": f"{REPOSITORY}/{WORKFLOW}",
                "display_title": title,
                "created_at": (NOON + timedelta(minutes=minute)).isoformat(),
            }

    return add_runs


def test_a_dispatch_is_sent_with_its_inputs(runs, stand_in):
    runs.dispatch(WORKFLOW, "main", {"name": "a"})
    (value,) = stand_in.state.runs.values()

    assert value["inputs"] == {"name": "a"}


def test_the_first_run_of_a_title_is_found_on_any_page(runs, add_runs):
    add_runs("a", "b", "b", *["c"] * RUNS_PAGE)
    workflow_run = runs.named_run(WORKFLOW, "b", since=NOON)

    assert workflow_run.created_at == NOON + timedelta(minutes=1)


def test_older_runs_are_not_looked_at(runs, add_runs, stand_in):
    add_runs(*["a"] * RUNS_PAGE * 3)
    since = NOON + timedelta(minutes=RUNS_PAGE * 3 - 5)

    assert runs.named_run(WORKFLOW, "b", since=since) is None
    assert len(stand_in.state.requests) == 1


def test_the_search_ends(runs, add_runs, stand_in):
    add_runs(*["a"] * RUNS_PAGE * (MAX_RUN_PAGES + 2))

    assert runs.named_run(WORKFLOW, "b", since=NOON) is None
    assert len(stand_in.state.requests) == MAX_RUN_PAGES


@pytest.mark.parametrize(
    ("fault", "effect"),
    [
        ({"status": 401}, RequestEffect.REFUSED),
        ({"status": 403}, RequestEffect.REFUSED),
        ({"status": 404}, RequestEffect.REFUSED),
        ({"status": 422}, RequestEffect.REFUSED),
        ({"status": 302}, RequestEffect.REFUSED),
        ({"status": 403} | LIMIT, RequestEffect.POSTPONED),
        ({"status": 429} | LIMIT, RequestEffect.POSTPONED),
        ({"status": 500}, RequestEffect.UNKNOWN),
        ({"status": 502, "text": PAGE}, RequestEffect.UNKNOWN),
        ({"drop": "before"}, RequestEffect.UNKNOWN),
    ],
)
def test_a_dispatch_that_fails_says_what_it_did(runs, at_github, fault, effect):
    at_github.fail_next(method="POST", path="/dispatches", **fault)
    with pytest.raises(ActionsError) as caught:
        runs.dispatch(WORKFLOW, "main", {"name": "a"})

    assert caught.value.effect is effect


def test_while_a_limit_lasts_nothing_is_sent(runs, at_github, stand_in):
    at_github.fail_next(status=429, **LIMIT)
    with pytest.raises(ActionsError):
        runs.run(5)
    with pytest.raises(ActionsError) as caught:
        runs.dispatch(WORKFLOW, "main", {"name": "a"})

    assert caught.value.effect is RequestEffect.POSTPONED
    assert 0 < (caught.value.wait_s or 0) <= 90
    assert stand_in.state.runs == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"workflow_runs": [{"id": 5}]}',
        '{"workflow_runs": [{"id": 5, "created_at": "noon"}]}',
        '{"workflow_runs": [{"id": 5, "created_at": "2026-11-28T12:00:00"}]}',
        "[" * 100_000,
    ],
)
def test_an_answer_that_is_not_githubs_is_unknown(runs, at_github, text):
    at_github.fail_next(status=200, text=text)
    with pytest.raises(ActionsError, match="is not from GitHub's API") as caught:
        runs.named_run(WORKFLOW, "a", since=NOON)

    assert caught.value.effect is RequestEffect.UNKNOWN


def test_the_newest_artifact_of_a_name_is_read(runs, stand_in):
    for key, name, data in ((1, "job", b"old"), (2, "job", b"new"), (3, "other", b"x")):
        entry = {"id": key, "run": "5", "name": name, "data": data}
        stand_in.state.archives[str(key)] = entry

    assert runs.artifact(5, "job", max_bytes=3) == b"new"
    assert runs.artifact(5, "none", max_bytes=3) is None
    with pytest.raises(ActionsError, match="more than 2 bytes") as caught:
        runs.artifact(5, "job", max_bytes=2)
    assert caught.value.effect is RequestEffect.REFUSED


def test_the_launcher_needs_a_token():
    with pytest.raises(SettingsError, match="the Actions of octo/models"):
        open_workflow_runs(api_url="https://api.github.com", token=None, repository=REPOSITORY)
