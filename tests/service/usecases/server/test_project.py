"""Tests adding and renaming projects, and letting runs of GitHub Actions upload."""

import pytest

from perfledger_runners.checkouts.repository_name import is_repository_name
from perfledger_service.errors import ConflictError, NotFoundError, UsageError
from perfledger_service.usecases.server.project import (
    add_project,
    give_name,
    let_actions_upload,
    list_projects,
    refuse_actions,
    rename_project,
)
from perfledger_service.usecases.server.token import (
    list_tokens,
    new_token,
    valid_token,
)
from perfledger_service.values.token_scope import TokenScope


def test_a_repository_that_is_there_gets_one_more_token(engine, now):
    first, second = new_token(), new_token()
    add_project(engine, "octo/models", token=first, now=now)
    add_project(engine, "Octo/Models", token=second, now=now)

    assert (
        valid_token(engine, first, now=now, scope=TokenScope.UPLOAD).project
        == valid_token(engine, second, now=now, scope=TokenScope.UPLOAD).project
    )
    tokens = list_tokens(engine)
    assert {token.project.repository for token in tokens} == {"octo/models"}
    assert [token.prefix for token in tokens] == [first[:11], second[:11]]


@pytest.mark.parametrize(
    "name", ["", "octo", "octo/", "/models", "a/b/c", "../..", "a/..", "./b", "a b/c", "ü/b"]
)
def test_a_name_that_is_none_is_refused(engine, now, name):
    with pytest.raises(UsageError, match="is not a repository: give OWNER/NAME"):
        add_project(engine, name, token=new_token(), now=now)

    assert list_tokens(engine) == ()


@pytest.mark.parametrize("name", ["admin/tokens", "Runs/x"])
def test_a_name_that_the_services_own_pages_would_hide_is_refused(engine, now, name):
    add_project(engine, "octo/models", token=new_token(), now=now)
    for give in (
        lambda: add_project(engine, name, token=new_token(), now=now),
        lambda: rename_project(engine, "octo/models", name, now=now),
    ):
        with pytest.raises(UsageError, match=f"{name} cannot be a project"):
            give()

    assert [one.repository for one in list_projects(engine)] == ["octo/models"]


@pytest.mark.parametrize("name", ["octo/models", "Octo-Org/a.b_c-1", ".github/.github"])
def test_names_as_github_has_them_are_taken(name):
    assert is_repository_name(name)


def test_a_token_of_another_shape_is_not_stored(engine, now):
    with pytest.raises(UsageError, match="the token is invalid"):
        add_project(engine, "octo/models", token="hunter2", now=now)


def test_a_repositorys_number_is_that_of_one_project(any_engine, now):
    numbers = {"repository_id": 7, "owner_id": 8, "branch": "main", "now": now}
    let_actions_upload(any_engine, "octo/models", **numbers)
    let_actions_upload(any_engine, "Octo/Models", **numbers)

    with pytest.raises(ConflictError, match="repository 7 is that of another project"):
        let_actions_upload(any_engine, "octo/other", **numbers)
    with pytest.raises(UsageError, match="is not a repository"):
        let_actions_upload(any_engine, "models", **numbers)


def test_a_repository_takes_its_project_to_its_new_name(any_engine, now):
    token = new_token()
    add_project(any_engine, "octo/models", token=token, now=now)
    add_project(any_engine, "octo/other", token=new_token(), now=now)
    rename_project(any_engine, "octo/MODELS", "Octo/Kernels", now=now)
    rename_project(any_engine, "octo/kernels", "octo/kernels", now=now)

    assert (
        valid_token(any_engine, token, now=now, scope=TokenScope.UPLOAD).project.repository
        == "octo/kernels"
    )
    for name, error in (("octo/OTHER", ConflictError), ("kernels", UsageError)):
        with pytest.raises(error):
            rename_project(any_engine, "octo/kernels", name, now=now)
    with pytest.raises(NotFoundError):
        rename_project(any_engine, "octo/models", "octo/new", now=now)


def test_a_project_that_was_renamed_meanwhile_is_named_and_no_namesake(any_engine, now):
    """As when two jobs of one run upload after a rename, and each has read the old name."""
    add_project(any_engine, "octo/models", token=new_token(), now=now)
    [project] = list_projects(any_engine)
    rename_project(any_engine, "octo/models", "octo/kernels", now=now)
    add_project(any_engine, "octo/models", token=new_token(), now=now)
    give_name(any_engine, project, "octo/kernels")
    give_name(any_engine, project, "octo/ops")

    assert [one.repository for one in list_projects(any_engine)] == ["octo/models", "octo/ops"]


def test_a_project_that_no_longer_lets_runs_upload_leaves_its_number_to_others(any_engine, now):
    numbers = {"repository_id": 7, "owner_id": 8, "branch": "main", "now": now}
    let_actions_upload(any_engine, "octo/models", **numbers)
    refuse_actions(any_engine, "octo/models", now=now)
    let_actions_upload(any_engine, "octo/other", **numbers)

    by_name = {one.repository: one.actions_repository_id for one in list_projects(any_engine)}
    assert by_name == {"octo/models": None, "octo/other": 7}
