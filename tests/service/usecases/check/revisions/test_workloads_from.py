"""Tests workloads that are laid over both sides, in real repositories."""

import pytest

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.repository import Repository
from perfledger_service.errors import NotMeasuredError, UsageError
from tests.service.usecases.check.revisions.checkout import WORKLOAD


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


@pytest.fixture
def package(checkout):
    """A base whose workload is inside the package that it measures."""
    (checkout.root / "mine").mkdir()
    for name, text in (("core.py", "SIZE = 1\n"), ("speed.py", WORKLOAD)):
        (checkout.root / "mine" / name).write_text(text)
    checkout.commit(perfledger='paths = ["mine"]')
    return checkout


def test_workloads_from_elsewhere_that_hide_the_whole_change_measure_nothing(package):
    (package.root / "mine" / "core.py").write_text("SIZE = 2\n")
    (package.root / "README.md").write_text("words\n")
    head = package.commit(perfledger='paths = ["mine"]\nmargin = 0.2')

    words = r"nothing of .* mine/core.py changed .* set `paths` \(now mine\) to the files"
    with pytest.raises(NotMeasuredError, match=words):
        package.configuration_from("HEAD", package.resolve(base="HEAD~1", head=head))


def test_workloads_from_elsewhere_that_hide_a_part_of_the_change_say_so(package):
    (package.root / "mine" / "core.py").write_text("SIZE = 2\n")
    head = package.commit(other="1")

    configuration = package.configuration_from("HEAD", package.resolve(base="HEAD~1", head=head))

    assert "mine/core.py changed and is no file of workloads" in configuration.notes[1]


@pytest.mark.parametrize(
    ("path", "suite"), [("speed.py", "perfledger"), ("conftest.py", "pytest"), ("core.py", "asv")]
)
def test_changed_workloads_are_what_an_overlay_is_for(package, path, suite):
    (package.root / "mine" / path).write_text(f"{WORKLOAD}# more\n")
    head = package.commit(perfledger=f'suite = "{suite}"\npaths = ["mine"]')

    configuration = package.configuration_from("HEAD", package.resolve(base="HEAD~1", head=head))

    assert len(configuration.notes) == 1


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


def test_tests_from_elsewhere_need_their_folders(checkout):
    sha = checkout.commit(perfledger='paths = ["workloads.toml"]', workloads="1")
    sides = checkout.resolve(base=sha, head="main")

    with pytest.raises(UsageError, match=r"set PERFLEDGER_PATHS='\[\"FOLDER\"\]', or `paths`"):
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
