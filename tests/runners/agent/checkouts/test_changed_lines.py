"""Which lines a commit changed, in real repositories."""

import pytest

from perfledger_runners.checkouts.changed_lines import changed_lines
from perfledger_runners.checkouts.git import git

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.com")


@pytest.fixture
def commits(tmp_path):
    """Return a function that commits texts of a file in turn and returns the hashes."""
    git(tmp_path, "init", "--quiet")

    def commit(*texts, path="model.py"):
        hashes = []
        for text in texts:
            (tmp_path / path).write_text(text, encoding="utf-8")
            git(tmp_path, "add", "--all")
            git(tmp_path, *IDENTITY, "commit", "--quiet", "--allow-empty", "--message", "x")
            hashes.append(git(tmp_path, "rev-parse", "HEAD").decode().strip())
        return hashes

    return commit


@pytest.mark.parametrize(
    ("base", "head", "changed"),
    [
        pytest.param("a\nb\nc\n", "a\nb\nc\n", (), id="the same"),
        pytest.param("a\nb\nc\n", "a\nX\nc\n", (range(2, 3),), id="one line"),
        pytest.param("a\nb\n", "a\nX\nY\nb\nZ\n", (range(2, 4), range(5, 6)), id="added"),
        pytest.param("a\nb\nc\n", "a\nc\n", (), id="removed"),
        pytest.param("a\n", "@@ -1 +7,9 @@\n", (range(1, 2),), id="a line like a hunk"),
        pytest.param("a\n", "a\nb", (range(2, 3),), id="no newline at the end"),
    ],
)
def test_lines_of_head_that_base_lacks(commits, tmp_path, base, head, changed):
    first, second = commits(base, head)

    assert changed_lines(tmp_path, first, second, "model.py") == changed


@pytest.mark.parametrize("path", ["gone.py", "--output=x", ":(top)model.py", "ü b.py"])
def test_names_are_taken_as_they_are(commits, tmp_path, path):
    first, second = commits("a\n", "b\n")

    assert changed_lines(tmp_path, first, second, path) == ()
    assert sorted(one.name for one in tmp_path.iterdir()) == [".git", "model.py"]


def test_a_file_with_any_name_has_its_lines(commits, tmp_path):
    first, second = commits("a\n", "b\n", path="ü b.py")

    assert changed_lines(tmp_path, first, second, "ü b.py") == (range(1, 2),)


def test_without_the_commits_no_line_is_known_to_be_changed(tmp_path):
    assert changed_lines(tmp_path, "0" * 40, "1" * 40, "model.py") == ()
