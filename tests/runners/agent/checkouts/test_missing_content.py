import pytest

from perfledger_runners.checkouts.missing_content import (
    MAX_POINTER_BYTES,
    MissingContent,
    missing_content,
)

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12345\n"
ATTRIBUTES = "*.bin filter=lfs diff=lfs merge=lfs -text\n"


@pytest.fixture
def notes(tmp_path):
    """Return a function that returns the notes on a checkout with these files."""

    def notes_of(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return missing_content(tmp_path, files.keys()).notes()

    return notes_of


@pytest.mark.parametrize("place", ["", "data/"])
def test_a_file_whose_content_is_not_here_is_named_with_what_to_do(notes, place):
    (note,) = notes({f"{place}.gitattributes": ATTRIBUTES, f"{place}a.bin": POINTER, "b": "b"})

    assert note == (
        f"{place}a.bin: in Git LFS, and the checkouts have only the pointers: `git lfs install` "
        "and `git lfs pull` in this clone get the content"
    )


@pytest.mark.parametrize("text", ["", "content", f" {POINTER}", POINTER[:30]])
def test_a_file_with_content_is_no_pointer(notes, text):
    assert notes({".gitattributes": ATTRIBUTES, "a.bin": text}) == ()


@pytest.mark.parametrize("attributes", ["", "*.py text\n"])
def test_without_git_lfs_no_file_is_a_pointer(notes, attributes):
    assert notes({".gitattributes": attributes, "a.bin": POINTER}) == ()


def test_of_a_large_file_only_its_beginning_is_read(notes):
    (note,) = notes({".gitattributes": ATTRIBUTES, "a.bin": POINTER + "x" * MAX_POINTER_BYTES})

    assert note.startswith("a.bin: in Git LFS")


def test_links_and_folders_are_no_pointers_and_a_file_may_be_gone(tmp_path):
    (tmp_path / ".gitattributes").write_text(ATTRIBUTES)
    (tmp_path / "real").write_text(POINTER)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "submodule").mkdir()

    missing = missing_content(tmp_path, [".gitattributes", "link", "submodule", "gone"])

    assert missing == MissingContent(left_out=frozenset({"gone"}))


def test_files_that_a_sparse_checkout_leaves_out_are_named(tmp_path):
    (tmp_path / "here").touch()

    (note,) = missing_content(tmp_path, ["here", *(f"data/{name}" for name in "dbca")]).notes()

    assert note == (
        "data/a, data/b, data/c and 1 more: left out, because this clone is a sparse checkout: "
        "both sides ran without them; `git sparse-checkout add` gets a folder"
    )


def test_a_name_with_control_characters_is_clean_in_the_note(notes):
    (note,) = notes({".gitattributes": ATTRIBUTES, "a\x1b[2J.bin": POINTER})

    assert note.startswith("a\ufffd[2J.bin: in Git LFS")
