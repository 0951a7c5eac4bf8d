"""A checkout in, its submodules' files put into it from what the user's clone has of them."""

import tempfile
from collections.abc import Generator
from pathlib import Path

from perfledger_runners.git import GitFailedError, git
from perfledger_runners.text import clean

GITLINK = "160000"  # the mode of a submodule's commit in a tree
MAX_SUBMODULES = 1000  # of one checkout, those of submodules included


def fill_submodules(root: Path, checkout: Path, sha: str) -> tuple[str, ...]:
    """Write the submodules' files at commit `sha` of `root` below `checkout`; return notes.

    Nothing is fetched: a submodule whose commit is not in the user's clone leaves its folder empty
    and a note that says so. The files come without a `.git` of their own.
    """
    git_dir = root / git(root, "rev-parse", "--absolute-git-dir").decode().strip()
    return tuple(_fill(git_dir, checkout, sha, left=[MAX_SUBMODULES]))


def _fill(git_dir: Path, checkout: Path, sha: str, *, left: list[int]) -> Generator[str]:
    links = _links(git_dir, sha)
    names = _names(git_dir, sha) if links else {}
    for path, commit in links.items():
        left[0] -= 1
        shown = clean(path)[:200]
        if left[0] < 0:
            yield f"submodule {shown} is one of more than {MAX_SUBMODULES}: it stays empty"
            return
        modules = git_dir / "modules" / names.get(path, "")
        target = checkout / path
        if not (_is_below(target, checkout) and _has(git_dir, modules, commit)):
            yield (
                f"submodule {shown} stays empty: its commit {commit[:12]} is not in this clone; "
                "git submodule update --init --recursive gets it"
            )
            continue
        target.mkdir(parents=True, exist_ok=True)
        _check_out(modules, target, commit)
        yield from _fill(modules, target, commit, left=left)


def _links(git_dir: Path, sha: str) -> dict[str, str]:
    """Return path → commit of the submodules in a commit's tree."""
    listing = git(git_dir, "--git-dir", str(git_dir), "ls-tree", "-r", "-z", "--full-tree", sha)
    found: dict[str, str] = {}
    for entry in listing.decode(errors="surrogateescape").split("\0"):
        facts, _, path = entry.partition("\t")
        mode, _, commit = facts.partition(" commit ")
        if mode == GITLINK:
            found[path] = commit
    return found


def _names(git_dir: Path, sha: str) -> dict[str, str]:
    """Return path → name as a commit's .gitmodules has them; nothing without a readable one."""
    pattern = r"^submodule\..*\.path$"
    blob = ("--blob", f"{sha}:.gitmodules", "--get-regexp", pattern)
    try:
        listing = git(git_dir, "--git-dir", str(git_dir), "config", "-z", *blob)
    except GitFailedError:
        return {}
    found: dict[str, str] = {}
    for entry in listing.decode(errors="surrogateescape").split("\0"):
        key, _, path = entry.partition("\n")
        found[path] = key.removeprefix("submodule.").removesuffix(".path")
    return found


def _has(git_dir: Path, modules: Path, commit: str) -> bool:
    """Whether the folder is a clone of git's own making that has the commit."""
    if modules == git_dir / "modules" or not _is_below(modules, git_dir / "modules"):
        return False  # a name such as "../../elsewhere" is an old trick
    if not (modules / "HEAD").is_file():
        return False
    try:
        git(modules, "--git-dir", str(modules), "cat-file", "-e", f"{commit}^{{tree}}")
    except GitFailedError:
        return False
    return True


def _check_out(modules: Path, target: Path, commit: str) -> None:
    """Write a commit's files, through an index of its own: the user's submodule is not touched."""
    where = ("--git-dir", str(modules), "--work-tree", str(target))
    with tempfile.TemporaryDirectory(prefix="perfledger-index-") as folder:
        environment = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        git(target, *where, "read-tree", commit, environment=environment)
        git(target, *where, "checkout-index", "--all", "--force", environment=environment)


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve()) and ".." not in path.parts
