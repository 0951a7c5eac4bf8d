"""Which of a user's new files a snapshot holds, with real git in real repositories."""

import os

import pytest

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.untracked_files import MAX_UNTRACKED_BYTES, untracked_files


def snapshot_files(theirs):
    sha = theirs.open().snapshot().sha
    return theirs.git("ls-tree", "-r", "-z", "--name-only", sha).split("\0")[:-1]


def write_of_size(theirs, path, size):
    """Write a file with a hole in it: it takes no room on the disk."""
    os.truncate(theirs.write(path, ""), size)


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta/history"])
def test_an_environment_that_nobody_ignored_is_left_out(theirs, mark):
    theirs.commit("one", a="1")
    theirs.write(f"env/{mark}", "")
    theirs.write("env/lib/site.py", "")
    theirs.write("environment.py", "")

    assert snapshot_files(theirs) == ["a.txt", "environment.py"]


def test_a_tree_with_nothing_new_but_an_environment_is_clean(theirs):
    sha = theirs.commit("one", a="1")
    theirs.write("env/pyvenv.cfg", "")

    assert theirs.open().snapshot().sha == sha


def test_an_environment_at_the_top_leaves_the_users_files_in(theirs):
    theirs.commit("one", a="1")
    theirs.write("pyvenv.cfg", "")
    theirs.write("conda-meta/history", "")
    theirs.write("new.py", "")

    assert "new.py" in snapshot_files(theirs)


def test_a_repository_inside_is_left_out(theirs):
    theirs.commit("one", a="1")
    theirs.write("inner/file", "")
    theirs.git("init", "--quiet", "inner")

    assert snapshot_files(theirs) == ["a.txt"]


@pytest.mark.parametrize("name", ["*.txt", ":(exclude)a", "-f", "with space", "ü\udcff", "a\nb"])
def test_names_are_taken_as_they_are(theirs, name):
    theirs.commit("one", a="1")
    (theirs.root / name).write_text("new")

    assert untracked_files(theirs.root, environment={}) == (name,)
    assert theirs.open().snapshot().is_dirty


def test_too_much_data_is_refused_with_the_name_of_the_largest(theirs):
    theirs.commit("one", a="1")
    write_of_size(theirs, "data/small.bin", 1_000_000)
    write_of_size(theirs, "data/large.bin", MAX_UNTRACKED_BYTES)

    with pytest.raises(RepositoryError, match=r"201 MB of .* is 'data/large\.bin' with 200 MB"):
        theirs.open().snapshot()


def test_data_that_is_ignored_costs_nothing(theirs):
    theirs.write(".gitignore", "data/\n")
    sha = theirs.commit("one", a="1")
    write_of_size(theirs, "data/large.bin", 2 * MAX_UNTRACKED_BYTES)

    assert theirs.open().snapshot().sha == sha


def test_just_so_much_is_accepted(theirs):
    theirs.commit("one", a="1")
    write_of_size(theirs, "large.bin", MAX_UNTRACKED_BYTES)

    assert untracked_files(theirs.root, environment={}) == ("large.bin",)


def test_a_link_counts_as_itself_even_if_it_leads_nowhere(theirs):
    theirs.commit("one", a="1")
    (theirs.root / "link").symlink_to("nowhere")

    assert snapshot_files(theirs) == ["a.txt", "link"]
