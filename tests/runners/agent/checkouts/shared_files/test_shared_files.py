"""Files in caches that runs of both sides find."""

import os
from dataclasses import replace

import pytest

from perfledger.package_code import LoadedPackage
from perfledger.records import Run, Side
from perfledger_runners.checkouts.shared_files import SharedFiles, blob_of

SOURCE = "src/mypkg/kernels.py"
BASE_CODE, HEAD_CODE, OLDER_CODE = "ROUNDS = 1\n", "ROUNDS = 3\n", "ROUNDS = 0\n"


@pytest.fixture
def cached(tmp_path):
    """Return a function that writes a file in a cache, and returns it as a run has it."""

    def write(text, *, name="kernels.py", digest="", at=2_000.0):
        path = tmp_path / "cache" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (at, at))
        folder = str(path.parent)
        return LoadedPackage(name=name, folder=folder, is_own=False, modules=1, digest=digest)

    return write


def blob(tmp_path, text):
    path = tmp_path / "one"
    path.write_text(text)
    return blob_of(path)


@pytest.fixture
def shared(tmp_path):
    hashes = {Side.BASE: BASE_CODE, Side.HEAD: HEAD_CODE}
    return SharedFiles(
        hashes={side: {SOURCE: blob(tmp_path, text)} for side, text in hashes.items()},
        changed=(SOURCE,),
        has_object=lambda each: each == blob(tmp_path, OLDER_CODE),
        began=1_000.0,
    )


def run(*packages, side=Side.HEAD, pair=0):
    return Run(
        workload="w:f",
        side=side,
        pair=pair,
        position=0,
        process=0,
        started_at="2026-11-20T12:00:00+00:00",
        samples={"step_time_p50": (1.0,)},
        packages=packages,
    )


def test_bases_code_that_head_runs_from_a_cache_is_named(shared, cached):
    fault = shared.fault(run(cached(BASE_CODE, digest="a" * 64)))

    assert "kernels.py ran, which is in neither checkout" in fault
    assert f"although {SOURCE} changed" in fault


@pytest.mark.parametrize(
    ("side", "text"), [(Side.BASE, BASE_CODE), (Side.HEAD, HEAD_CODE), (Side.HEAD, "OTHER = 1\n")]
)
def test_a_copy_of_the_sides_own_code_and_other_code_are_fine(shared, cached, side, text):
    assert shared.fault(run(cached(text, digest="a" * 64), side=side)) == ""


def test_heads_code_that_base_runs_from_a_cache_is_named(shared, cached):
    assert shared.fault(run(cached(HEAD_CODE, digest="a" * 64), side=Side.BASE))


def test_an_older_commits_code_is_named_if_the_file_has_its_name(shared, cached):
    assert shared.fault(run(cached(OLDER_CODE, digest="a" * 64)))
    assert shared.fault(run(cached(OLDER_CODE, digest="a" * 64, name="other.py"))) == ""


def test_what_one_process_wrote_in_the_check_and_two_read_is_named(shared, cached):
    file = cached("1", name="squares.pickle")

    assert shared.fault(run(file, side=Side.BASE)) == ""
    assert "squares.pickle, which another process" in shared.fault(run(file))
    assert shared.notes(run(file)) == ()


def test_what_each_process_has_for_itself_is_fine(shared, cached):
    files = [cached("1", name=name) for name in ("a.pickle", "b.pickle")]

    assert [shared.fault(run(file, pair=pair)) for pair, file in enumerate(files)] == ["", ""]


def test_data_that_were_there_before_the_check_have_a_note(shared, cached):
    file = cached("1", name="rows.txt", at=500.0)

    assert [shared.fault(run(file, side=side)) for side in Side] == ["", ""]
    (note,) = shared.notes(run(file))
    assert "rows.txt, which was there before this check" in note


@pytest.mark.parametrize("change", [{"is_own": True}, {"digest": "a" * 64}, {"name": "gone.txt"}])
def test_packages_and_files_that_are_gone_are_no_shared_files(shared, cached, change):
    package = replace(cached("1", name="mypkg"), **change)

    assert [shared.fault(run(package, side=side)) for side in Side] == ["", ""]
    assert shared.notes(run(package)) == ()
