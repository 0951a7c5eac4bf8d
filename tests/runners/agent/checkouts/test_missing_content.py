import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import Run, Side
from perfledger_runners.checkouts.missing_content import (
    MissingContent,
    PointerWatch,
    missing_content,
)

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12345\n"
ATTRIBUTES = "*.bin filter=lfs diff=lfs merge=lfs -text\n"


def run(side, workload="b:f", process=0):
    return Run(
        workload=workload,
        side=side,
        pair=0,
        position=0,
        process=process,
        started_at="2026-11-20T12:00:00+00:00",
        samples={STEP_TIME.name: (1.0,)},
    )


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


@pytest.mark.parametrize("text", ["", "content", f" {POINTER}", POINTER[:30], POINTER + "x" * 1024])
def test_a_file_with_content_is_no_pointer(notes, text):
    assert notes({".gitattributes": ATTRIBUTES, "a.bin": text}) == ()


@pytest.mark.parametrize("attributes", ["", "*.py text\n"])
def test_a_pointer_is_one_although_no_attribute_says_so(notes, attributes):
    (note,) = notes({".gitattributes": attributes, "a.bin": POINTER})

    assert note.startswith("a.bin: in Git LFS")


@pytest.mark.parametrize(
    "address", ["https://hawser.github.com/spec/v1", "http://git-media.io/v/2"]
)
def test_a_pointer_of_an_early_version_is_one(notes, address):
    (note,) = notes({"a.bin": POINTER.replace("https://git-lfs.github.com/spec/v1", address)})

    assert note.startswith("a.bin: in Git LFS")


def test_pointers_in_many_folders_are_watched_until_the_end(tmp_path):
    names = [f"{number}/a.bin" for number in range(30)]
    for name in names:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    watch = PointerWatch(
        roots=dict.fromkeys(Side, tmp_path), pointers=dict.fromkeys(Side, frozenset(names))
    )

    with watch.watching():
        for name in names:
            (tmp_path / name).read_bytes()
        first = watch.fault(run(Side.HEAD), ())
    (tmp_path / names[0]).read_bytes()

    assert "opened 0/a.bin, 1/a.bin, 10/a.bin and 27 more while this file" in first
    assert watch.fault(run(Side.HEAD), ()) == ""


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


@pytest.mark.parametrize("side", Side)
def test_a_file_with_content_on_one_side_and_a_pointer_on_the_other_is_a_fault(tmp_path, side):
    names = frozenset({"data/rows.bin", "docs/speed.png"})
    watch = PointerWatch(roots=dict.fromkeys(Side, tmp_path), pointers={side: names})

    assert watch.fault(run(Side.HEAD), ()) == (
        "one side's .gitattributes does not declare the filter of data/rows.bin, or a download "
        "failed: it has only the pointers, so it is unknown what a step does with the content: "
        "`git lfs install` and `git lfs pull` in this clone get the content"
    )


def test_a_pointer_that_a_process_opens_is_a_fault_of_that_process_and_file(tmp_path):
    names = {"tests/rows.bin", "other.bin"}
    roots = {side: tmp_path / side for side in Side}
    for path in [root / name for root in roots.values() for name in names]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    watch = PointerWatch(roots=roots, pointers=dict.fromkeys(Side, frozenset(names)))
    (roots[Side.HEAD] / "other.bin").read_bytes()  # before the pairs

    with watch.watching():
        (roots[Side.HEAD] / "tests/rows.bin").read_bytes()
        base, head = (watch.fault(run(side), ()) for side in Side)
        others = (run(Side.HEAD, process=1), run(Side.HEAD, "other:a"))
        later = [watch.fault(each, ()) for each in (run(Side.HEAD, "b:g"), *others)]

    assert head.startswith("a process opened tests/rows.bin while this file of workloads ran, and")
    assert [base, *later] == [
        "",
        head,
        "",
        "",
    ]  # of the same process and file: its import is both's


def test_a_pointer_that_a_set_up_replaces_by_its_content_is_none(tmp_path):
    (tmp_path / "a").write_text(POINTER)
    watch = PointerWatch(
        roots=dict.fromkeys(Side, tmp_path), pointers=dict.fromkeys(Side, frozenset("a"))
    )

    with watch.watching():
        (tmp_path / "a").write_text("content" * 1000)
        (tmp_path / "a").read_bytes()
        fault = watch.fault(run(Side.HEAD), ())

    assert fault == ""
