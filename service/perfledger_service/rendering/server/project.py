"""Presents the projects and their upload tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Preformatted,
    fact_document,
    figure,
    name,
    table,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadTokenRow:
    """One upload token, as shown: its prefix."""

    repository: str
    prefix: str
    created_on: str
    scope: str
    expires_on: str | None  # None: never
    revoked_on: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionsPermissionRow:
    """A repository whose GitHub Actions runs may upload without a token."""

    repository: str
    repository_id: int
    owner_id: int
    branch: str


_COLUMNS: tuple[Column[UploadTokenRow], ...] = (
    name("repository", "project", lambda row: row.repository, limit=MAX_LONG_NAME),
    name("prefix", "token", lambda row: row.prefix, show=lambda row: f"{row.prefix}_…"),
    figure("created_on", "created", lambda row: row.created_on),
    figure("scope", "may", lambda row: row.scope),
    figure("expires_on", "expires", lambda row: row.expires_on),
    figure("revoked_on", "revoked", lambda row: row.revoked_on),
)


_ACTIONS_COLUMNS: tuple[Column[ActionsPermissionRow], ...] = (
    name("repository", "runs of", lambda row: row.repository, limit=MAX_LONG_NAME),
    figure("repository_id", "repository id", lambda row: row.repository_id, str),
    figure("owner_id", "owner id", lambda row: row.owner_id, str),
    name("branch", "baseline", lambda row: row.branch),
)


def new_token_document(repository: str, token: str) -> Document:
    """Return a new token on a line of its own."""
    return Document(
        name="perfledger-new-token",
        facts={"repository": repository, "token": token},
        blocks=(Preformatted(token),),
    )


def actions_document(repository: str, permission: ActionsPermissionRow | None) -> Document:
    """Return whether a repository's GitHub Actions runs may upload; None if they may not."""
    facts = {
        "repository": repository,
        "is_allowed": permission is not None,
        "repository_id": permission and permission.repository_id,
        "owner_id": permission and permission.owner_id,
        "branch": permission and permission.branch,
    }
    names = [repository]
    if permission is None:
        sentence = f"Runs of {repository} may no longer upload."
    else:
        sentence = f"Runs of {repository} (number {permission.repository_id}) may upload."
        if permission.branch:
            names.append(permission.branch)
            sentence += f" Those of {permission.branch} may enter the baseline."
    return fact_document("perfledger-actions-permission", facts, sentence, names=names)


def renamed_project_document(repository: str, new_name: str) -> Document:
    """Return a project's former name and its new one."""
    return fact_document(
        "perfledger-renamed-project",
        {"repository": new_name, "former_repository": repository},
        f"{repository} is now {new_name}.",
        names=(repository, new_name),
    )


def tokens_document(
    rows: Sequence[UploadTokenRow], actions: Sequence[ActionsPermissionRow]
) -> Document:
    """Return who may upload: holders of tokens, and runs of GitHub Actions."""
    return Document(
        name="perfledger-tokens",
        blocks=(
            table(_COLUMNS, rows, key="tokens"),
            table(_ACTIONS_COLUMNS, actions, key="actions"),
        ),
    )
