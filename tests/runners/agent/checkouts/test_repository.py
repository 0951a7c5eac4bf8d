"""Real git in real repositories; the user's own state must never move."""

import os
from pathlib import Path

import pytest

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.repository import (
    NoCommitsError,
    NoCommonAncestorError,
    NoDefaultBranchError,
    NotARepositoryError,
    Repository,
    UnknownRevisionError,
)
from tests.service.git_history import GitHistory


def test_a_folder_outside_git_is_named_in_the_error(tmp_path):
    with pytest.raises(NotARepositoryError, match=f"{tmp_path} is not in a git work tree"):
        Repository.open(tmp_path)


def test_a_folder_that_is_not_there_is_no_repository(tmp_path):
    with pytest.raises(NotARepositoryError, match="is not a folder"):
        Repository.open(tmp_path / "nowhere")


def test_a_repository_is_found_from_a_folder_inside_it(theirs):
    theirs.write("deep/down/file", "")

    assert Repository.open(theirs.root / "deep" / "down").root == theirs.root


def test_a_repository_whose_path_is_not_utf_8_is_named_in_the_error(theirs):
    root = theirs.root.rename(theirs.root.with_name("n\udcff"))

    with pytest.raises(NotARepositoryError, match="rename the folder") as raised:
        Repository.open(root)

    assert r"/n\udcff' is not UTF-8" in str(raised.value)


def test_a_path_with_blanks_and_letters_of_other_languages_is_fine(theirs):
    root = theirs.root.rename(theirs.root.with_name("meine Dateien \u00fc \u4e2d"))

    assert Repository.open(root).root == root


def test_a_repository_without_a_commit_says_so(theirs):
    with pytest.raises(NoCommitsError, match="no commit on its current branch"):
        theirs.open().resolve("HEAD")


def test_a_repository_has_the_files_of_all_of_its_commits(theirs):
    theirs.write("a.py", "A = 1\n")
    theirs.commit("one")
    theirs.write("a.py", "A = 2\n")
    theirs.commit("two")
    older = theirs.git("rev-parse", "HEAD~1:a.py")

    assert theirs.open().has_object(older)
    assert not theirs.open().has_object(older[::-1])


def test_a_revision_has_its_hash_the_users_word_for_it_and_its_subject(theirs):
    sha = theirs.commit("say \x1b[31mhello")

    revision = theirs.open().resolve("main")

    assert (revision.sha, revision.ref, revision.is_dirty) == (sha, "main", False)
    assert revision.subject == "say \ufffd[31mhello"


@pytest.mark.parametrize("name", ["nothing", "HEAD~7", "HEAD:file", "deadbeef" * 5])
def test_an_unknown_revision_is_named_in_the_error(theirs, name):
    theirs.commit("one")

    with pytest.raises(UnknownRevisionError, match=f"'{name}' is not a commit"):
        theirs.open().resolve(name)


@pytest.mark.parametrize("name", ["--upload-pack=evil", "-h", "", "a\nb", "x" * 501])
def test_what_no_revision_is_called_never_reaches_git(theirs, name):
    theirs.commit("one")

    with pytest.raises(UnknownRevisionError):
        theirs.open().resolve(name)


def test_a_branch_named_like_a_command_is_a_branch(theirs):
    theirs.commit("one")
    theirs.git("branch", "$(touch${IFS}pwned);ls")

    assert theirs.open().resolve("$(touch${IFS}pwned);ls").subject == "one"
    assert not (theirs.root / "pwned").exists()


def test_the_merge_base_is_where_the_branches_parted(theirs):
    parted = theirs.commit("one")
    theirs.git("checkout", "--quiet", "-b", "feature")
    theirs.commit("two", a="2")
    theirs.git("checkout", "--quiet", "main")
    theirs.commit("three", b="3")

    assert theirs.open().merge_base("feature", "main") == parted


def test_histories_without_a_common_ancestor_say_so(theirs):
    theirs.commit("one")
    theirs.git("checkout", "--quiet", "--orphan", "other")
    theirs.commit("another beginning")

    with pytest.raises(NoCommonAncestorError, match=r"'other' and 'main' have no common ancestor$"):
        theirs.open().merge_base("other", "main")


def test_a_shallow_clone_is_told_to_fetch_more(theirs, tmp_path):
    theirs.commit("one", a="1")
    theirs.git("checkout", "--quiet", "-b", "feature")
    theirs.commit("two", a="2")
    theirs.git("checkout", "--quiet", "main")
    theirs.commit("three", b="3")
    url = f"file://{theirs.root}"
    theirs.git(
        "clone", "--quiet", "--depth=1", "--no-single-branch", url, str(tmp_path / "shallow")
    )
    shallow = Repository.open(tmp_path / "shallow")

    with pytest.raises(NoCommonAncestorError, match="fetch with depth 0"):
        shallow.merge_base("origin/feature", "main")
    with pytest.raises(UnknownRevisionError, match="no parent in this shallow clone"):
        shallow.first_parent("main")


def test_the_first_parent_of_a_merge_is_the_branch_merged_into(theirs):
    theirs.commit("one")
    theirs.git("checkout", "--quiet", "-b", "feature")
    theirs.commit("two", a="2")
    theirs.git("checkout", "--quiet", "main")
    before = theirs.commit("three", b="3")
    theirs.git("merge", "--quiet", "--no-ff", "feature", "-m", "merge")

    assert theirs.open().first_parent("HEAD") == before


def test_a_first_commit_has_no_parent(theirs):
    theirs.commit("one")

    with pytest.raises(UnknownRevisionError, match=r"has no parent$"):
        theirs.open().first_parent("main")


def test_the_default_branch_is_what_origin_says(theirs, tmp_path):
    theirs.commit("one")
    theirs.git("branch", "-m", "trunk")
    theirs.git("clone", "--quiet", str(theirs.root), str(tmp_path / "clone"))
    clone = Repository.open(tmp_path / "clone")

    assert clone.default_branch() == "origin/trunk"


@pytest.mark.parametrize(
    ("branches", "expected"),
    [(["main", "master"], "main"), (["master", "other"], "master")],
)
def test_without_origin_the_default_branch_is_main_then_master(theirs, branches, expected):
    theirs.commit("one")
    theirs.git("checkout", "--quiet", "-b", "work")
    theirs.git("branch", "-D", "main")
    for branch in branches:
        theirs.git("branch", branch)

    assert theirs.open().default_branch() == expected


def test_a_remote_main_will_do_where_a_job_checked_out_no_local_one(theirs):
    sha = theirs.commit("one")
    theirs.git("checkout", "--quiet", "-b", "work")
    theirs.git("branch", "-D", "main")
    theirs.git("update-ref", "refs/remotes/origin/main", sha)

    assert theirs.open().default_branch() == "origin/main"


def test_no_default_branch_asks_for_base(theirs):
    theirs.commit("one")
    theirs.git("branch", "-m", "work")

    with pytest.raises(NoDefaultBranchError, match="pass --base"):
        theirs.open().default_branch()


def test_a_clean_tree_is_head_itself(theirs):
    sha = theirs.commit("one", a="1")

    revision = theirs.open().snapshot()

    assert (revision.sha, revision.is_dirty) == (sha, False)


def test_a_snapshot_holds_what_changed_what_is_new_and_what_is_gone(theirs):
    theirs.write(".gitignore", "secret.txt\n")
    head = theirs.commit("one", a="1", b="1", c="1")
    theirs.write("a.txt", "changed")
    (theirs.root / "b.txt").unlink()
    theirs.write("new/file.txt", "untracked")
    theirs.write("secret.txt", "ignored")
    theirs.write("c.txt", "staged")
    theirs.git("add", "c.txt")
    theirs.write("c.txt", "changed after staging")
    before = theirs.state()

    revision = theirs.open().snapshot()

    assert theirs.state() == before
    assert revision.is_dirty
    assert theirs.git("rev-parse", f"{revision.sha}^") == head
    names = theirs.git("ls-tree", "-r", "--name-only", revision.sha).splitlines()
    assert names == [".gitignore", "a.txt", "c.txt", "new/file.txt"]
    assert theirs.git("show", f"{revision.sha}:c.txt") == "changed after staging"


def test_the_same_changes_are_the_same_snapshot(theirs):
    theirs.commit("one", a="1")
    theirs.write("a.txt", "2")

    assert theirs.open().snapshot() == theirs.open().snapshot()


def test_a_snapshot_needs_no_identity_and_runs_no_hook(theirs):
    theirs.commit("one", a="1")
    theirs.git("config", "user.useConfigOnly", "true")
    theirs.git("config", "--unset", "user.name")
    theirs.git("config", "--unset", "user.email")
    hook = theirs.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch ../hooked\n")
    hook.chmod(0o755)
    theirs.write("a.txt", "2")
    repository = theirs.open()

    with repository.worktree(repository.snapshot().sha, theirs.root.parent / "tree"):
        pass

    assert not (theirs.root.parent / "hooked").exists()


def test_a_snapshot_of_a_sparse_checkout_keeps_what_is_not_checked_out(theirs):
    theirs.commit("one", in__a="1", out__b="1")
    theirs.git("sparse-checkout", "set", "in")
    theirs.write("in/a.txt", "2")

    sha = theirs.open().snapshot().sha

    assert theirs.git("ls-tree", "-r", "--name-only", sha) == "in/a.txt\nout/b.txt"


@pytest.mark.parametrize(
    ("mark", "rest"), [("--assume-unchanged", "a.txt"), ("--skip-worktree", "a.txt\nb.txt")]
)
def test_a_snapshot_has_changes_that_git_was_told_to_overlook(theirs, mark, rest):
    """A sparse checkout leaves out the files that it skips, so only these are not deleted."""
    theirs.commit("one", a="1", b="1")
    theirs.git("update-index", mark, "a.txt", "b.txt")
    theirs.write("a.txt", "2")
    (theirs.root / "b.txt").unlink()
    before = theirs.state()

    sha = theirs.open().snapshot().sha

    assert theirs.git("show", f"{sha}:a.txt") == "2"
    assert theirs.git("ls-tree", "--name-only", sha) == rest
    assert theirs.state() == before


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_a_snapshot_has_a_change_of_a_marked_file_that_looks_like_the_committed_one(theirs, mark):
    """Git overlooks a change in the second of `git add` once `git status` has run."""
    theirs.commit("one", a="1")
    theirs.git("config", "core.trustctime", "false")
    path = theirs.root / "a.txt"
    os.utime(path, (1_600_000_000, 1_600_000_000))
    theirs.git("add", "a.txt")
    theirs.git("update-index", mark, "a.txt")
    path.write_text("2")
    os.utime(path, (1_600_000_000, 1_600_000_000))

    assert theirs.git("show", f"{theirs.open().snapshot().sha}:a.txt") == "2"


def test_a_snapshot_in_a_linked_work_tree_is_of_that_tree(theirs, tmp_path):
    theirs.commit("one", a="1")
    linked = tmp_path / "linked"
    theirs.git("worktree", "add", "--quiet", str(linked), "-b", "linked")
    (linked / "a.txt").write_text("2")

    sha = Repository.open(linked).snapshot().sha

    assert theirs.git("show", f"{sha}:a.txt") == "2"


def test_git_called_from_a_hook_does_not_see_the_hooks_index(theirs, monkeypatch, tmp_path):
    theirs.commit("one", a="1")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere" / "index"))

    assert theirs.open().resolve("main").subject == "one"


def test_a_file_is_read_as_it_was_committed(theirs):
    sha = theirs.commit("one", a="1")
    theirs.write("a.txt", "2")

    assert theirs.open().read_file(sha, "a.txt", max_bytes=10) == b"1"


def test_a_file_that_is_not_there_is_none(theirs):
    sha = theirs.commit("one", a="1")

    assert theirs.open().read_file(sha, "b.txt", max_bytes=10) is None


def test_a_file_that_is_too_large_is_refused_with_both_sizes(theirs):
    sha = theirs.commit("one", a="x" * 11)

    with pytest.raises(RepositoryError, match="has 11 bytes: the maximum is 10"):
        theirs.open().read_file(sha, "a.txt", max_bytes=10)


def test_a_link_is_not_followed(theirs):
    Path(theirs.root / "pyproject.toml").symlink_to("/etc/passwd")
    sha = theirs.commit("one")

    with pytest.raises(RepositoryError, match="not a regular file"):
        theirs.open().read_file(sha, "pyproject.toml", max_bytes=10_000)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/owner/name.git", "owner/name"),
        ("https://github.com/owner/name", "owner/name"),
        ("https://user:token@github.example.org:8443/owner/na.me/", "owner/na.me"),
        ("git@github.com:owner/name.git", "owner/name"),
        ("ssh://git@github.com:22/owner/name.git", "owner/name"),
        ("/srv/git/name.git", ""),
        ("file:///srv/git/name.git", ""),
        ("https://gitlab.com/group/sub/name", ""),
    ],
)
def test_the_origins_name_is_owner_and_name(theirs, url, name):
    theirs.git("remote", "add", "origin", url)

    assert theirs.open().origin_name() == name


def test_without_an_origin_there_is_no_name(theirs):
    assert theirs.open().origin_name() == ""


def test_a_commits_depth_counts_its_first_parents(tmp_path):
    history = GitHistory(tmp_path / "models")
    first = history.commit()
    side, merge = history.merge(side_commits=3)
    repository = Repository.open(history.folder)

    assert [repository.depth(sha) for sha in (first, merge, side[-1])] == [0, 1, 3]
    assert repository.first_parent_line("main") == (first, merge)


def test_a_shallow_clone_has_no_depth(tmp_path):
    history = GitHistory(tmp_path / "models")
    history.commit()
    tip = history.commit()
    history.git("clone", "-q", "--depth", "1", f"file://{history.folder}", str(tmp_path / "few"))
    repository = Repository.open(tmp_path / "few")

    assert repository.depth(tip) is None
    assert repository.first_parent_line("main") == ()
