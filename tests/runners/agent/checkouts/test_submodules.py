"""Submodules are filled from the user's clone, and never from anywhere a tree says."""

import pytest

from perfledger_runners.checkouts import submodules
from perfledger_runners.checkouts.submodules import (
    SubmoduleFiles,
    fill_submodules,
    submodule_files,
)

LOCAL = ("-c", "protocol.file.allow=always")  # git refuses to clone files by default


@pytest.fixture
def nested(theirs, users_repository, tmp_path):
    """A repository with a submodule that has one itself, both checked out."""
    inner = users_repository(tmp_path / "inner")
    inner.commit("inner", deep="1")
    outer = users_repository(tmp_path / "outer")
    outer.commit("outer", lib="1")
    outer.git(*LOCAL, "submodule", "add", "--quiet", str(inner.root), "vendor/inner")
    outer.commit("with inner")
    theirs.commit("one")
    theirs.git(*LOCAL, "submodule", "add", "--quiet", str(outer.root), "libs/outer")
    theirs.git(*LOCAL, "submodule", "update", "--quiet", "--init", "--recursive")
    theirs.commit("with outer")
    return theirs


@pytest.mark.slow(ci_only=True)
def test_a_checkout_gets_its_submodules_and_theirs(nested, tmp_path):
    sha = nested.git("rev-parse", "HEAD")
    before = nested.state()

    with nested.open().worktree(sha, tmp_path / "tree") as folder:
        notes = fill_submodules(nested.root, folder, sha)

        assert notes == ()
        assert (folder / "libs/outer/lib.txt").read_text() == "1"
        assert (folder / "libs/outer/vendor/inner/deep.txt").read_text() == "1"
    assert not (tmp_path / "tree").exists()
    assert nested.state() == before
    assert nested.git("submodule", "status", "--recursive").count("\n") == 1


@pytest.mark.slow(ci_only=True)
def test_each_side_gets_the_commit_that_it_names(nested, tmp_path):
    old = nested.git("rev-parse", "HEAD")
    nested.write("libs/outer/lib.txt", "2")
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    nested.git("-C", "libs/outer", *who, "commit", "--quiet", "-am", "2")
    new = nested.commit("newer outer")

    for sha, text in ((old, "1"), (new, "2")):
        with nested.open().worktree(sha, tmp_path / "tree") as folder:
            fill_submodules(nested.root, folder, sha)

            assert (folder / "libs/outer/lib.txt").read_text() == text


@pytest.mark.slow(ci_only=True)
def test_a_submodule_that_is_not_here_stays_empty_and_is_named(nested, users_repository, tmp_path):
    clone = users_repository(tmp_path / "clone")
    clone.git("fetch", "--quiet", str(nested.root), "main")
    sha = clone.git("rev-parse", "FETCH_HEAD")

    with clone.open().worktree(sha, tmp_path / "tree") as folder:
        (note,) = fill_submodules(clone.root, folder, sha)

        assert list((folder / "libs/outer").iterdir()) == []
    assert "libs/outer stays empty" in note
    assert "git submodule update --init --recursive" in note


@pytest.mark.slow(ci_only=True)
def test_a_name_that_leads_out_of_the_clone_is_not_followed(nested, tmp_path):
    for name in ("../modules/libs/outer", "libs/../../modules/libs/outer", "/etc", ""):
        text = f'[submodule "{name}"]\n\tpath = libs/outer\n\turl = x\n'
        nested.write(".gitmodules", text)
        sha = nested.commit(f"a trick: {name}")

        with nested.open().worktree(sha, tmp_path / "tree") as folder:
            (note,) = fill_submodules(nested.root, folder, sha)

            assert list((folder / "libs/outer").iterdir()) == []
        assert "stays empty" in note


def test_a_repository_without_submodules_has_nothing_to_say(theirs, tmp_path):
    sha = theirs.commit("one", a="1")

    with theirs.open().worktree(sha, tmp_path / "tree") as folder:
        assert fill_submodules(theirs.root, folder, sha) == ()


@pytest.mark.slow(ci_only=True)
def test_the_files_of_submodules_have_their_places_and_hashes(nested):
    sha = nested.git("rev-parse", "HEAD")
    text = nested.git("rev-parse", "HEAD:libs/outer")

    files = submodule_files(nested.root, sha)

    assert files.missing == frozenset()
    assert files.hashes["libs/outer/vendor/inner/deep.txt"] == nested.git(
        "-C", "libs/outer/vendor/inner", "rev-parse", "HEAD:deep.txt"
    )
    assert files.hashes["libs/outer/lib.txt"] == nested.git(
        "-C", "libs/outer", "rev-parse", f"{text}:lib.txt"
    )


@pytest.mark.slow(ci_only=True)
def test_the_files_of_a_submodule_that_is_not_here_are_missing(nested, users_repository, tmp_path):
    clone = users_repository(tmp_path / "clone")
    clone.git("fetch", "--quiet", str(nested.root), "main")

    files = submodule_files(clone.root, clone.git("rev-parse", "FETCH_HEAD"))

    assert files == SubmoduleFiles({}, frozenset({"libs/outer"}))


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(("most", "is_filled"), [(2, True), (1, False)])
def test_no_more_submodules_than_the_limit_are_filled_or_listed(
    nested, tmp_path, monkeypatch, most, is_filled
):
    monkeypatch.setattr(submodules, "MAX_SUBMODULES", most)
    sha = nested.git("rev-parse", "HEAD")
    deep = "libs/outer/vendor/inner/deep.txt"

    with nested.open().worktree(sha, tmp_path / "tree") as folder:
        notes = fill_submodules(nested.root, folder, sha)

        assert (folder / deep).exists() is is_filled
    files = submodule_files(nested.root, sha)
    assert (deep in files.hashes) is is_filled
    assert files.missing == (frozenset() if is_filled else {"libs/outer/vendor/inner"})
    assert notes == (
        () if is_filled else ("submodule vendor/inner is one of more than 1: it stays empty",)
    )


@pytest.mark.slow(ci_only=True)
def test_a_snapshot_has_the_uncommitted_changes_of_submodules(nested, tmp_path):
    nested.write("libs/outer/lib.txt", "changed")
    nested.write("libs/outer/new.txt", "untracked")
    nested.write("libs/outer/vendor/inner/deep.txt", "changed deep inside")
    before = nested.state(), nested.git("-C", "libs/outer", "status", "--porcelain")

    sha = nested.open().snapshot().sha

    with nested.open().worktree(sha, tmp_path / "tree") as folder:
        assert fill_submodules(nested.root, folder, sha) == ()
        outer = folder / "libs" / "outer"
        assert (outer / "lib.txt").read_text() == "changed"
        assert (outer / "new.txt").read_text() == "untracked"
        assert (outer / "vendor/inner/deep.txt").read_text() == "changed deep inside"
    assert (nested.state(), nested.git("-C", "libs/outer", "status", "--porcelain")) == before


@pytest.mark.slow(ci_only=True)
def test_submodules_without_changes_leave_the_tree_clean(nested):
    assert nested.open().snapshot().sha == nested.git("rev-parse", "HEAD")
