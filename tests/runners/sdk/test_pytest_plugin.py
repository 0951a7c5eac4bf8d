"""Tests that are written for pytest-benchmark are measured in a child, unchanged."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import perfledger
from perfledger.measuring.core_use import PREPARED
from perfledger.protocol import BenchmarkSuite, Command

pytestmark = pytest.mark.slow

FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-q --strict-markers"\n'
    'markers = ["slow"]\n',
    "conftest.py": """
import pytest

@pytest.fixture(params=["list", "tuple"])
def kind(request):
    return {"list": list, "tuple": tuple}[request.param]
""",
    "tests/bench/test_sums.py": """
import pytest

@pytest.mark.slow
@pytest.mark.benchmark(group="sums")
@pytest.mark.parametrize("size", [10, 20])
def test_sum(benchmark, kind, size):
    benchmark.extra_info["size"] = size
    assert benchmark(sum, kind(range(size))) == sum(range(size))

class TestOthers:
    def test_decorated(self, benchmark):
        @benchmark
        def result():
            return 3
        assert result == 3

    def test_pedantic(self, benchmark):
        made = []
        def set_up():
            made.append([1, 2])
            return (made[-1],), {}
        def use(values):
            return values.pop()
        assert benchmark.pedantic(use, setup=set_up, rounds=3) == 2
        assert all(len(values) == 1 for values in made)

    def test_wrong(self, benchmark):
        assert benchmark(max, 1, 2) == 1

    def test_raises(self, benchmark):
        benchmark(int, "x")

    def test_without_a_call(self, benchmark):
        pass

    def test_skipped(self, benchmark):
        pytest.skip("no such feature")

    @pytest.mark.skip(reason="marked")
    def test_marked(self, benchmark):
        raise AssertionError

    def test_woven(self, benchmark_weave):
        raise AssertionError

def test_usual():
    raise AssertionError("a test without the fixture is not run")

@pytest.mark.benchmark
def test_as_a_whole():
    raise AssertionError("a test without the fixture is not run")
""",
    "tests/bench/sums.py": "def test_uncollected(kind, benchmark):\n    benchmark(sum, kind())\n",
}
OTHERS = "tests.bench.test_sums:TestOthers."
# They do no more than call the fixture.
PLAIN = ("tests.bench.test_sums:test_sum[tuple-20]", f"{OTHERS}test_decorated")


@pytest.fixture(scope="module")
def ask(run_child, tmp_path_factory):
    root = tmp_path_factory.mktemp("suite") / "repository"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    def run(command, **changes):
        changes = {"paths": ("tests",), **changes}
        return run_child(root, command, suite=BenchmarkSuite.PYTEST, **changes)

    return run


@pytest.fixture(scope="module")
def listed(ask):
    return ask(Command.LIST)


@pytest.fixture(scope="module")
def measured(ask):
    """What a child says that is asked for a test of every kind."""
    names = ("pedantic", "wrong", "raises", "without_a_call", "skipped", "marked", "gone")
    others = (f"{OTHERS}test_{name}" for name in names)
    return ask(Command.MEASURE, workloads=(*PLAIN, *others))


def test_tests_with_the_fixture_are_listed_with_their_parameters_and_marks(listed):
    tags = {each["id"]: each["tags"] for each in listed.of("workload")}

    assert {name: marks for name, marks in tags.items() if "Others" not in name} == {
        f"tests.bench.test_sums:test_sum[{parameters}]": ["slow"]
        for parameters in ("list-10", "list-20", "tuple-10", "tuple-20")
    }
    assert {name.removeprefix(OTHERS) for name in tags if "Others" in name} == {
        "test_decorated",
        "test_pedantic",
        "test_wrong",
        "test_raises",
        "test_without_a_call",
        "test_skipped",
        "test_marked",
    }


def test_a_test_that_needs_the_weaving_fixture_is_left_out_by_name(listed):
    (left_out,) = (one for one in listed.of("left_out") if "woven" in one["name"])

    assert left_out["name"] == f"{OTHERS}test_woven"
    assert "benchmark_weave is not supported" in left_out["reason"]


def test_each_requested_test_is_measured_where_it_calls_the_fixture(measured):
    messages = [each for each in measured.messages if each["event"] != "ended"]
    events = [
        (each["event"], each["workload"]) for each in messages if each.get("workload") in PLAIN
    ]

    assert events == [(event, name) for name in PLAIN for event in ("started", "sampling", "run")]
    assert (messages[0]["event"], messages[-1]["event"]) == ("started", "done")


def test_a_pedantic_test_has_a_set_up_before_each_call(measured):
    run = measured.about(f"{OTHERS}test_pedantic")

    assert run["event"] == "run", run
    assert run["left_out"] == {PREPARED: 1}
    assert run["evidence"]["steps_per_reading"] == 1


@pytest.mark.parametrize(
    ("test", "reason", "detail"),
    [
        ("test_wrong", "raised", "the test failed in its call: assert 2 == 1"),
        ("test_raises", "raised", "ValueError: invalid literal for int() with base 10: 'x'"),
        ("test_without_a_call", "raised", "the test did not call benchmark"),
        ("test_skipped", "skipped", "no such feature"),
        ("test_marked", "skipped", "marked"),
        ("test_gone", "missing", "is registered in this revision"),
    ],
)
def test_a_test_that_has_no_result_says_why(test, reason, detail, measured):
    failed = measured.about(f"{OTHERS}{test}")

    assert (failed["event"], failed["reason"]) == ("failed", reason)
    assert detail in failed["detail"]


@pytest.mark.slow(ci_only=True)
def test_a_folder_that_base_does_not_have_yet_is_missing(ask):
    (broken,) = ask(Command.LIST, paths=("bench",)).of("broken")

    assert (broken["path"], broken["reason"]) == ("bench", "missing")


@pytest.mark.slow(ci_only=True)
def test_a_configuration_that_pytest_refuses_is_said(run_child, write):
    root = write({"conftest.py": "raise OSError('no data')", "test_it.py": ""})

    (broken,) = run_child(root, Command.LIST, suite=BenchmarkSuite.PYTEST, paths=()).of("broken")

    assert "pytest ended before its tests: OSError: no data" in broken["detail"]


@pytest.mark.slow(ci_only=True)
def test_a_file_that_cannot_be_imported_does_not_hide_the_others(run_child, write):
    files = {
        "pytest.ini": "[pytest]\naddopts = --showlocals",
        "test_bad.py": "1 / 0  # before its benchmark",
        "test_other.py": "import no_such_package",
        "test_good.py": "def test_it(benchmark): benchmark(int)",
    }
    root = write(files)

    answer = run_child(root, Command.LIST, suite=BenchmarkSuite.PYTEST, paths=())

    assert [each["id"] for each in answer.of("workload")] == ["test_good:test_it"]
    (broken,) = answer.of("broken")
    assert broken["path"] == "test_bad.py"
    assert broken["detail"].startswith("ZeroDivisionError")
    (note,) = answer.of("note")
    assert note["text"].startswith("pytest cannot collect test_other.py: nothing is missing here")


@pytest.mark.slow(ci_only=True)
def test_an_option_of_a_plugin_that_is_not_installed_is_said(run_child, write):
    root = write({"pytest.ini": "[pytest]\naddopts = --no-such-option", "test_it.py": ""})

    (broken,) = run_child(root, Command.LIST, suite=BenchmarkSuite.PYTEST, paths=()).of("broken")

    assert broken["detail"].endswith("unrecognized arguments: --no-such-option")


@pytest.mark.slow(ci_only=True)
def test_the_folder_stays_as_it_is_and_no_earlier_run_chooses_tests(run_child, write):
    root = write(
        {
            "pytest.ini": "[pytest]\naddopts = --last-failed\n",
            ".pytest_cache/v/cache/lastfailed": '{"tests/test_a.py::test_one": true}',
            "tests/test_a.py": "def test_one(benchmark):\n    benchmark(len, '')\n"
            "def test_two(benchmark):\n    benchmark(len, '')\n",
        }
    )
    before = sorted(root.rglob("*.*"))

    answer = run_child(root, Command.LIST, suite=BenchmarkSuite.PYTEST, paths=("tests",))

    assert len(answer.of("workload")) == 2
    assert [path for path in sorted(root.rglob("*.*")) if path.suffix != ".pyc"] == before


def run_pytest(root, *words):
    command = [sys.executable, "-m", "pytest", "-p", "perfledger.pytest_plugin", "--perfledger"]
    environment = {**os.environ, "PYTHONPATH": str(Path(perfledger.__file__).parents[1])}
    return subprocess.run(
        [*command, *words, "tests"],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow(ci_only=True)
def test_pytest_measures_the_working_folder_and_prints_a_table(write):
    done = run_pytest(write(FILES), "-k", "decorated or pedantic or usual")

    assert done.returncode == 0, done.stdout + done.stderr
    table = done.stdout.partition(" perfledger ")[2].splitlines()
    assert [line.partition(":")[2] for line in table if line.startswith("tests.")] == [
        "TestOthers.test_decorated",
        "TestOthers.test_pedantic",
    ]
    assert "step time" in table[1]
    assert "2 passed" in done.stdout


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("words", [("--collect-only",), ("-n", "1", "-k", "decorated")])
def test_a_session_that_measures_nothing_itself_prints_no_empty_table(write, words):
    done = run_pytest(write(FILES), *words)

    assert "No test was measured in this process: with pytest-xdist, add -n 0." in done.stdout
    assert "step time" not in done.stdout


@pytest.mark.slow(ci_only=True)
def test_options_of_pytest_benchmark_that_do_not_apply_are_said_once(run_child, write):
    text = """
import pytest

@pytest.mark.benchmark(group="sums", min_rounds=3)
def test_one(benchmark):
    benchmark.extra_info["size"] = 3
    benchmark(sum, [1])

@pytest.mark.benchmark(group="sums")
def test_two(benchmark):
    benchmark(sum, [2])

@pytest.mark.benchmark(group="none")
def test_three():
    pass
"""
    root = write({"tests/test_sums.py": text})

    answer = run_child(root, Command.LIST, suite=BenchmarkSuite.PYTEST, paths=("tests",))

    (note,) = answer.of("note")
    assert note["text"] == (
        "ignored options of pytest-benchmark, by the benchmarks that have them: extra_info (1), "
        "group (2), min_rounds (1)"
    )


def test_files_that_pytest_does_not_collect_are_named_unless_paths_say_what_to_collect(ask):
    left_out = {each["name"]: each["reason"] for each in ask(Command.LIST, paths=()).of("left_out")}

    assert "does not collect this file" in left_out["tests/bench/sums.py"]
    assert "PERFLEDGER_PATHS='[\"tests/bench/sums.py\"]'" in left_out["tests/bench/sums.py"]
    named = ask(Command.LIST, paths=("tests/bench/sums.py",))
    assert [each["id"] for each in named.of("workload")] == [
        f"tests.bench.sums:test_uncollected[{kind}]" for kind in ("list", "tuple")
    ]


def test_a_marked_test_without_the_fixture_is_named(listed):
    left_out = {each["name"]: each["reason"] for each in listed.of("left_out")}

    assert "only pytest-codspeed" in left_out["tests.bench.test_sums:test_as_a_whole"]
