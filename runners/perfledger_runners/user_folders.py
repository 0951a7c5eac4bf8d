"""Names a user's folders in which checks keep what outlives them.

They follow the XDG Base Directory Specification 0.8: a variable with a relative path is ignored.
"""

from collections.abc import Mapping
from pathlib import Path


class UserFolderError(Exception):
    """A user without a home folder, such as a container's user without an entry in passwd."""


def state_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of bundles and journals. Raises UserFolderError."""
    return _folder(environment, "XDG_STATE_HOME", ".local/state")


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of what can be recreated. Raises UserFolderError."""
    return _folder(environment, "XDG_CACHE_HOME", ".cache")


def home_folder(environment: Mapping[str, str]) -> Path:
    """Return the user's home folder. Raises UserFolderError."""
    try:
        return Path(environment.get("HOME") or Path.home())
    except RuntimeError as error:
        msg = "this user has no home folder: set HOME to a folder that is its own"
        raise UserFolderError(msg) from error


def _folder(environment: Mapping[str, str], variable: str, below_home: str) -> Path:
    named = Path(environment.get(variable, ""))
    base = named if named.is_absolute() else home_folder(environment) / below_home
    return base / "perfledger"
