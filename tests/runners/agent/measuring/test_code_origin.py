"""What ran is compared with what differs between two revisions."""

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.package_code import CompiledModule, LoadedPackage
from perfledger.records import FailureReason, Run, Side
from perfledger.step_evidence import StepEvidence
from perfledger_runners.checkouts.dependency_files import DeclaredDependencies, ProjectBuild
from perfledger_runners.checkouts.missing_content import PointerWatch
from perfledger_runners.checkouts.source_tree import PackageFolder, SourceTree
from perfledger_runners.measuring.code_origin import (
    MAX_COMPARED_SOURCES,
    CodeOriginCheck,
    distribution_notes,
)

MYPKG = PackageFolder(name="mypkg", root="python", folder="python/mypkg", project=".")
GUESS = replace(MYPKG, root="")
INSTALLED = LoadedPackage(
    name="mypkg", folder="/venv/site-packages/mypkg", is_own=False, modules=1, digest="a" * 64
)
OWN = replace(INSTALLED, folder="python/mypkg", is_own=True)


def tree(*packages, extensions=(), dependencies=None, **hashes):
    files = {path.replace("__", "/"): digest for path, digest in hashes.items()}
    return SourceTree(
        hashes={path.replace("_dot_", "."): digest for path, digest in files.items()},
        packages=packages,
        extensions=frozenset(extensions),
        dependencies=dependencies or {},
    )


def run(*packages, side=Side.HEAD):
    return Run(
        workload="w:f",
        side=side,
        pair=0,
        position=0,
        process=0,
        started_at="2026-11-20T12:00:00+00:00",
        samples={STEP_TIME.name: (1.0,)},
        packages=packages,
    )


def with_binary(package, digest="b" * 64):
    module = CompiledModule(path="/venv/mypkg/_C.so", size_bytes=5, digest=digest)
    return replace(package, compiled=(module,))


BASE = tree(MYPKG, python__mypkg__a_dot_py="1", csrc__a_dot_cu="1", other_dot_py="1")
PYTHON_CHANGED = tree(MYPKG, python__mypkg__a_dot_py="2", csrc__a_dot_cu="1", other_dot_py="1")
SOURCES_CHANGED = tree(MYPKG, python__mypkg__a_dot_py="1", csrc__a_dot_cu="2", other_dot_py="1")
UNRELATED = tree(MYPKG, python__mypkg__a_dot_py="1", csrc__a_dot_cu="1", other_dot_py="2")


def test_a_changed_package_that_ran_from_its_installed_copy_is_not_measured():
    failure = CodeOriginCheck(base=BASE, head=PYTHON_CHANGED).failure(run(INSTALLED))

    assert (failure.workload, failure.side) == ("w:f", Side.HEAD)
    assert failure.why is FailureReason.WRONG_CODE
    assert failure.detail == (
        "the installed copy of mypkg at /venv/site-packages/mypkg ran, not this commit "
        "(python/mypkg/a.py changed): set `build` in perfledger.toml or run with --isolated"
    )


def test_a_changed_package_that_ran_from_its_checkout_is_measured():
    check = CodeOriginCheck(base=BASE, head=PYTHON_CHANGED)

    assert check.failure(run(OWN)) is None
    assert check.notes() == ()


@pytest.mark.parametrize(("head", "notes"), [(PYTHON_CHANGED, 1), (BASE, 0)])
def test_programs_that_nobody_can_watch_have_one_note_if_code_changed(head, notes):
    check = CodeOriginCheck(base=BASE, head=head)
    unseen = StepEvidence(has_unseen_programs=True)

    failures = [check.failure(replace(run(OWN, side=side), evidence=unseen)) for side in Side]

    assert failures == [None, None]
    assert len(check.notes()) == notes
    assert all(
        "steps of w:f start programs, and this system does" in each for each in check.notes()
    )


def test_an_installed_copy_of_an_unchanged_package_is_measured_with_one_note():
    check = CodeOriginCheck(base=BASE, head=UNRELATED)

    assert [check.failure(run(INSTALLED, side=side)) for side in Side] == [None, None]
    (note,) = check.notes()
    assert "mypkg ran from its installed copy at /venv/site-packages/mypkg" in note


def test_compiled_sources_matter_to_a_package_with_compiled_modules_alone():
    check = CodeOriginCheck(base=BASE, head=SOURCES_CHANGED)

    assert check.failure(run(INSTALLED)) is None
    assert "csrc/a.cu changed" in check.failure(run(with_binary(INSTALLED))).detail


def test_sources_that_changed_without_changing_the_binary_are_not_measured():
    check = CodeOriginCheck(base=BASE, head=SOURCES_CHANGED)

    assert check.failure(run(with_binary(OWN), side=Side.BASE)) is None
    failure = check.failure(run(with_binary(OWN)))

    assert failure.why is FailureReason.WRONG_CODE
    assert failure.detail.startswith(
        "the same compiled modules ran on both sides although csrc/a.cu changed"
    )


@pytest.mark.parametrize("package", [OWN, INSTALLED])
def test_sources_that_differ_in_comments_give_the_same_binary(package):
    sources = []

    def has_same_code(*source):
        sources.append(source)
        return True

    check = CodeOriginCheck(base=BASE, head=SOURCES_CHANGED, has_same_code=has_same_code)

    assert [check.failure(run(with_binary(package), side=side)) for side in Side] == [None, None]
    assert sources == [("csrc/a.cu", "1", "2")]


def test_sources_that_only_one_side_has_or_that_are_many_are_not_compared():
    added = tree(MYPKG, python__mypkg__a_dot_py="1", other_dot_py="1")
    names = [f"csrc__{number}_dot_cu" for number in range(MAX_COMPARED_SOURCES + 1)]
    many = [tree(MYPKG, **dict.fromkeys(names, digest)) for digest in "12"]

    for base, head in ((added, BASE), (BASE, added), many):
        check = CodeOriginCheck(base=base, head=head, has_same_code=lambda *_: True)
        assert check.failure(run(with_binary(OWN), side=Side.BASE)) is None
        assert check.failure(run(with_binary(OWN))) is not None


@pytest.mark.parametrize("head", [UNRELATED, SOURCES_CHANGED])
def test_binaries_that_are_as_different_as_their_sources_are_measured(head):
    check = CodeOriginCheck(base=BASE, head=head)
    digest = "b" * 64 if head is UNRELATED else "c" * 64

    check.failure(run(with_binary(OWN), side=Side.BASE))

    assert check.failure(run(with_binary(OWN, digest))) is None


def test_a_build_may_give_the_same_binary_but_must_replace_the_installed_copy():
    check = CodeOriginCheck(base=BASE, head=SOURCES_CHANGED, is_built=True)

    assert [check.failure(run(with_binary(OWN), side=side)) for side in Side] == [None, None]
    assert "let `build` install the package" in check.failure(run(with_binary(INSTALLED))).detail


def test_a_changed_extension_outside_any_package_is_not_measured():
    extension = with_binary(replace(INSTALLED, name="fast_cuda", folder="/venv/site-packages"))
    base = tree(csrc__a_dot_cu="1", extensions=("fast_cuda",))
    head = tree(csrc__a_dot_cu="2", extensions=("fast_cuda",))

    assert CodeOriginCheck(base=base, head=base).failure(run(extension)) is None
    assert CodeOriginCheck(base=base, head=head).failure(run(extension)) is not None


def test_a_guessed_name_needs_an_installed_file_that_is_the_revisions(tmp_path):
    (tmp_path / "a.py").write_text("A = 1\n")
    (tmp_path / "new.py").write_text("")
    copy = replace(INSTALLED, folder=str(tmp_path))
    empty = {"python__mypkg__new_dot_py": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"}
    git_hash = "76f516f79f036a434d6f258ab067f5cb5cb9c95a"  # of A = 1
    base = tree(GUESS, python__mypkg__a_dot_py=git_hash, **empty)
    head = tree(GUESS, python__mypkg__a_dot_py="2", **empty)
    stranger = tree(GUESS, python__mypkg__a_dot_py="3", **empty)

    assert CodeOriginCheck(base=base, head=head).failure(run(copy)) is not None
    assert CodeOriginCheck(base=stranger, head=head).failure(run(copy)) is None


def test_a_guessed_name_may_be_that_of_an_older_commits_copy(tmp_path):
    (tmp_path / "a.py").write_text("A = 1\n")
    copy = replace(INSTALLED, folder=str(tmp_path))
    base, head = (tree(GUESS, python__mypkg__a_dot_py=digest) for digest in "23")
    known_text = "76f516f79f036a434d6f258ab067f5cb5cb9c95a"  # git's hash of A = 1

    check = CodeOriginCheck(base=base, head=head, has_object=known_text.__eq__)

    assert "python/mypkg/a.py changed" in check.failure(run(copy)).detail
    assert CodeOriginCheck(base=base, head=head).failure(run(copy)) is None


def test_an_installed_copy_may_be_in_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "mypkg.egg", "w") as archive:
        archive.writestr("mypkg/a.py", "A = 1\n")
    copy = replace(INSTALLED, folder=str(tmp_path / "mypkg.egg" / "mypkg"))
    stranger = replace(INSTALLED, folder=str(tmp_path / "mypkg.egg" / "other"))
    base = tree(GUESS, python__mypkg__a_dot_py="76f516f79f036a434d6f258ab067f5cb5cb9c95a")
    head = tree(GUESS, python__mypkg__a_dot_py="2")

    assert CodeOriginCheck(base=base, head=head).failure(run(copy)) is not None
    assert CodeOriginCheck(base=base, head=head).failure(run(stranger)) is None


def test_a_python_file_beside_its_unchanged_compiled_module_is_not_measured():
    module = CompiledModule(path="python/mypkg/a.cpython-314.so", size_bytes=5, digest="b" * 64)
    compiled = replace(OWN, compiled=(module,))
    check = CodeOriginCheck(base=BASE, head=PYTHON_CHANGED)

    assert check.failure(run(compiled, side=Side.BASE)) is None
    assert check.failure(run(compiled)).detail.startswith(
        "the same compiled modules ran on both sides although python/mypkg/a.py changed"
    )


def test_compiled_sources_that_nobody_built_are_noted():
    (note,) = CodeOriginCheck(base=BASE, head=SOURCES_CHANGED).notes()

    assert note.startswith("compiled sources changed (csrc/a.cu); both sides ran with")
    assert "run with --isolated" in note
    assert CodeOriginCheck(base=BASE, head=PYTHON_CHANGED).notes() == ()
    assert CodeOriginCheck(base=BASE, head=SOURCES_CHANGED, is_built=True).notes() == ()


def test_sources_that_each_side_compiled_itself_are_not_noted():
    check = CodeOriginCheck(base=BASE, head=SOURCES_CHANGED)
    scan = replace(OWN, name="scan", folder="/tmp/extensions/a/scan")

    for side, digest in zip(Side, ("b" * 64, "c" * 64), strict=True):
        assert check.failure(run(with_binary(scan, digest), side=side)) is None

    assert check.notes() == ()


@pytest.mark.parametrize(
    ("path", "is_failure"), [("uv.lock", True), ("mine/uv.lock", True), ("other/uv.lock", False)]
)
def test_changed_dependencies_that_nobody_installed_are_not_measured(path, is_failure):
    projects = {each: ProjectBuild() for each in (".", "mine", "other")}
    package = replace(MYPKG, project="mine")
    base, head = (
        replace(
            tree(package, dependencies={path: DeclaredDependencies(rest=text)}), projects=projects
        )
        for text in ("1", "2")
    )

    failure = CodeOriginCheck(base=base, head=head).failure(run(OWN))
    installed = CodeOriginCheck(base=base, head=head, is_built=True, installed=(path,))

    assert (failure is not None) is is_failure
    assert failure is None or failure.detail.startswith(f"dependencies changed ({path}), but both")
    assert installed.failure(run(OWN)) is None


LIBRARY = with_binary(replace(INSTALLED, name="libfast", folder="/home/u/repository/build"))


@pytest.mark.parametrize("is_built", [True, False])
def test_a_library_that_both_sides_share_is_not_measured_where_sources_changed(is_built):
    check = CodeOriginCheck(base=BASE, head=SOURCES_CHANGED, is_built=is_built)

    assert check.failure(run(LIBRARY, side=Side.BASE)) is None
    failure = check.failure(run(LIBRARY))

    assert failure.why is FailureReason.WRONG_CODE
    assert failure.detail.startswith(
        "both sides used libfast from /home/u/repository/build, which is in neither checkout, "
        "although csrc/a.cu changed"
    )


@pytest.mark.parametrize(
    ("head", "library"),
    [
        (PYTHON_CHANGED, LIBRARY),
        (SOURCES_CHANGED, replace(LIBRARY, digest="e" * 64)),
        (SOURCES_CHANGED, replace(LIBRARY, is_own=True, folder="build")),
    ],
)
def test_a_library_that_is_as_different_as_its_sources_is_measured(head, library):
    check = CodeOriginCheck(base=BASE, head=head)
    before = replace(LIBRARY, is_own=library.is_own, folder=library.folder)

    assert [check.failure(run(before, side=Side.BASE)), check.failure(run(library))] == [None] * 2


@pytest.mark.parametrize(
    ("name", "folder", "words", "is_failure"),
    [
        ("a", "other", (), True),
        ("liba", "other", (), True),
        ("fast", "other", ("fast",), True),
        ("fast", "other", (), False),
        ("fast_v1", "mypkg", (), True),
        ("fast_v1", "mypkg/1.0", (), True),
        ("fast", "mypkg/of/others", (), False),
    ],
)
def test_of_libraries_in_a_cache_those_that_the_repository_names_count(
    name, folder, words, is_failure
):
    library = replace(LIBRARY, name=name, folder=f"/home/u/.cache/{folder}")
    check = CodeOriginCheck(
        base=BASE,
        head=SOURCES_CHANGED,
        repository=Path("/home/u/repository"),
        is_mentioned=words.__contains__,
    )

    check.failure(run(library, side=Side.BASE))
    assert (check.failure(run(library)) is not None) is is_failure


@pytest.mark.parametrize(
    ("path", "is_failure"), [("libs/outer", True), ("docs/theme", False), ("same", False)]
)
def test_a_changed_submodule_that_is_not_in_the_clone_is_not_measured(path, is_failure):
    base = replace(tree(**{path: "1", "same": "1"}), missing_submodules=frozenset({path}))
    head = tree(**{path: "1" if path == "same" else "2", "same": "1"})

    failure = CodeOriginCheck(base=base, head=head).failure(run(OWN))

    assert (failure is not None) is is_failure
    assert failure is None or f"submodule {path} changed" in failure.detail


@pytest.mark.parametrize(
    ("path", "is_failure"), [("data/rows.bin", True), ("docs/speed.png", False), ("same", False)]
)
def test_a_changed_file_of_which_only_the_pointer_is_here_is_not_measured(path, is_failure):
    base = tree(**{path: "1", "same": "1"})
    head = tree(**{path: "1" if path == "same" else "2", "same": "1"})

    pointers = PointerWatch(pointers={Side.BASE: frozenset({path}), Side.HEAD: frozenset({path})})
    failure = CodeOriginCheck(base=base, head=head, pointers=pointers).failure(run(OWN))

    assert (failure is not None) is is_failure
    assert failure is None or f"{path} changed in Git LFS" in failure.detail


def test_a_pointer_opened_in_a_run_that_fails_otherwise_is_not_counted_for_the_next(tmp_path):
    roots, names = dict.fromkeys(Side, tmp_path), dict.fromkeys(Side, frozenset("a"))
    pointers = PointerWatch(roots=roots, pointers=names)
    check = CodeOriginCheck(base=BASE, head=PYTHON_CHANGED, pointers=pointers)
    with pointers.watching():
        (tmp_path / "a").touch()
        assert check.failure(run(INSTALLED)).detail.startswith("the installed copy of mypkg")
        assert check.failure(replace(run(OWN), process=1)) is None


def test_distributions_that_differ_are_named():
    base = {"torch": "2.12", "numpy": "2.0", "old": "1"}
    head = {"torch": "2.13", "numpy": "2.0", "new": "1"}

    assert distribution_notes(base, base) == ()
    (note,) = distribution_notes(base, head)
    assert note == (
        "installed packages differ on head: new none → 1, old 1 → none, torch 2.12 → 2.13"
    )


def test_results_in_a_cache_that_both_sides_read_are_not_measured(tmp_path):
    check = CodeOriginCheck(base=BASE, head=PYTHON_CHANGED)
    (tmp_path / "squares.pickle").write_text("1")
    file = LoadedPackage(
        name="squares.pickle", folder=str(tmp_path), is_own=False, modules=1, digest=""
    )

    assert check.failure(run(file, side=Side.BASE)) is None
    failure = check.failure(run(file))

    assert failure.why is FailureReason.WRONG_CODE
    assert f"{tmp_path}/squares.pickle, which another process" in failure.detail


@pytest.mark.parametrize(
    ("folder", "is_left", "is_fault"),
    [("older/mypkg", True, True), ("older/mypkg", False, False), ("python/mypkg", True, False)],
)
def test_a_package_that_head_takes_from_another_folder_must_have_moved(folder, is_left, is_fault):
    head = PYTHON_CHANGED if is_left else tree(MYPKG, older__mypkg__a_dot_py="2")
    check = CodeOriginCheck(base=BASE, head=head)

    assert check.failure(run(OWN, side=Side.BASE)) is None
    failure = check.failure(run(replace(OWN, folder=folder)))

    assert (failure is not None) == is_fault
    if failure is not None:
        assert failure.detail.startswith(
            "head ran mypkg from older/mypkg, and base from python/mypkg, which head still has: "
            "what changed there (python/mypkg/a.py) did not run on head"
        )
