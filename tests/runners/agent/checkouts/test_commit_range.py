"""First-parent commits between two revisions, in real repositories."""

import pytest

from perfledger_runners.checkouts.commit_range import (
    CommitRangeError,
    commit_range,
    merged_range,
)
from perfledger_runners.checkouts.repository import UnknownRevisionError


@pytest.fixture
def merged(theirs):
    """A branch of one, two, a merge and three; the merged branch has a side commit."""
    theirs.commit("one")
    theirs.git("tag", "v1")
    theirs.git("switch", "-qc", "side")
    theirs.commit("side", side="1")
    theirs.git("switch", "-q", "main")
    theirs.commit("two")
    theirs.git("merge", "-q", "--no-ff", "-m", "a merge", "side")
    theirs.commit("three\x1b[31m")
    return theirs


def test_a_merge_is_one_commit_and_both_ends_are_included(merged):
    commits = commit_range(merged.open(), "v1", "main")

    assert [commit.subject for commit in commits][:3] == ["one", "two", "a merge"]
    assert "\x1b" not in commits[3].subject
    assert commits[0].sha == merged.git("rev-parse", "v1")
    assert [commit.ref for commit in commits] == ["v1", "", "", "main"]


@pytest.mark.parametrize(
    ("good", "bad", "complaint"),
    [
        ("main", "main", "are the same commit"),
        ("main", "v1", "swap them: 'v1' is the older one"),
        ("main~1^1", "side", "their common ancestor is"),
        ("side", "main", "is not on it: give"),
    ],
)
def test_other_revisions_have_no_range_and_advice(merged, good, bad, complaint):
    with pytest.raises(CommitRangeError, match=complaint):
        commit_range(merged.open(), good, bad)


def test_the_commit_that_is_advised_has_a_range(merged):
    with pytest.raises(CommitRangeError) as raised:
        commit_range(merged.open(), "side", "main")
    advised = str(raised.value).partition("give ")[2][:12]

    assert len(commit_range(merged.open(), advised, "main")) == 4


def test_a_history_that_was_merged_in_has_no_commit_before_it(merged):
    merged.git("switch", "-q", "--orphan", "imported")
    merged.commit("imported", other="1")
    merged.git("switch", "-q", "main")
    merged.git("merge", "-q", "--allow-unrelated-histories", "-m", "import", "imported")

    with pytest.raises(CommitRangeError, match="is not on it: no commit of the branch is before"):
        commit_range(merged.open(), "imported", "main")


def test_a_name_that_is_no_revision_is_named(merged):
    with pytest.raises(UnknownRevisionError, match="nowhere"):
        commit_range(merged.open(), "nowhere", "main")


def test_the_commits_of_a_merged_branch_are_a_range(merged):
    commits = merged_range(merged.open(), merged.git("rev-parse", "main~1"))

    assert [commit.sha for commit in commits] == [
        merged.git("rev-parse", ref) for ref in ("v1", "side")
    ]
    assert commits[1].subject == "side"
    assert len(commit_range(merged.open(), commits[0].sha, commits[-1].sha)) == len(commits)


def test_the_range_of_a_branch_that_merged_main_begins_before_the_branch(merged):
    merged.git("switch", "-q", "side")
    merged.git("merge", "-q", "--no-ff", "-m", "from main", "main")
    merged.commit("more", side="2")
    merged.git("switch", "-q", "main")
    merged.commit("four")
    merged.git("merge", "-q", "--no-ff", "-m", "again", "side")

    commits = merged_range(merged.open(), "main")

    assert [commit.subject for commit in commits[1:]] == ["from main", "more"]
    assert len(commit_range(merged.open(), commits[0].sha, commits[-1].sha)) == len(commits)


def test_other_commits_merged_no_range(merged):
    merged.git("switch", "-q", "--orphan", "imported")
    merged.commit("imported", other="1")
    merged.git("switch", "-q", "main")
    merged.git("merge", "-q", "--allow-unrelated-histories", "-m", "import", "imported")
    for name in ("a", "b"):
        merged.git("switch", "-qc", name, "v1")
        merged.commit(name, **{name: name})
    merged.git("switch", "-q", "main")
    merged.git("merge", "-q", "-m", "octopus", "a", "b")

    assert [merged_range(merged.open(), ref) for ref in ("v1", "main~2", "main~1", "main")] == [
        ()
    ] * 4
