"""What a run of GitHub Actions may upload, and what of it is believed."""

from dataclasses import replace
from typing import Any

import pytest

from perfledger.records import Device, Machine, Revision
from perfledger_service.errors import ConflictError, RefusedError, UsageError
from perfledger_service.github.actions_tokens import ActionsRun
from perfledger_service.store.projects import Project
from perfledger_service.usecases.server.project import let_actions_upload, list_projects
from perfledger_service.usecases.uploads.actions_runs import project_of_run, sender_of
from perfledger_service.values.upload_views import UploadSender

PROJECT = Project(id=1, repository="octo/models", actions_branch="main")


def run_of(**values):
    fields: dict[str, Any] = {
        "repository": "octo/models",
        "repository_id": 1296269,
        "repository_owner_id": 583231,
        "event_name": "push",
        "ref": "refs/heads/main",
        "sha": "b" * 40,
        "jti": "1",
        "exp": 0.0,
    }
    return ActionsRun(**fields | values)


def let_runs_upload(engine, now, *, repository_id=1296269, owner_id=583231, branch="main"):
    let_actions_upload(
        engine,
        "octo/models",
        repository_id=repository_id,
        owner_id=owner_id,
        branch=branch,
        now=now,
    )


@pytest.fixture
def of_branch(make_bundle):
    return make_bundle(pull_request=None)


def test_a_run_imports_other_commits_only_where_runners_are_trusted(of_branch):
    imported = replace(
        of_branch,
        head=of_branch.base,
        machine=Machine(device=Device.IMPORTED, model="asv, box"),
    )

    with pytest.raises(RefusedError, match="import with a token of the project"):
        sender_of(run_of(event_name="push"), PROJECT, imported)
    trusting = replace(PROJECT, trust_runners=True)
    assert sender_of(run_of(event_name="push"), trusting, imported) is UploadSender.RUNNER


@pytest.mark.parametrize("event", ["push", "schedule"])
def test_a_run_of_the_branch_is_believed(of_branch, event):
    assert sender_of(run_of(event_name=event), PROJECT, of_branch) is UploadSender.BRANCH_RUN


@pytest.mark.parametrize(
    ("values", "project"),
    [
        ({"ref": "refs/heads/topic"}, PROJECT),
        ({"ref": "refs/tags/main"}, PROJECT),
        ({"ref": "refs/heads/main/x"}, PROJECT),
        ({"sha": "a" * 40}, PROJECT),
        ({"event_name": "workflow_dispatch"}, PROJECT),
        ({"event_name": "merge_group", "ref": "refs/heads/gh-readonly-queue/main/pr-7"}, PROJECT),
        ({}, Project(id=1, repository="octo/models")),
        ({"ref": "refs/heads/"}, Project(id=1, repository="octo/models")),
    ],
)
def test_a_run_of_anything_else_is_in_no_baseline(of_branch, values, project):
    assert sender_of(run_of(**values), project, of_branch) is UploadSender.OTHER_RUN


def test_a_project_that_trusts_its_runners_believes_all_but_code_under_test(of_branch, make_bundle):
    trusting = Project(id=1, repository="octo/models", trust_runners=True, actions_branch="main")
    by_hand = run_of(event_name="workflow_dispatch")
    of_change = run_of(event_name="pull_request", ref="refs/pull/7/merge")

    assert sender_of(by_hand, trusting, of_branch) is UploadSender.RUNNER
    assert sender_of(of_change, trusting, make_bundle()) is UploadSender.OTHER_RUN
    assert sender_of(run_of(), trusting, of_branch) is UploadSender.BRANCH_RUN


def test_a_run_of_a_pull_request_tells_of_that_pull_request_only(make_bundle):
    run = run_of(event_name="pull_request", ref="refs/pull/7/merge", sha="c" * 40)

    assert sender_of(run, PROJECT, make_bundle()) is UploadSender.OTHER_RUN
    for number in (8, 77, None):
        with pytest.raises(RefusedError, match="but this is of"):
            sender_of(run, PROJECT, make_bundle(pull_request=number))


@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/pull/07/merge", "refs/pull/7/head", ""])
def test_a_pull_request_cannot_claim_to_be_a_push(make_bundle, ref):
    run = run_of(event_name="pull_request", ref=ref)

    for number in (7, None):
        with pytest.raises(RefusedError):
            sender_of(run, PROJECT, make_bundle(pull_request=number))


def test_a_push_cannot_tell_of_a_pull_request(make_bundle):
    with pytest.raises(RefusedError, match="the run is by push of"):
        sender_of(run_of(), PROJECT, make_bundle())


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run", "issue_comment", ""])
def test_a_run_that_strangers_can_start_on_the_branch_may_not_upload(of_branch, event):
    with pytest.raises(RefusedError, match="may not upload, only those by"):
        sender_of(run_of(event_name=event), PROJECT, of_branch)


def test_a_run_of_the_branch_about_another_commit_is_not_believed(make_bundle):
    bundle = make_bundle(pull_request=None, head=Revision(sha="a" * 40))

    assert sender_of(run_of(), PROJECT, bundle) is UploadSender.OTHER_RUN


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"repository_id": 2**53 + 1}, "are at most"),
        ({"owner_id": 10**20}, "are at most"),
        ({"branch": "refs/heads/main"}, "without refs/heads/: 'main'"),
    ],
)
def test_numbers_and_branches_that_cannot_be_are_refused(any_engine, now, values, reason):
    with pytest.raises(UsageError, match=reason):
        let_runs_upload(any_engine, now, **values)


def test_a_project_is_found_by_the_numbers_of_repository_and_owner(any_engine, now):
    let_runs_upload(any_engine, now)

    assert project_of_run(any_engine, run_of()).repository == "octo/models"
    for other in ({"repository_id": 1}, {"repository_owner_id": 1}):
        with pytest.raises(RefusedError, match="may not upload: perfledger server project actions"):
            project_of_run(any_engine, run_of(**other))


def test_a_run_takes_its_project_to_the_name_that_its_repository_has_now(any_engine, now):
    let_runs_upload(any_engine, now)
    for _ in range(2):
        renamed = project_of_run(any_engine, run_of(repository="Octo/Kernels"))
        assert (renamed.repository.lower(), renamed.actions_branch) == ("octo/kernels", "main")
    let_runs_upload(any_engine, now, repository_id=1, owner_id=2)

    with pytest.raises(ConflictError, match="Octo/Kernels cannot become octo/models"):
        project_of_run(any_engine, run_of())


def test_a_run_of_before_a_renaming_does_not_rename_its_project_back(any_engine, now, github):
    let_runs_upload(any_engine, now)
    renamed = run_of(repository="octo/kernels")
    project_of_run(any_engine, renamed)

    for permissions in (None, github):  # GitHub does not know the former name
        late = project_of_run(any_engine, run_of(), permissions)
        assert late.repository == "octo/kernels"
    assert project_of_run(any_engine, renamed).repository == "octo/kernels"
    assert [one.repository for one in list_projects(any_engine)] == ["octo/kernels"]


def test_a_project_gets_a_former_name_back_once_github_says_so(any_engine, now, github, stand_in):
    let_runs_upload(any_engine, now, repository_id=1)
    project_of_run(any_engine, run_of(repository_id=1, repository="octo/kernels"))
    again = run_of(repository_id=1)

    stand_in.state.repository("octo/models", create=True)["id"] = 2  # somebody else's
    assert project_of_run(any_engine, again, github).repository == "octo/kernels"
    stand_in.state.repository("octo/models")["id"] = 1
    assert project_of_run(any_engine, again, github).repository == "octo/models"


@pytest.mark.parametrize("name", ["", "models", "../..", "octo/\n", "octo/\0", "octo/models/x"])
def test_a_name_that_no_repository_has_renames_nothing(any_engine, now, name):
    let_runs_upload(any_engine, now)

    with pytest.raises(UsageError, match="is not a repository: give OWNER/NAME"):
        project_of_run(any_engine, run_of(repository=name))
