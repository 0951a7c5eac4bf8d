"""Checks that loaded modules come from the measured checkout."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import cast

INSTALL_FOLDERS = ("site-packages", "dist-packages")
OWN_FOLDER = Path(__file__).resolve().parent


def misplaced_module(
    modules: Mapping[str, ModuleType],
    *,
    root: Path,
    repository: Path,
    prefixes: Sequence[str] = (sys.prefix, sys.base_prefix),
) -> str:
    """Return a message if a module comes from the user's checkout instead of `root`, else "".

    Both sides would otherwise run the same files, and nothing would ever regress. Installed
    packages may lie anywhere, because a virtual environment is often inside the checkout.
    """
    theirs = repository.resolve()
    below = [Path(prefix).resolve() for prefix in prefixes]
    fine = [root.resolve(), OWN_FOLDER]
    fine += [prefix for prefix in below if prefix != theirs and prefix.is_relative_to(theirs)]
    for folder, name in sorted(_folders(modules).items()):
        home = Path(os.path.realpath(folder))
        if not home.is_relative_to(theirs) or any(home.is_relative_to(each) for each in fine):
            continue
        if any(part in INSTALL_FOLDERS for part in home.parts):
            continue
        return (
            f"module {name!r} was imported from {home}, which is your own checkout and not the "
            "measured revision (an editable install or a link may point there): add the folder of "
            "its top-level package to import_paths of perfledger.toml, or make the link relative"
        )
    return ""


def module_file(module: object) -> str | None:
    """Return a module's file; sys.modules may hold any object, and none of its code is run."""
    try:
        names = cast("Mapping[str, object]", object.__getattribute__(module, "__dict__"))
    except AttributeError:
        return None
    path = names.get("__file__")
    is_path = isinstance(path, str) and os.path.isabs(path) and "\0" not in path  # noqa: PTH117
    return cast("str", path) if is_path else None


def _folders(modules: Mapping[str, ModuleType]) -> dict[str, str]:
    """Return the folders that modules were loaded from, each with one of its modules."""
    folders: dict[str, str] = {}
    for name, module in tuple(modules.items()):
        path = module_file(module)
        if path is not None:
            file = os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114 - fast
            folders.setdefault(file.rpartition(os.sep)[0], str(name))
    return folders
