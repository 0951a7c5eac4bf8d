"""Workloads that run the same code, found by real children; no change may hide."""

import os
import shutil
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.records import Failure, FailureReason, Side
from perfledger_runners.checkouts.difference import (
    CheckoutDifference,
    ContentDifference,
    compare_checkouts,
)
from perfledger_runners.checkouts.file_accesses import accessed_files
from perfledger_runners.measuring import same_code
from perfledger_runners.measuring.discovery import discover
from perfledger_runners.measuring.same_code import (
    code_differences,
    first_difference,
    static_difference,
    watch_code,
)
from perfledger_runners.safe_text import MAX_DETAIL
from tests.runners.agent.measuring.mutated_changes import (
    REPOSITORY,
    SOURCES,
    harmless_bases,
    mutated_bases,
    write,
)
from tests.suite.tries import tries


def specs_of(discovery):
    assert not discovery.broken
    return discovery.workloads


class Checkouts:
    """Two checkouts, and what comes of comparing the code of their workloads."""

    def __init__(self, folder, harness, request_for):
        self.base, self.head = folder / "base", folder / "head"
        self.harness = harness
        self.requests = {
            Side.BASE: request_for(self.base),
            Side.HEAD: request_for(self.head),
        }
        self.runs = 0

    def differences(self, *, check_run=lambda _: None):
        watch = watch_code(self.harness, self.requests[Side.BASE], self.requests[Side.HEAD])
        specs = specs_of(discover(self.harness, self.requests[Side.HEAD]))
        found_code_differences = code_differences(
            watch, self.harness, self.requests[Side.HEAD], specs, check_run=check_run
        )
        return {name.partition(".")[2]: text for name, text in found_code_differences.items()}


@pytest.fixture
def checkouts(tmp_path, harness, request_for):
    return Checkouts(tmp_path, harness, request_for)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, make_harness, request_for):
    """What the workloads read of head, which is that of all changes: the bases are mutated."""
    folder = tmp_path_factory.mktemp("recorded")
    with make_harness(folder) as harness:
        checkouts = Checkouts(folder, harness, request_for)
        write(checkouts.head, REPOSITORY)
        commented = {path: f"# c\n{REPOSITORY[path]}" for path in SOURCES}
        write(checkouts.base, REPOSITORY | commented)
        differences = checkouts.differences()
        assert set(differences.values()) == {""}
        yield accessed_files(checkouts.head)


def difference_of(tmp_path, head, change):
    base = tmp_path / "changed"
    shutil.rmtree(base, ignore_errors=True)
    write(base, REPOSITORY)
    change(base)
    return compare_checkouts(base, head)


@pytest.mark.slow(ci_only=True)
def test_no_mutated_change_is_hidden(recorded, tmp_path):
    clean = write(tmp_path / "clean", REPOSITORY)
    changes = list(mutated_bases())

    hidden = [
        name
        for name, change in changes[:: len(changes) // tries(len(changes))]
        if not first_difference(difference_of(tmp_path, clean, change), recorded)
    ]

    assert hidden == []
    assert len(changes) >= 200


@pytest.mark.slow(ci_only=True)
def test_comments_layout_and_unread_prose_are_the_same_code(recorded, tmp_path):
    clean = write(tmp_path / "clean", REPOSITORY)

    reasons = {
        first_difference(difference_of(tmp_path, clean, change), recorded)
        for change in harmless_bases()
    }

    assert reasons == {""}


PLAIN = """import perfledger
{}

@perfledger.workload()
def step():
    {}
    return lambda: sum(range(10))
"""
READS = {
    "native code": ("import ctypes", "ctypes.CDLL('./notes.md')"),
    "a child process": ("import subprocess", "subprocess.run(['cat', 'notes.md'], check=True)"),
    "a memory map": (
        "import mmap, os",
        "mmap.mmap(os.open('notes.md', os.O_RDONLY), 0, prot=mmap.PROT_READ)",
    ),
    "a descriptor": ("import os", "os.read(os.open('notes.md', os.O_RDONLY), 1)"),
    "an archive": ("import zipimport", "zipimport.zipimporter('notes.md')"),
}


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("reader", READS)
def test_a_file_that_is_read_in_any_way_is_part_of_the_code(checkouts, reader):
    heading, line = READS[reader]
    text = PLAIN.format(heading, f"try:\n        {line}\n    except Exception:\n        pass")
    for root, content in ((checkouts.base, "one" * 9), (checkouts.head, "two" * 9)):
        write(root, {"benchmarks/w.py": text, "notes.md": content})

    assert checkouts.differences() == {"w:step": "notes.md differs and was read"}


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    ("heading", "line", "reason"),
    [
        ("import inspect", "print(inspect.getsource(inspect.currentframe()))", "line numbers"),
        ("", "print(open(__file__).read())", "its text was read"),
        ("", "print(step.__wrapped__.__code__.co_firstlineno if 0 else 0)", "on line numbers"),
    ],
)
def test_comments_matter_to_code_that_reads_itself(checkouts, heading, line, reason):
    text = PLAIN.format(heading, line)
    write(checkouts.base, {"benchmarks/w.py": text})
    write(checkouts.head, {"benchmarks/w.py": f"# a comment\n{text}"})

    (difference,) = checkouts.differences().values()

    assert reason in difference


@pytest.mark.slow(ci_only=True)
def test_the_commit_that_code_asks_git_for_is_part_of_it(checkouts):
    text = PLAIN.format("import subprocess", "subprocess.run(['git', 'rev-parse', 'HEAD'])")
    for root in (checkouts.base, checkouts.head):
        write(root, {"benchmarks/w.py": text, ".git": f"gitdir: {root}/none\n"})

    assert checkouts.differences() == {"w:step": ".git differs and was read"}


@pytest.mark.slow
def test_what_listing_has_read_counts_for_the_run(checkouts):
    heading = (
        "import pathlib\ncache = pathlib.Path('cache.txt')\n"
        "if not cache.exists():\n    cache.write_text(open('notes.md').read())"
    )
    text = PLAIN.format(heading, "print(cache.read_text())")
    for root, content in ((checkouts.base, "one"), (checkouts.head, "two")):
        write(root, {"benchmarks/w.py": text, "notes.md": content})

    assert checkouts.differences() == {"w:step": "notes.md differs and was read"}


@pytest.mark.parametrize(
    ("path", "content"),
    [("other.py", "x = {}\n"), ("data.bin", "{}"), ("pyproject.toml", "# {}\n"), ("run.sh", "{}")],
)
def test_code_and_data_that_differ_are_a_doubt_whoever_reads_them(checkouts, path, content):
    for number, root in enumerate((checkouts.base, checkouts.head)):
        write(root, {path: content.format(number)})

    watch = watch_code(checkouts.harness, *checkouts.requests.values())

    assert watch.doubt == f"{path} differs"


def test_a_name_that_is_no_text_is_cleaned_and_a_long_one_cut(checkouts):
    for number, root in enumerate((checkouts.base, checkouts.head)):
        root.mkdir()
        (root / os.fsdecode(b"\x1b[31m\xff.bin")).write_text(str(number))
    doubt = watch_code(checkouts.harness, *checkouts.requests.values()).doubt
    assert doubt.endswith("differs")
    assert doubt.isprintable()
    doubt.encode()

    long = CheckoutDifference(contents={"x" * 5000: ContentDifference.CONTENT})
    assert len(static_difference(long)) == MAX_DETAIL


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_file_system_that_records_no_access_is_a_doubt(checkouts, monkeypatch, is_recorded):
    for root in (checkouts.base, checkouts.head):
        write(root, {"a.txt": "same"})
    monkeypatch.setattr(same_code, "records_accesses", lambda _: is_recorded)

    watch = watch_code(checkouts.harness, *checkouts.requests.values())

    assert ("does not record" in watch.doubt) is not is_recorded


@pytest.mark.slow(ci_only=True)
def test_a_workload_that_fails_or_ran_other_code_is_to_be_measured(checkouts):
    for root in (checkouts.base, checkouts.head):
        write(root, {"benchmarks/w.py": PLAIN.format("", "1 / 0")})
    assert "ZeroDivisionError" in checkouts.differences()["w:step"]

    for root in (checkouts.base, checkouts.head):
        write(root, {"benchmarks/w.py": PLAIN.format("", "")})

    def is_wrong(run):
        return Failure(
            workload=run.workload, side=Side.HEAD, why=FailureReason.WRONG_CODE, detail="installed"
        )

    assert checkouts.differences(check_run=is_wrong) == {"w:step": "installed"}


@pytest.mark.slow(ci_only=True)
def test_without_time_a_workload_is_to_be_measured(checkouts):
    for root in (checkouts.base, checkouts.head):
        write(root, {"benchmarks/w.py": PLAIN.format("", "")})
    watch = watch_code(checkouts.harness, *checkouts.requests.values())
    specs = specs_of(discover(checkouts.harness, checkouts.requests[Side.HEAD]))
    late = replace(checkouts.harness, ends_at=checkouts.harness.clock())

    differences = code_differences(
        watch, late, checkouts.requests[Side.HEAD], specs, check_run=lambda _: None
    )

    assert "budget" in differences["benchmarks.w:step"]


def test_checkouts_that_cannot_be_read_are_a_doubt(checkouts):
    write(checkouts.base, {"a": ""})
    write(checkouts.head, {"a": ""}).joinpath("a").chmod(0)
    checkouts.base.joinpath("a").unlink()

    watch = watch_code(checkouts.harness, *checkouts.requests.values())

    assert watch.doubt == "a exists on one side only, or is a different kind of file"


NAMES = ("w.py", "a.py", "pkg/b.py", "data/one.bin", "data/three.txt", "README.md", ".git")


@st.composite
def differences(draw):
    contents = draw(
        st.dictionaries(st.sampled_from(NAMES), st.sampled_from(ContentDifference), max_size=4)
    )
    possible = {
        path: how
        for path, how in contents.items()
        if how is ContentDifference.CONTENT
        or (how is ContentDifference.COMMENTS) is path.endswith(".py")
    }
    readers = st.frozensets(st.sampled_from([name for name in NAMES if name.endswith(".py")]))
    return CheckoutDifference(contents=possible, line_readers=draw(readers))


@given(differences(), st.frozensets(st.sampled_from(NAMES)))
def test_whatever_differs_and_was_read_is_a_difference_and_more_reading_hides_none(
    difference, accesses
):
    reason = first_difference(difference, accesses)

    if difference.contents.keys() & accesses:
        assert reason
    if ContentDifference.CONTENT in difference.contents.values():
        assert reason
    if reason:
        assert first_difference(difference, accesses | {"README.md", "pkg/b.py"})
