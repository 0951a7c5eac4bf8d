"""A user's git repository in, revisions, snapshots and checkouts out; the user's state unmoved."""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from perfledger.records import Revision
from perfledger_runners.git import GitFailedError, RepositoryError, git
from perfledger_runners.text import clean
from perfledger_runners.untracked import untracked_files

MAX_REVISION_LENGTH = 500
MAX_SUBJECT = 200
SHA = re.compile(r"[0-9a-f]{40}")
# scheme://[user@]host[:port]/owner/name[.git] and user@host:owner/name[.git], as forges write them.
FORGE_URL = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@]*@)?[^/@]+/|[\w.-]+@[\w.-]+:)"
    r"(?P<name>[\w.-]+/[\w.-]+?)(?:\.git)?/?"
)
# A snapshot is made for us, not for history: a fixed name and time need no configuration of the
# user's, and the same files on the same HEAD are the same snapshot.
SNAPSHOT_IDENTITY = {
    f"GIT_{role}_{fact}": value
    for role in ("AUTHOR", "COMMITTER")
    for fact, value in (
        ("NAME", "perfledger"),
        ("EMAIL", "perfledger@localhost"),
        ("DATE", "2000-01-01T00:00:00+0000"),
    )
}


class NotARepositoryError(RepositoryError):
    """The folder is in no git work tree."""


class UnknownRevisionError(RepositoryError):
    """Nothing in the repository goes by that name."""


class NoCommitsError(RepositoryError):
    """The repository has no commit yet."""


class NoCommonAncestorError(RepositoryError):
    """Two revisions have no ancestor in common, as far as this clone knows."""


class NoDefaultBranchError(RepositoryError):
    """Neither origin/HEAD nor main nor master exists."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A git work tree, opened by `Repository.open`; `root` is its top folder."""

    root: Path

    @classmethod
    def open(cls, path: Path) -> Self:
        """Find the repository that `path` is in; raises NotARepositoryError."""
        if not path.is_dir():
            msg = f"{path} is not a folder: give the path of a git repository"
            raise NotARepositoryError(msg)
        try:
            top = git(path, "rev-parse", "--show-toplevel")
        except GitFailedError as error:
            msg = f"{path} is not in a git work tree: run perfledger inside one ({error})"
            raise NotARepositoryError(msg) from error
        return cls(Path(_line(top)))

    def default_branch(self) -> str:
        """Return the default branch: origin/HEAD's, else main, else master, here or on origin."""
        try:
            target = _line(git(self.root, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"))
        except GitFailedError:
            target = ""
        heads = [f"refs/{where}/{name}" for name in ("main", "master") for where in _PLACES]
        for ref in (target, *heads):
            if ref and self._find(ref):
                return ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")
        msg = f"{self.root} has neither origin/HEAD nor main nor master: pass --base"
        raise NoDefaultBranchError(msg)

    def resolve(self, revision: str) -> Revision:
        """Return the commit that a branch, tag, hash or expression such as HEAD~1 stands for.

        Raises UnknownRevisionError, and NoCommitsError where there is none at all.
        """
        _check_name(revision)
        sha = self._find(revision)
        if not sha:
            if not self._find("HEAD"):
                msg = f"{self.root} has no commit on its current branch yet: commit something first"
                raise NoCommitsError(msg)
            msg = f"{revision!r} is no commit of {self.root}{self._shallow_advice()}"
            raise UnknownRevisionError(msg)
        if not SHA.fullmatch(sha):
            msg = f"{self.root} uses SHA-256 object names: only SHA-1 repositories are supported"
            raise RepositoryError(msg)
        subject = git(self.root, "log", "-1", "--no-show-signature", "--format=%s", sha)
        return Revision(sha=sha, ref=revision, subject=clean(_line(subject))[:MAX_SUBJECT])

    def merge_base(self, one: str, other: str) -> str:
        """Return the hash of the best common ancestor; raises NoCommonAncestorError."""
        shas = (self.resolve(one).sha, self.resolve(other).sha)
        try:
            return _line(git(self.root, "merge-base", *shas))
        except GitFailedError as error:
            if error.status != 1:
                raise
            msg = f"{one!r} and {other!r} have no common ancestor{self._shallow_advice()}"
            raise NoCommonAncestorError(msg) from error

    def first_parent(self, revision: str) -> str:
        """Return the hash of a commit's first parent; raises UnknownRevisionError for a root."""
        sha = self.resolve(revision).sha
        parent = self._find(f"{sha}^1")
        if not parent:
            msg = f"{revision!r} ({sha[:12]}) has no parent{self._shallow_advice()}"
            raise UnknownRevisionError(msg)
        return parent

    def snapshot(self) -> Revision:
        """Return the work tree as a commit: HEAD if nothing changed, else one made for it.

        Untracked files that .gitignore does not name belong to it, but for virtual environments.
        The commit is a loose object that no ref names; the user's index, HEAD and branches are not
        written to. Raises RepositoryError when the untracked files are too large.
        """
        head = self.resolve("HEAD")
        with tempfile.TemporaryDirectory(prefix="perfledger-index-") as folder:
            index = Path(folder) / "index"
            # A copy of the user's own keeps what `git add` must know: sparse paths, file times.
            real = self.root / _line(git(self.root, "rev-parse", "--git-path", "index"))
            if real.is_file():
                shutil.copy2(real, index)  # with its time, by which git knows racy entries
            environment = {"GIT_INDEX_FILE": str(index)}
            git(self.root, "add", "--update", "--", ".", environment=environment)
            self._add_untracked(Path(folder) / "paths", environment)
            tree = _line(git(self.root, "write-tree", environment=environment))
        if tree == self._find_tree(head.sha):
            return head
        message = f"uncommitted changes on {head.sha[:12]}"
        commit = ("commit-tree", "-p", head.sha, "-m", message, tree)
        sha = _line(git(self.root, *commit, environment=SNAPSHOT_IDENTITY))
        return Revision(sha=sha, ref="work tree", subject=message, is_dirty=True)

    def read_file(self, sha: str, path: str, *, max_bytes: int) -> bytes | None:
        """Return a file's content at a commit, or None if it has no such file.

        Raises RepositoryError where it is no regular file or larger than `max_bytes`.
        """
        where = ("--full-tree", "--", _checked_sha(sha), path)
        listing = git(self.root, "ls-tree", "-z", "-l", *where)
        entry = listing.decode(errors="replace").partition("\t")[0].split()
        if not entry:
            return None
        mode, kind, blob, size = entry
        if kind != "blob" or mode == "120000":
            msg = f"{path} at {sha[:12]} is no regular file: commit the file itself"
            raise RepositoryError(msg)
        if int(size) > max_bytes:
            msg = f"{path} at {sha[:12]} has {size} bytes: at most {max_bytes} are read"
            raise RepositoryError(msg)
        return git(self.root, "cat-file", "blob", blob)

    @contextmanager
    def worktree(self, sha: str, folder: Path) -> Generator[Path]:
        """Check a commit out into `folder`, which must not exist yet, and remove it at the end."""
        commit = _checked_sha(sha)
        if folder.exists():
            msg = f"{folder} exists already: a checkout needs a folder of its own"
            raise RepositoryError(msg)
        records = self.root / _line(git(self.root, "rev-parse", "--git-common-dir"))
        try:
            with _alone(records):
                git(self.root, "worktree", "add", "--detach", "--quiet", str(folder), commit)
            yield folder
        finally:
            with _alone(records):
                self._remove_worktree(folder)

    def origin_name(self) -> str:
        """Return "owner/name" as the remote called origin has it, or "" if it has no such form."""
        try:
            url = _line(git(self.root, "remote", "get-url", "origin"))
        except GitFailedError:
            return ""
        match = FORGE_URL.fullmatch(url)
        return match["name"] if match else ""

    def _add_untracked(self, listing: Path, environment: Mapping[str, str]) -> None:
        """Add the new files to an index; `listing` is a file to name them to git in."""
        paths = untracked_files(self.root, environment=environment)
        if paths:
            listing.write_bytes(b"\0".join(map(os.fsencode, paths)))
            source = f"--pathspec-from-file={listing}"
            git(self.root, "add", source, "--pathspec-file-nul", environment=environment)

    def _find(self, revision: str) -> str:
        """Return the hash of the commit by that name, or ""."""
        name = f"{revision}^{{commit}}"
        try:
            return _line(git(self.root, "rev-parse", "--verify", "--quiet", name))
        except GitFailedError:
            return ""

    def _find_tree(self, sha: str) -> str:
        return _line(git(self.root, "rev-parse", "--verify", f"{sha}^{{tree}}"))

    def _shallow_advice(self) -> str:
        if _line(git(self.root, "rev-parse", "--is-shallow-repository")) == "true":
            return " in this shallow clone: fetch with depth 0 (actions/checkout: fetch-depth: 0)"
        return ""

    def _remove_worktree(self, folder: Path) -> None:
        """Remove one work tree and git's record of it; `prune` would touch the user's own."""
        remove = ("worktree", "remove", "--force", "--force", str(folder))
        try:
            git(self.root, *remove)
        except GitFailedError:
            # Half made, or with files git does not dare to delete: without the folder it obeys.
            shutil.rmtree(folder, ignore_errors=True)
            try:
                git(self.root, *remove)
            except GitFailedError:
                return  # git never knew it: `add` failed before its record was made


_PLACES = ("heads", "remotes/origin")


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Keep other checks of this repository waiting: git dies of a record that is half written.

    The folder itself is locked, and nothing is written to it; where it cannot be, nobody waits.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _check_name(revision: str) -> None:
    if not revision or revision.startswith("-") or len(revision) > MAX_REVISION_LENGTH:
        msg = f"{revision[:80]!r} is not the name of a revision"
        raise UnknownRevisionError(msg)
    if not revision.isprintable():
        msg = f"the revision {revision!r} has characters that no name of a revision has"
        raise UnknownRevisionError(msg)


def _checked_sha(sha: str) -> str:
    if not SHA.fullmatch(sha):
        msg = f"{sha[:80]!r} is not a commit's hash (40 hex digits)"
        raise UnknownRevisionError(msg)
    return sha


def _line(output: bytes) -> str:
    return output.decode(errors="replace").removesuffix("\n")
