"""Finds the Python files of a commit that import another of its files."""

import ast
import os
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from perfledger_runners.checkouts.git import GitFailedError, git
from perfledger_runners.checkouts.repository import Repository

NO_MATCH = 1  # git grep's exit status without a match
# Folders of packages: a module's name begins below them.
SOURCE_FOLDERS = frozenset({"src", "python", "lib"})


def importing_files(repository: Repository, sha: str, path: str) -> tuple[str, ...]:
    """Return the files of a commit that import the file at `path`. Raises RepositoryError.

    An import of a single name, such as `import work`, counts for a file at the top, in a folder of
    packages, or beside the importing file: elsewhere it may be any other module.
    """
    module = _module_parts(path)
    return tuple(
        importer
        for importer in _files_with_word(repository, sha, module[-1])
        if importer != path and _imports(importer, _content(repository, sha, importer), module)
    )


def _files_with_word(repository: Repository, sha: str, word: str) -> tuple[str, ...]:
    try:
        listing = git(repository.root, "grep", "-lzIwF", "-e", word, sha, "--")
    except GitFailedError as error:
        if error.status != NO_MATCH:
            raise
        return ()
    names = (os.fsdecode(name).partition(":")[2] for name in listing.split(b"\0"))
    return tuple(name for name in names if name.endswith(".py"))


def _content(repository: Repository, sha: str, path: str) -> bytes:
    return git(repository.root, "cat-file", "blob", f"{sha}:{path}")


def _module_parts(path: str) -> tuple[str, ...]:
    parts = PurePosixPath(path).with_suffix("").parts
    return parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts


def _imports(importer: str, content: bytes, module: Sequence[str]) -> bool:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    folder = PurePosixPath(importer).parent.parts
    before = module[:-1]
    is_near = before == folder or not before or before[-1] in SOURCE_FOLDERS
    return any(_is_module(name, module, is_near=is_near) for name in _imported_names(tree, folder))


def _is_module(name: Sequence[str], module: Sequence[str], *, is_near: bool) -> bool:
    is_end = tuple(name) == tuple(module[-len(name) :]) if name else False
    return is_end and (len(name) > 1 or len(module) == 1 or is_near)


def _imported_names(tree: ast.AST, folder: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the names that a file in this folder imports, from the repository's top if relative."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (tuple(each.name.split(".")) for each in names)
            case ast.ImportFrom(module=origin, names=names, level=level):
                start = tuple(folder[: len(folder) - level + 1]) if level else ()
                package = (*start, *(origin.split(".") if origin else ()))
                yield package
                yield from ((*package, each.name) for each in names)
            case _:
                pass
