import json

from perfledger_service.rendering.layout.writers import plain_lines, to_json, to_terminal
from perfledger_service.rendering.server.project import (
    ActionsPermissionRow,
    UploadTokenRow,
    tokens_document,
)

ROW = UploadTokenRow(
    repository="octo/[red]models",
    prefix="pl_0123abcd",
    created_on="2026-11-22",
    scope="upload",
    expires_on=None,
    revoked_on=None,
)


def test_a_token_is_shown_by_its_prefix_and_foreign_names_are_no_markup():
    shown_plain_lines = plain_lines(to_terminal(tokens_document([ROW], [])))

    assert "pl_0123abcd_…" in shown_plain_lines
    assert "octo/[red]models" in shown_plain_lines


def test_json_has_the_prefix_alone_and_null_for_a_token_that_is_in_use():
    (row,) = json.loads(to_json(tokens_document([ROW], [])))["tokens"]

    assert row == {
        "repository": "octo/[red]models",
        "prefix": "pl_0123abcd",
        "created_on": "2026-11-22",
        "scope": "upload",
        "expires_on": None,
        "revoked_on": None,
    }


def test_runs_of_github_actions_are_shown_by_their_numbers_as_they_are():
    row = ActionsPermissionRow(
        repository="octo/[red]models", repository_id=1296269, owner_id=583231, branch="main"
    )
    document = tokens_document([], [row])

    assert "1296269" in plain_lines(to_terminal(document))
    (written,) = json.loads(to_json(document))["actions"]
    assert (written["repository_id"], written["owner_id"]) == (1296269, 583231)
    assert (written["repository"], written["branch"]) == ("octo/[red]models", "main")
