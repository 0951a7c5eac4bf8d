import pytest

from perfledger_runners.checkouts.git import GitFailedError, RepositoryError, git


def test_a_failure_has_gits_own_words_and_status(tmp_path):
    with pytest.raises(GitFailedError, match="not a git repository") as caught:
        git(tmp_path, "log")

    assert caught.value.status == 128


def test_without_git_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(RepositoryError, match="git is not installed"):
        git(tmp_path, "log")


def test_a_file_monitor_of_the_repository_does_not_run(theirs):
    theirs.commit("one", a="1")
    spy = theirs.write(".git/spy", "#!/bin/sh\ntouch spied\n")
    spy.chmod(0o755)
    theirs.git("config", "core.fsmonitor", str(spy))

    git(theirs.root, "status")

    assert not (theirs.root / "spied").exists()


@pytest.mark.parametrize("name", ["color.ui", "color.grep", "color.diff"])
def test_colours_of_the_users_settings_are_in_no_answer(theirs, name):
    first = theirs.commit("one", a="1")
    second = theirs.commit("two", a="2")
    theirs.git("config", name, "always")

    assert git(theirs.root, "grep", "-lz", "-e", "2", "HEAD") == b"HEAD:a.txt\0"
    assert b"\x1b" not in git(theirs.root, "diff", first, second)


def test_an_object_that_the_clone_replaces_is_read_as_it_was_committed(theirs):
    theirs.commit("slow", a="slow")
    theirs.write("b.txt", "fast")
    theirs.git("replace", "HEAD:a.txt", theirs.git("hash-object", "-w", "b.txt"))

    assert git(theirs.root, "show", "HEAD:a.txt") == b"slow"
