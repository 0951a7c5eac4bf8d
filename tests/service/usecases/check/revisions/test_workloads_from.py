"""Tests workloads that are laid over both sides, in real repositories."""

import pytest

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.repository import Repository
from perfledger_service.errors import UsageError


@pytest.mark.parametrize("name", ["today", "."])
def test_workloads_from_elsewhere_bring_their_settings_and_are_laid_over_both_sides(checkout, name):
    base = checkout.commit(benchmark="old")
    head = checkout.commit(perfledger="margin = 0.02", benchmark="older")
    checkout.commit(perfledger='paths = ["benchmark.toml"]\nmargin = 0.2', benchmark="new")
    checkout.git("branch", "today")
    sides = checkout.resolve(base=base, head=head)

    configuration = checkout.configuration_from(name, sides)

    assert (configuration.settings.margin, configuration.base_file) == (0.2, "perfledger.toml")
    (note,) = configuration.notes
    assert note.endswith("1 file at benchmark.toml, laid over both sides")
    repository = Repository.open(checkout.root)
    for sha, own in ((base, ""), (head, "margin = 0.02")):
        laid_over = configuration.checked_out_sha(repository, sha)
        assert checkout.git("show", f"{laid_over}:benchmark.toml") == "new"
        listed = checkout.git("ls-tree", "--name-only", laid_over)
        assert ("perfledger.toml" in listed) == bool(own)
        assert not own or checkout.git("show", f"{laid_over}:perfledger.toml") == own


def test_asvs_benchmarks_from_elsewhere_are_those_of_its_own_configuration(checkout):
    (checkout.root / "asv.conf.json").write_text('{\n  "benchmark_dir": "speed.toml",\n}')
    sha = checkout.commit(perfledger='paths = ["workloads"]', speed="1")

    configuration = checkout.configuration_from(
        "main", checkout.resolve(base=sha, head="main"), suite="asv"
    )

    assert configuration.settings.own_paths == ("speed.toml",)
    assert configuration.overlay is not None
    assert list(configuration.overlay.files) == ["speed.toml"]


@pytest.mark.parametrize("is_folder", [False, True])
def test_asvs_own_configuration_may_lie_in_any_folder(checkout, is_folder):
    (checkout.root / "ci" / "speed").mkdir(parents=True)
    (checkout.root / "ci" / "speed" / "work.py").write_text("")
    (checkout.root / "ci" / "asv.conf.json").write_text('{"benchmark_dir": "./speed"}')
    sha = checkout.commit(perfledger='paths = ["workloads"]')
    source = str(checkout.root) if is_folder else "main"

    configuration = checkout.configuration_from(
        source, checkout.resolve(base=sha, head="main"), suite="asv"
    )

    assert configuration.settings.own_paths == ("ci/speed",)


TESTS = {
    "tests/perf/test_sums.py": "def test_sum(benchmark):\n    benchmark(sum, [1])\n",
    "tests/perf/numbers.py": "benchmark = 1\n",
    "tests/conftest.py": "",
    "tests/test_other.py": "def test_it():\n    pass\n",
    "mine/test_beside.py": "class TestIt:\n    def test_it(self, tmp_path, benchmark): pass\n",
    "mine/code.py": "def benchmark():\n    pass\n",
}


@pytest.mark.parametrize("is_folder", [False, True])
def test_tests_with_the_fixture_are_found_where_no_paths_are_set(checkout, is_folder):
    for name, text in TESTS.items():
        path = checkout.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    sides = checkout.resolve(base=checkout.commit(), head="main")
    source = str(checkout.root) if is_folder else "main"

    configuration = checkout.configuration_from(source, sides, suite="pytest")

    assert set(configuration.settings.own_paths) == {"tests", "mine/test_beside.py"}
    assert configuration.overlay is not None
    assert configuration.overlay.files.keys() == TESTS.keys() - {"mine/code.py"}


def test_without_a_test_that_uses_the_fixture_the_paths_of_tests_must_be_set(checkout):
    sha = checkout.commit(perfledger='paths = ["workloads.toml"]', workloads="1")
    sides = checkout.resolve(base=sha, head="main")

    with pytest.raises(UsageError, match=r"as in PERFLEDGER_PATHS='\[\"tests\"\]', or as `paths`"):
        checkout.configuration_from("main", sides, suite="pytest")
    own = checkout.configuration_from("main", sides, suite="pytest", paths=("workloads.toml",))
    assert own.overlay is not None


def test_workloads_from_elsewhere_need_files_and_flags_go_before_their_settings(checkout):
    sides = checkout.resolve(base=checkout.commit(benchmarks="1"), head="main")

    with pytest.raises(RepositoryError, match="has no file at benchmarks"):
        checkout.configuration_from("main", sides)
    configuration = checkout.configuration_from("main", sides, paths=("benchmarks.toml",))
    assert len(configuration.notes) == 2
    assert "same commit" in configuration.notes[1]
