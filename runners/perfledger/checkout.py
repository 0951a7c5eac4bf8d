"""Loaded modules in, one that comes from another checkout than the measured one out."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

INSTALLED = ("site-packages", "dist-packages")
OWN_FOLDER = Path(__file__).resolve().parent


def wrong_code(
    modules: Mapping[str, ModuleType],
    *,
    root: Path,
    repository: Path,
    prefixes: Sequence[str] = (sys.prefix, sys.base_prefix),
) -> str:
    """Say which module was imported from the user's own checkout instead of from `root`.

    Both sides would then run the same files, and nothing would ever regress. Returns "" when all is
    well. What is installed is fine anywhere: a virtual environment often lies in the checkout.
    """
    theirs = repository.resolve()
    below = [Path(prefix).resolve() for prefix in prefixes]
    fine = [root.resolve(), OWN_FOLDER]
    fine += [prefix for prefix in below if prefix != theirs and prefix.is_relative_to(theirs)]
    for folder, name in sorted(_folders(modules).items()):
        home = Path(os.path.realpath(folder))
        if not home.is_relative_to(theirs) or any(home.is_relative_to(each) for each in fine):
            continue
        if any(part in INSTALLED for part in home.parts):
            continue
        return (
            f"module {name!r} was imported from {home}, which is your own checkout and not the "
            "revision that is measured: an editable install may point there; add the folder that "
            "its top-level package lies in to import_paths of [tool.perfledger]"
        )
    return ""


def _folders(modules: Mapping[str, ModuleType]) -> dict[str, str]:
    """Return the folders that modules were loaded from, each with one of them."""
    folders: dict[str, str] = {}
    for name, module in tuple(modules.items()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str):
            folders.setdefault(path.rpartition(os.sep)[0], name)
    return folders
