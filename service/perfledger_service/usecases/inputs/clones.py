"""Reads a clone of a project's repository."""

from pathlib import Path

from perfledger_runners.checkouts.repository import Repository
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.error_translation import translate_errors


def branch_of_clone(folder: Path) -> tuple[str, ...]:
    """Return the commits of a clone's default branch by first parents, oldest first.

    Raises UsageError for a folder that is no repository, and for a shallow clone.
    """
    with translate_errors():
        repository = Repository.open(folder)
        line = repository.first_parent_line(repository.default_branch())
    if not line:
        msg = f"{folder} is a shallow clone, whose commits have no place: fetch the whole history"
        raise UsageError(msg)
    return line
