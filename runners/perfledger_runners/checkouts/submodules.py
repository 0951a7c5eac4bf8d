"""Fills a checkout's submodules from the user's clone, and lists their files."""

import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from perfledger.records import short_sha
from perfledger_runners.checkouts.git import GitFailedError, git
from perfledger_runners.private_folder import private_folder
from perfledger_runners.safe_text import clean_text

GITLINK = "160000"  # the mode of a submodule's commit in a tree
MAX_SUBMODULES = 1000  # per checkout, nested ones included


def fill_submodules(root: Path, checkout: Path, sha: str) -> tuple[str, ...]:
    """Write the submodules' files at commit `sha` of `root` below `checkout`; return notes.

    Nothing is fetched: a submodule whose commit is missing from the user's clone gives an empty
    folder and a note. No `.git` is written.
    """
    git_dir = _git_folder(root)
    return tuple(_fill(git_dir, checkout, sha, left=[MAX_SUBMODULES]))


@dataclass(frozen=True, slots=True)
class SubmoduleFiles:
    """The files of a commit's submodules with their hashes; the clone lacks `missing`."""

    hashes: dict[str, str]
    missing: frozenset[str]


def submodule_files(root: Path, sha: str) -> SubmoduleFiles:
    """Return the files that `fill_submodules` would write for commit `sha` of `root`."""
    git_dir = _git_folder(root)
    hashes: dict[str, str] = {}
    missing = set(_list(git_dir, sha, "", hashes, left=[MAX_SUBMODULES]))
    return SubmoduleFiles(hashes, frozenset(missing))


def _git_folder(root: Path) -> Path:
    output = git(root, "rev-parse", "--absolute-git-dir")
    return root / os.fsdecode(output).removesuffix("\n")


def _list(
    git_dir: Path, sha: str, prefix: str, hashes: dict[str, str], *, left: list[int]
) -> Generator[str]:
    """Add the hashes of the submodules' files below `prefix`; yield missing submodules."""
    entries = _entries(git_dir, sha)
    links = {path: blob for path, (mode, blob) in entries.items() if mode == GITLINK}
    if prefix:
        files = {path: blob for path, (_, blob) in entries.items() if path not in links}
        hashes |= {f"{prefix}{path}": blob for path, blob in files.items()}
    names = _names(git_dir, sha) if links else {}
    for path, commit in links.items():
        left[0] -= 1
        modules = git_dir / "modules" / names.get(path, "")
        if left[0] < 0 or not _has(git_dir, modules, commit):
            yield f"{prefix}{path}"
        else:
            yield from _list(modules, commit, f"{prefix}{path}/", hashes, left=left)


def _fill(git_dir: Path, checkout: Path, sha: str, *, left: list[int]) -> Generator[str]:
    links = _links(git_dir, sha)
    names = _names(git_dir, sha) if links else {}
    for path, commit in links.items():
        left[0] -= 1
        name = clean_text(path)[:200]
        if left[0] < 0:
            yield f"submodule {name} is one of more than {MAX_SUBMODULES}: it stays empty"
            return
        modules = git_dir / "modules" / names.get(path, "")
        target = checkout / path
        if not (_is_below(target, checkout) and _has(git_dir, modules, commit)):
            yield (
                f"submodule {name} stays empty: its commit {short_sha(commit)} is not in this "
                "clone; git submodule update --init --recursive gets it"
            )
            continue
        target.mkdir(parents=True, exist_ok=True)
        _check_out(modules, target, commit)
        yield from _fill(modules, target, commit, left=left)


def _links(git_dir: Path, sha: str) -> dict[str, str]:
    """Return the commits of the submodules in a commit's tree, by path."""
    entries = _entries(git_dir, sha)
    return {path: commit for path, (mode, commit) in entries.items() if mode == GITLINK}


def _entries(git_dir: Path, sha: str) -> dict[str, tuple[str, str]]:
    """Return the modes and hashes of the entries of a commit's tree, by path."""
    listing = git(git_dir, "--git-dir", str(git_dir), "ls-tree", "-r", "-z", "--full-tree", sha)
    entries: dict[str, tuple[str, str]] = {}
    for entry in listing.decode(errors="surrogateescape").split("\0"):
        facts, _, path = entry.partition("\t")
        if path:
            mode, _, digest = facts.split()
            entries[path] = (mode, digest)
    return entries


def _names(git_dir: Path, sha: str) -> dict[str, str]:
    """Return the names of submodules by path from a commit's .gitmodules, empty without one."""
    pattern = r"^submodule\..*\.path$"
    blob = ("--blob", f"{sha}:.gitmodules", "--get-regexp", pattern)
    try:
        listing = git(git_dir, "--git-dir", str(git_dir), "config", "-z", *blob)
    except GitFailedError:
        return {}
    names: dict[str, str] = {}
    for entry in listing.decode(errors="surrogateescape").split("\0"):
        key, _, path = entry.partition("\n")
        names[path] = key.removeprefix("submodule.").removesuffix(".path")
    return names


def _has(git_dir: Path, modules: Path, commit: str) -> bool:
    """Return whether the folder is git's own clone of a submodule and contains the commit."""
    if modules == git_dir / "modules" or not _is_below(modules, git_dir / "modules"):
        return False  # names such as "../../elsewhere" are an attack
    if not (modules / "HEAD").is_file():
        return False
    try:
        git(modules, "--git-dir", str(modules), "cat-file", "-e", f"{commit}^{{tree}}")
    except GitFailedError:
        return False
    return True


def _check_out(modules: Path, target: Path, commit: str) -> None:
    """Write a commit's files through a temporary index, without touching the user's submodule."""
    where = ("--git-dir", str(modules), "--work-tree", str(target))
    with private_folder() as folder:
        environment = {"GIT_INDEX_FILE": str(folder / "index")}
        git(target, *where, "read-tree", commit, environment=environment)
        git(target, *where, "checkout-index", "--all", "--force", environment=environment)


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve()) and ".." not in path.parts
