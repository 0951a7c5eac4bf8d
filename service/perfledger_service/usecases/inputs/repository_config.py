"""Finds a repository's root and its configuration."""

from pathlib import Path

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.repository import Repository
from perfledger_service.settings.sources import CONFIG_FILES, MAX_CONFIG_BYTES, file_table


def configured_table(root: Path) -> tuple[str, dict[str, object]] | None:
    """Return the name and the perfledger table of the configuration file below `root`, if any.

    Raises SettingsError for one that cannot be read.
    """
    for name in CONFIG_FILES:
        path = root / name
        if path.is_file():
            with path.open("rb") as file:
                table = file_table(name, file.read(MAX_CONFIG_BYTES + 1))
            if table is not None:
                return name, table
    return None


def root_of(folder: Path) -> Path:
    """Return the root of the repository that contains `folder`, else `folder`."""
    try:
        return Repository.open(folder).root
    except RepositoryError:
        return folder
