"""What differs between two checkouts on disk."""

import os

import pytest

from perfledger_runners.checkouts.difference import ContentDifference, compare_checkouts

FILES = {"pkg/core.py": "x = 1\n", "data/a.bin": "0123", "run.sh": "echo\n", "README.md": "Hi\n"}


@pytest.fixture
def checkouts(tmp_path):
    for side in ("base", "head"):
        for path, text in FILES.items():
            file = tmp_path / side / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return tmp_path / "base", tmp_path / "head"


def test_equal_checkouts_do_not_differ(checkouts):
    difference = compare_checkouts(*checkouts)

    assert (difference.kinds, difference.contents) == ((), {})


def test_a_file_differs_in_comments_prose_or_content(checkouts):
    _, head = checkouts
    (head / "pkg/core.py").write_text("# one\nx = 1\n")
    (head / "data/a.bin").write_text("0124")
    (head / "run.sh").write_text("# why\necho\n")
    (head / "README.md").write_text("Hello\n")
    for side in checkouts:
        (side / ".git").write_text(f"gitdir: {side}")

    assert compare_checkouts(*checkouts).contents == {
        ".git": ContentDifference.PROSE,
        "README.md": ContentDifference.PROSE,
        "data/a.bin": ContentDifference.CONTENT,
        "run.sh": ContentDifference.CONTENT,
        "pkg/core.py": ContentDifference.COMMENTS,
    }


def test_content_differs_in_any_part_of_a_large_file(checkouts):
    for side, last in zip(checkouts, (b"a", b"b"), strict=True):
        (side / "large").write_bytes(bytes(3 * 2**20) + last)

    assert compare_checkouts(*checkouts).contents == {"large": ContentDifference.CONTENT}


@pytest.mark.parametrize(
    "change",
    [
        lambda head: (head / "data/a.bin").unlink(),
        lambda head: (head / "README.md").rename(head / "READ.md"),
        lambda head: (head / "numpy.py").touch(),
        lambda head: (head / "new").mkdir(),
        lambda head: (head / "run.sh").chmod(0o755),
        lambda head: (head / "link").symlink_to("run.sh"),
        lambda head: os.mkfifo(head / "pipe"),
    ],
)
def test_a_path_of_one_side_or_another_kind_is_named(checkouts, change):
    change(checkouts[1])

    assert compare_checkouts(*checkouts).kinds


def test_links_differ_by_where_they_lead_and_are_not_followed(checkouts, tmp_path):
    for side, target in zip(checkouts, ("run.sh", "README.md"), strict=True):
        (side / "link").symlink_to(target)
        (side / "home").symlink_to(tmp_path)

    assert compare_checkouts(*checkouts).kinds == ("link",)


def test_code_that_asks_for_lines_is_named_where_anything_differs(checkouts):
    for side in checkouts:
        (side / "lines.py").write_text("import inspect\nprint(inspect.getsource(print))\n")
        (side / "sizes.py").write_text("import os\nprint(os.path.getsize('run.sh'))\n")
        (side / "stack.py").write_text("from traceback import extract_stack\n")
    assert compare_checkouts(*checkouts).line_readers == frozenset()
    (checkouts[1] / "README.md").write_text("Ho\n")

    assert compare_checkouts(*checkouts).line_readers == {"lines.py", "stack.py"}
