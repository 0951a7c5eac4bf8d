"""Opens a user's git repository for revisions, snapshots and worktrees, without changing it."""

import fcntl
import os
import re
import shutil
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from perfledger.records import Revision, short_sha
from perfledger.time_units import SECONDS_PER_DAY
from perfledger_runners.checkouts.git import GitFailedError, RepositoryError, git
from perfledger_runners.checkouts.submodules import GITLINK
from perfledger_runners.checkouts.untracked_files import untracked_files
from perfledger_runners.checkouts.worktrees.git_folder import give_own_git_folder
from perfledger_runners.private_folder import is_abandoned, private_folder
from perfledger_runners.safe_text import clean_text

MAX_REVISION_LENGTH = 500  # a branch's name has at most 255 letters
MAX_SUBJECT = 200  # characters of a commit's subject that are kept
SHA = re.compile(r"[0-9a-f]{40}")
# scheme://[user@]host[:port]/owner/name[.git] and user@host:owner/name[.git], as forges write them.
FORGE_URL = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@]*@)?[^/@]+/|[\w.-]+@[\w.-]+:)"
    r"(?P<name>[\w.-]+/[\w.-]+?)(?:\.git)?/?"
)
# A fixed name and time need no user configuration, and the same files on the same HEAD give the
# same snapshot.
SNAPSHOT_IDENTITY = {
    f"GIT_{role}_{fact}": value
    for role in ("AUTHOR", "COMMITTER")
    for fact, value in (
        ("NAME", "perfledger"),
        ("EMAIL", "perfledger@localhost"),
        ("DATE", "2000-01-01T00:00:00+0000"),
    )
}
# In the syntax of `git grep -E`: @workload or @name.workload, where a line begins.
WORKLOAD_DECORATOR = r"^[[:space:]]*@([[:alnum:]_]+\.)?workload([^[:alnum:]_]|$)"
ABANDONED_AFTER_S = float(SECONDS_PER_DAY)  # no check runs this long
SKIPPED_TAG = b"S"  # of `git ls-files -v`: skip-worktree; assume-unchanged is a lower-case tag


class NotARepositoryError(RepositoryError):
    """A folder outside any git work tree."""


class UnknownRevisionError(RepositoryError):
    """A name that is no revision of the repository."""


class NoCommitsError(RepositoryError):
    """A repository without commits."""


class NoCommonAncestorError(RepositoryError):
    """Two revisions without a common ancestor in this clone."""


class NoDefaultBranchError(RepositoryError):
    """A repository without origin/HEAD, main and master."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A git work tree, opened by `Repository.open`; `root` is its top folder."""

    root: Path

    def has_object(self, digest: str) -> bool:
        """Return whether any commit that this clone has, or had, contains a file of this hash."""
        try:
            git(self.root, "cat-file", "-e", digest)
        except GitFailedError:
            return False
        return True

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the repository that contains `path`; raise NotARepositoryError."""
        if not path.is_dir():
            msg = f"{path} is not a folder: give the path of a git repository"
            raise NotARepositoryError(msg)
        try:
            return cls(Path(git(path, "rev-parse", "--show-toplevel").decode().removesuffix("\n")))
        except GitFailedError as error:
            msg = f"{path} is not in a git work tree: run perfledger inside one ({error})"
            raise NotARepositoryError(msg) from error
        except UnicodeDecodeError as error:
            msg = f"the path {os.fsdecode(error.object).strip()!a} is not UTF-8: rename the folder"
            raise NotARepositoryError(msg) from error

    def default_branch(self) -> str:
        """Return the default branch: origin/HEAD's, else main, else master, local or on origin."""
        try:
            target = _line(git(self.root, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"))
        except GitFailedError:
            target = ""
        heads = [f"refs/{where}/{name}" for name in ("main", "master") for where in _NAMESPACES]
        for ref in (target, *heads):
            if ref and self._find(ref):
                return ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")
        msg = f"{self.root} has neither origin/HEAD nor main nor master: pass --base"
        raise NoDefaultBranchError(msg)

    def resolve(self, revision: str) -> Revision:
        """Return the commit of a branch, tag, hash or expression such as HEAD~1.

        Raises UnknownRevisionError, and NoCommitsError for a repository without commits.
        """
        _check_name(revision)
        sha = self._find(revision)
        if not sha:
            if not self._find("HEAD"):
                msg = f"{self.root} has no commit on its current branch: commit something first"
                raise NoCommitsError(msg)
            msg = f"{revision!r} is not a commit of {self.root}{self._shallow_advice()}"
            raise UnknownRevisionError(msg)
        if not SHA.fullmatch(sha):
            msg = f"{self.root} uses SHA-256 object names: only SHA-1 repositories are supported"
            raise RepositoryError(msg)
        line = _line(git(self.root, "log", "-1", "--no-show-signature", "--format=%ct %s", sha))
        seconds, _, subject = line.partition(" ")
        return Revision(
            sha=sha,
            ref=revision,
            subject=clean_text(subject)[:MAX_SUBJECT],
            committed_at=_utc(seconds),
        )

    def merge_base(self, first: str, second: str) -> str:
        """Return the hash of the best common ancestor; raise NoCommonAncestorError."""
        shas = (self.resolve(first).sha, self.resolve(second).sha)
        try:
            return _line(git(self.root, "merge-base", *shas))
        except GitFailedError as error:
            if error.status != 1:
                raise
            msg = f"{first!r} and {second!r} have no common ancestor{self._shallow_advice()}"
            raise NoCommonAncestorError(msg) from error

    def first_parent(self, revision: str) -> str:
        """Return the hash of a commit's first parent; raise UnknownRevisionError for a root."""
        sha = self.resolve(revision).sha
        parent = self._find(f"{sha}^1")
        if not parent:
            msg = f"the commit {short_sha(sha)} has no parent{self._shallow_advice()}"
            raise UnknownRevisionError(msg)
        return parent

    def depth(self, sha: str) -> int | None:
        """Return the number of a commit's first-parent ancestors, None in a shallow clone."""
        if self._shallow_advice():
            return None
        return int(_line(git(self.root, "rev-list", "--count", "--first-parent", sha))) - 1

    def first_parent_line(self, revision: str) -> tuple[str, ...]:
        """Return a commit and its first-parent ancestors, oldest first; none in a shallow clone."""
        if self._shallow_advice():
            return ()
        sha = self.resolve(revision).sha
        lines = git(self.root, "rev-list", "--reverse", "--first-parent", sha)
        return tuple(lines.decode().split())

    def snapshot(self) -> Revision:
        """Return the work tree as a commit: HEAD if nothing changed, else a new one.

        It includes untracked files that .gitignore does not name, except virtual environments, and
        the same of each submodule. The commits are loose objects without a ref; the user's index,
        HEAD and branches are not written. Raises RepositoryError when the untracked files are too
        large.
        """
        head = self.resolve("HEAD")
        with private_folder() as folder:
            index = folder / "index"
            # A copy of the user's index keeps what `git add` needs: sparse paths, file times.
            real = self.root / _line(git(self.root, "rev-parse", "--git-path", "index"))
            if real.is_file():
                shutil.copy2(real, index)  # with its time, by which git detects racy entries
            environment = {"GIT_INDEX_FILE": str(index)}
            self._unmark(environment)
            git(self.root, "add", "--update", environment=environment)
            self._add_untracked(folder / "paths", environment)
            self._add_submodules(environment)
            tree = _line(git(self.root, "write-tree", environment=environment))
        message = f"uncommitted changes on {short_sha(head.sha)}"
        sha = self.commit_tree(tree, parent=head.sha, message=message)
        if sha == head.sha:
            return head
        return Revision(sha=sha, ref="work tree", subject=message, is_dirty=True)

    def commit_tree(self, tree: str, *, parent: str, message: str) -> str:
        """Return a commit with this tree: the parent if that has it, else a new one without a ref.

        The same arguments give the same commit.
        """
        if tree == _line(git(self.root, "rev-parse", "--verify", f"{parent}^{{tree}}")):
            return parent
        commit = ("commit-tree", "-p", parent, "-m", message, tree)
        return _line(git(self.root, *commit, environment=SNAPSHOT_IDENTITY))

    def read_file(self, sha: str, path: str, *, max_bytes: int) -> bytes | None:
        """Return a file's content at a commit, None if the commit lacks it.

        Raises RepositoryError if it is not a regular file or larger than `max_bytes`.
        """
        where = ("--full-tree", "--", _checked_sha(sha), path)
        listing = git(self.root, "ls-tree", "-z", "-l", *where)
        entry = listing.decode(errors="replace").partition("\t")[0].split()
        if not entry:
            return None
        mode, kind, blob, size = entry
        if kind != "blob" or mode == "120000":
            msg = f"{path} at {short_sha(sha)} is not a regular file: commit the file itself"
            raise RepositoryError(msg)
        if int(size) > max_bytes:
            msg = f"{path} at {short_sha(sha)} has {size} bytes: the maximum is {max_bytes}"
            raise RepositoryError(msg)
        return git(self.root, "cat-file", "blob", blob)

    def files_with_workloads(self, sha: str) -> tuple[str, ...]:
        """Return the Python files of a commit whose text uses perfledger's decorator."""
        patterns = ("--all-match", "-e", WORKLOAD_DECORATOR, "-e", "perfledger")  # both
        try:
            listing = git(self.root, "grep", "-lzIE", *patterns, _checked_sha(sha), "--")
        except GitFailedError as error:
            if error.status != 1:
                raise
            return ()  # no file matches
        paths = (os.fsdecode(name).partition(":")[2] for name in listing.split(b"\0"))
        return tuple(clean_text(path) for path in paths if path.endswith(".py"))

    def last_change_of_workloads(self, ancestor: str, head: str) -> str:
        """Return the last commit between `ancestor` and `head` that changed files with workloads.

        The files are head's, the commits are first parents, and neither end counts; "" if no such
        commit has workloads.
        """
        files = self.files_with_workloads(head)
        if not files:
            return ""
        between = f"{_checked_sha(ancestor)}..{_checked_sha(head)}^1"
        commits = ("rev-list", "--first-parent", "--max-count=1", between)
        sha = _line(git(self.root, "--literal-pathspecs", *commits, "--", *files))
        return sha if sha and self.files_with_workloads(sha) else ""

    @contextmanager
    def worktree(self, sha: str, folder: Path) -> Generator[Path]:
        """Check a commit out into `folder`, which must not exist yet, and remove it at the end."""
        commit = _checked_sha(sha)
        if folder.exists():
            msg = f"{folder} exists already: give a new folder for the checkout"
            raise RepositoryError(msg)
        records = self.root / _line(git(self.root, "rev-parse", "--git-common-dir"))
        try:
            with _exclusive_lock(records):
                self._remove_abandoned_worktrees(records)
                git(self.root, "worktree", "add", "--detach", "--quiet", str(folder), commit)
                give_own_git_folder(folder)
            yield folder
        finally:
            with _exclusive_lock(records):
                self._remove_worktree(folder)

    def origin_name(self) -> str:
        """Return "owner/name" from the remote origin's URL, "" if it has another form."""
        try:
            url = _line(git(self.root, "remote", "get-url", "origin"))
        except GitFailedError:
            return ""
        match = FORGE_URL.fullmatch(url)
        return match["name"] if match else ""

    def _unmark(self, environment: Mapping[str, str]) -> None:
        """Make an index see the changes of files that it was told to take as unchanged.

        A file that a sparse checkout leaves out keeps its mark: it is not there.
        """
        listing = git(self.root, "ls-files", "-v", "-s", "-z", environment=environment)
        entries = (entry.split(b" ", 1) for entry in listing.split(b"\0") if entry)
        root = os.fsencode(self.root) + b"/"
        # A new entry has neither a mark nor the file's time and size. Those of a marked file may
        # be of another content: git overlooks a change in the second of `git add` from then on.
        marked = [
            entry
            for tag, entry in entries
            if (tag.islower() or tag == SKIPPED_TAG)
            and (tag.upper() != SKIPPED_TAG or os.path.lexists(root + entry.partition(b"\t")[2]))
        ]
        if marked:
            update = ("update-index", "-z", "--index-info")
            lines = b"\0".join((*marked, b""))
            git(self.root, *update, environment=environment, standard_input=lines)

    def _add_submodules(self, environment: Mapping[str, str]) -> None:
        """Replace each changed submodule in an index by its snapshot."""
        changes = ("diff-files", "-z", "--raw", "--ignore-submodules=none")
        fields = os.fsdecode(git(self.root, *changes, environment=environment)).split("\0")
        for facts, path in zip(fields[::2], fields[1::2], strict=False):
            folder = self.root / path
            if facts.startswith(f":{GITLINK} {GITLINK} ") and (folder / ".git").exists():
                entry = f"{GITLINK},{Repository(folder).snapshot().sha},{path}"
                git(self.root, "update-index", "--cacheinfo", entry, environment=environment)

    def _add_untracked(self, listing: Path, environment: Mapping[str, str]) -> None:
        """Add the untracked files to an index; `listing` is a file for their names."""
        paths = untracked_files(self.root, environment=environment)
        if paths:
            listing.write_bytes(b"\0".join(map(os.fsencode, paths)))
            source = f"--pathspec-from-file={listing}"
            git(self.root, "add", source, "--pathspec-file-nul", environment=environment)

    def _find(self, revision: str) -> str:
        """Return the hash of a revision's commit, "" if there is none."""
        name = f"{revision}^{{commit}}"
        try:
            return _line(git(self.root, "rev-parse", "--verify", "--quiet", name))
        except GitFailedError:
            return ""

    def _shallow_advice(self) -> str:
        if _line(git(self.root, "rev-parse", "--is-shallow-repository")) == "true":
            return " in this shallow clone: fetch with depth 0 (actions/checkout: fetch-depth: 0)"
        return ""

    def _remove_abandoned_worktrees(self, records: Path) -> None:
        """Remove the records of worktrees that killed checks left behind.

        Recent ones stay: on a shared file system they may belong to a check on another machine.
        """
        oldest = time.time() - ABANDONED_AFTER_S
        for record in (records / "worktrees").glob("*/gitdir"):
            with suppress(OSError):  # the user's git removes its own meanwhile
                folder = Path(record.read_text(encoding="utf-8", errors="surrogateescape")).parent
                if is_abandoned(folder) and record.stat().st_mtime < oldest:
                    self._remove_worktree(folder)

    def _remove_worktree(self, folder: Path) -> None:
        """Remove one worktree and its record; `prune` could touch the user's worktrees."""
        remove = ("worktree", "remove", "--force", "--force", str(folder))
        try:
            git(self.root, *remove)
        except GitFailedError:
            # Incomplete, or with files that git does not delete; without the folder it succeeds.
            shutil.rmtree(folder, ignore_errors=True)
            try:
                git(self.root, *remove)
            except GitFailedError:
                return  # `add` failed before it wrote a record


_NAMESPACES = ("heads", "remotes/origin")


@contextmanager
def _exclusive_lock(folder: Path) -> Generator[None]:
    """Lock out other checks of this repository, because git fails on a half-written record.

    The lock is on the folder itself, and nothing is written; without lock support no check waits.
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
        msg = f"the revision {revision!r} has invalid characters"
        raise UnknownRevisionError(msg)


def _checked_sha(sha: str) -> str:
    if not SHA.fullmatch(sha):
        msg = f"{sha[:80]!r} is not a commit's hash (40 hex digits)"
        raise UnknownRevisionError(msg)
    return sha


def _utc(seconds: str) -> str:
    """Return a commit's time in ISO 8601, "" for a time that no calendar has."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _line(output: bytes) -> str:
    return output.decode(errors="replace").removesuffix("\n")
