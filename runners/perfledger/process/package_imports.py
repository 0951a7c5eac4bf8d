"""Imports the repository's own packages from the checkout even if copies are installed."""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, MutableSequence, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from perfledger.package_code import SourcePackage
from perfledger.process.module_origin import INSTALL_FOLDERS


class InstalledCopyFinder(MetaPathFinder):
    """A finder of packages that are complete only as installed copies.

    `folders` hold the copies, by the packages' full names.
    """

    def __init__(self, folders: dict[str, str]) -> None:
        self._folders = folders

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - importlib's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return the installed copy of one of the packages, None for other modules."""
        folder = self._folders.get(fullname)
        return None if folder is None else PathFinder.find_spec(fullname, [folder])


def prefer_checkout(
    root: Path,
    packages: Sequence[SourcePackage],
    *,
    search_path: MutableSequence[str],
    add_finder: Callable[[InstalledCopyFinder], object],
    at: int,
    environment: str = "",
) -> frozenset[Path]:
    """Put the packages' folders below `root` on the search path, from position `at` on.

    Return the folders with a package that runs from its installed copy. A package whose installed
    copy has compiled modules that the checkout lacks cannot run from the checkout: it is imported
    from the copy, preferably one in the side's own `environment`. Thus nothing that used to run
    fails.
    """
    installed = [each for each in search_path if _is_installed(Path(each))]
    if environment:  # PYTHONPATH may name other copies before this one
        installed.sort(key=lambda each: not Path(each).is_relative_to(environment))
    copy_folders: dict[str, str] = {}
    for package in packages:
        copy = _installed_copy(package, installed) if package.root else None
        if copy is not None and _lacks_compiled(_source_folder(root, package), copy):
            copy_folders[package.name] = str(copy.parent)
    names = dict.fromkeys(package.root for package in packages if package.root)
    folders = [(root / name).resolve() for name in names]
    search_path[at:at] = [
        str(folder)
        for folder in folders
        if folder.is_relative_to(root) and str(folder) not in search_path and _is_safe(folder)
    ]
    if copy_folders:
        add_finder(InstalledCopyFinder(copy_folders))
    return frozenset((root / each.root).resolve() for each in packages if each.name in copy_folders)


def python_path(
    root: Path, search_path: Iterable[str], *, without: Collection[Path], inherited: str
) -> str:
    """Return the PYTHONPATH that makes a step's Python processes import what this process imports.

    Otherwise they would run installed copies, the same on both sides. It has the part of the search
    path below `root`, without the folders `without`, whose packages run from a copy, and without
    folders that would hide a module of the standard library from other programs.
    """
    entries = [
        entry
        for entry in dict.fromkeys(search_path)
        if (folder := Path(entry)).is_relative_to(root)
        and folder not in without
        and os.pathsep not in entry
        and _is_safe(folder)
    ]
    return os.pathsep.join(filter(None, (*entries, inherited)))


def _is_installed(folder: Path) -> bool:
    return any(part in INSTALL_FOLDERS for part in folder.parts)


def _is_safe(folder: Path) -> bool:
    """Return whether the folder's files hide no module of the standard library."""
    if not folder.is_dir():
        return False
    names = {path.name.removesuffix(".py") for path in folder.iterdir()}
    return not any(
        (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()
        for name in names & sys.stdlib_module_names
    )


def _source_folder(root: Path, package: SourcePackage) -> Path:
    return root.joinpath(package.root, *package.name.split("."))


def _installed_copy(package: SourcePackage, installed: Sequence[str]) -> Path | None:
    """Return the folder of the first installed copy, None if there is none."""
    parts = package.name.split(".")
    folders = (Path(each).joinpath(*parts) for each in installed)
    return next((folder for folder in folders if folder.is_dir()), None)


def _lacks_compiled(source: Path, copy: Path) -> bool:
    return any(not (source / path.relative_to(copy)).exists() for path in _compiled_files(copy))


def _compiled_files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.name.endswith(tuple(EXTENSION_SUFFIXES)))
