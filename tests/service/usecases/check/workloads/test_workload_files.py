from dataclasses import replace
from pathlib import Path

import pytest

from perfledger.protocol import BenchmarkSuite, ChildRequest, Command
from perfledger.records import Revision, Side, WorkloadSpec
from perfledger_runners.children.harness import Harness
from perfledger_service.usecases.check.workloads.plan import WorkloadPlan
from perfledger_service.usecases.check.workloads.workload_files import workload_file_notes

BASE = Revision(sha="ab" * 20)
SPEC = WorkloadSpec(id="bench.sums:step", module="bench.sums", function="step")
STEP = "def step(rounds):\n    return sum(range(rounds))\n"


@pytest.fixture
def notes(tmp_path):
    """Return a function that writes files with the contents of both sides, None for no file."""

    def notes_of(
        files,
        *,
        workloads=(SPEC,),
        new=(),
        paths=("bench",),
        suite=BenchmarkSuite.PERFLEDGER,
        variables=(),
        env=(),
    ):
        for side in ("base", "head"):
            (tmp_path / side).mkdir(exist_ok=True)
        for name, contents in files.items():
            for side, text in zip(("base", "head"), contents, strict=True):
                path = tmp_path / side / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if text is not None:
                    path.write_text(text)
        request = ChildRequest(
            command=Command.LIST, root="", repository="", paths=paths, suite=suite
        )
        base, head = (replace(request, root=str(tmp_path / side)) for side in ("base", "head"))
        harness = Harness(
            python=Path("python"),
            folder=tmp_path,
            environment=dict.fromkeys(("PATH", *variables), "1"),
            variable_names=env,
        )
        return workload_file_notes(
            sorted(files),
            WorkloadPlan(to_measure=workloads, new=new, failures=(), skipped={}),
            requests={Side.BASE: base, Side.HEAD: head},
            base_revision=BASE,
            harness=harness,
        )

    return notes_of


def test_a_workload_whose_file_differs_is_a_warning_with_what_to_do(notes):
    (note,) = notes({"bench/sums.py": (STEP, STEP.replace("rounds))", "rounds // 3))"))})

    assert note == (
        "files of the workloads differ between base and head (bench/sums.py): their steps may not "
        "do the same work, and a smaller step hides slower code; `perfledger check "
        "--workloads-from abababababab` measures both sides with those of base"
    )


@pytest.mark.parametrize(
    ("name", "contents"),
    [
        ("bench/sizes.json", ("[8]", "[4]")),
        ("bench/deep/inputs.py", ("SIZE = 8", "SIZE = 4")),
        ("bench/inputs.py", (None, "SIZE = 4")),
        ("bench/inputs.py", ("SIZE = 8", None)),
        ("bench/inputs.py", ("SIZE = 8", "SIZE = (")),
    ],
)
def test_what_lies_beside_a_workload_may_change_its_step_too(notes, name, contents):
    (note,) = notes({name: contents})

    assert f"({name})" in note


@pytest.mark.parametrize(
    ("name", "contents"),
    [
        ("bench/sums.py", (STEP, f"# the sum\n{STEP}")),
        ("bench/README.md", ("eight", "four")),
        ("product/sums.py", ("SIZE = 8", "SIZE = 4")),
        ("benchmark.py", ("SIZE = 8", "SIZE = 4")),
        ("other/bench/sums.py", ("SIZE = 8", "SIZE = 4")),
    ],
)
def test_comments_prose_and_the_product_are_no_warning(notes, name, contents):
    assert notes({name: contents}) == ()


@pytest.mark.parametrize(
    ("changed", "source", "count"),
    [
        pytest.param("configs/size.txt", 'SIZE = "size.txt"\n', 1, id="by its name"),
        pytest.param("configs/size.txt", "SIZE = 'configs/size.txt'\n", 1, id="by its path"),
        pytest.param("configs/size.txt", "# size.txt\n", 0, id="not in quotes"),
        pytest.param("configs/more_size.txt", 'SIZE = "size.txt"\n', 0, id="a part of its name"),
        pytest.param("product/size.py", 'SIZE = "size.py"\n', 0, id="code of the product"),
        pytest.param("notes/size.md", 'SIZE = "size.md"\n', 0, id="prose"),
    ],
)
def test_data_that_a_workloads_file_names_may_change_its_step(notes, changed, source, count):
    texts = notes({"bench/sums.py": (source, source), changed: ("8", "4")})

    assert [f"({changed})" in note for note in texts] == [True] * count


@pytest.mark.parametrize(
    ("source", "env", "count"),
    [
        pytest.param("os.environ['BENCH_SIZE']", (), 1, id="withheld"),
        pytest.param("os.environ['BENCH_SIZE']  # isn't 3", (), 1, id="before an apostrophe"),
        pytest.param('"""It isn\'t " \'BENCH_SIZE\'."""', (), 1, id="after an apostrophe"),
        pytest.param("os.environ['BENCH_SIZE']", ("BENCH_*",), 0, id="passed on"),
        pytest.param("BENCH_SIZE = 3", (), 0, id="another name of the code"),
        pytest.param("os.environ['OTHER_SIZE']", (), 0, id="not set"),
    ],
)
def test_a_variable_that_a_workloads_file_names_and_does_not_get_is_a_note(
    notes, source, env, count
):
    texts = notes({"bench/sums.py": (source, source)}, variables=("BENCH_SIZE",), env=env)

    text = (
        "BENCH_SIZE is set here but not passed on: add it to `env` in perfledger.toml, if the "
        "workloads need what their files name"
    )
    assert texts == (text,) * count


def test_without_a_workload_that_both_sides_have_there_is_nothing_to_warn_of(notes):
    assert notes({"bench/sums.py": ("SIZE = 8", "SIZE = 4")}, workloads=()) == ()


@pytest.mark.parametrize("paths", [("tests",), ()])
def test_of_tests_only_the_files_of_those_that_are_measured_count(notes, paths):
    changed = dict.fromkeys(("tests/test_words.py", "tests/test_sums.py"), ("1", "2"))
    spec = replace(SPEC, module="tests.test_sums")

    (note,) = notes(changed, workloads=(spec,), paths=paths, suite=BenchmarkSuite.PYTEST)

    assert "(tests/test_sums.py)" in note


def test_where_all_files_may_hold_workloads_only_their_own_count(notes):
    changed = dict.fromkeys(("product.py", "bench/sums.py"), ("1", "2"))

    (note,) = notes(changed, paths=(".",))

    assert "(bench/sums.py)" in note


def test_a_module_below_an_import_path_is_known_by_its_name(notes, tmp_path):
    (tmp_path / "head/src").mkdir(parents=True)
    spec = replace(SPEC, module="product.bench")

    (note,) = notes(
        {"src/product/bench/__init__.py": ("1", "2"), "a/product/bench.py": ("1", "2")},
        workloads=(spec,),
        paths=(".",),
    )

    assert "(src/product/bench/__init__.py)" in note


@pytest.mark.parametrize(
    ("contents", "count"), [((None, STEP), 0), ((STEP, STEP.replace("sum", "max")), 1)]
)
def test_a_file_that_head_adds_for_new_workloads_changes_no_other(notes, contents, count):
    added = replace(SPEC, id="bench.products:step", module="bench.products")

    assert len(notes({"bench/products.py": contents}, new=(added,))) == count


def test_a_link_is_not_followed(notes, tmp_path):
    contents = {"bench/sums.py": (STEP, None)}
    (tmp_path / "head/bench").mkdir(parents=True)
    (tmp_path / "head/bench/sums.py").symlink_to(tmp_path / "base/bench/sums.py")

    (note,) = notes(contents)

    assert "(bench/sums.py)" in note


def test_a_name_with_control_characters_is_clean_in_the_note(notes):
    (note,) = notes({"bench/a\x1b[2J\udcff.txt": ("1", "2")})

    assert "(bench/a\ufffd[2J\ufffd.txt)" in note
