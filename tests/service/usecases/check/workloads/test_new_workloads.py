"""Tests what a check says where base has none of head's workloads, in real repositories."""

import subprocess

import pytest

from perfledger.records import WorkloadSpec
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.measuring.discovery import Discovery
from perfledger_service.settings.check import CheckSettings
from perfledger_service.usecases.check.revisions import CheckConfiguration
from perfledger_service.usecases.check.workloads.new_workloads import (
    comparison_advice,
    other_base_workloads,
)
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
WORKLOAD = "import perfledger\n\n@perfledger.workload()\ndef add():\n    return sum\n"


@pytest.fixture
def others(tmp_path):
    """Commit files and return what base registers outside the paths of the settings."""

    def find(files, *, registered=(), paths=("benchmarks",)):
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "base")):
            subprocess.run(["git", *IDENTITY, *arguments], cwd=tmp_path, check=True)
        repository = Repository.open(tmp_path)
        workloads = tuple(
            WorkloadSpec(id=name, module=name.partition(":")[0], function="f")
            for name in registered
        )
        sha = repository.resolve("HEAD").sha
        return other_base_workloads(repository, sha, Discovery(workloads=workloads), paths=paths)

    return find


EVERYTHING = WorkloadChoice()


def advice(names, *, file="perfledger.toml", choice=EVERYTHING):
    configuration = CheckConfiguration(
        settings=CheckSettings.model_validate({"paths": ("perf",)}), base_file=file, notes=()
    )
    return comparison_advice(names, configuration, choice=choice)


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        pytest.param(WORKLOAD, True, id="as the README writes it"),
        pytest.param(
            "import perfledger as pl\n\nif True:\n    @pl.workload\n", True, id="renamed, bare"
        ),
        pytest.param("from perfledger import workload\n@workload(\n)\n", True, id="imported"),
        pytest.param("@locust.workload()\ndef f(): ...\n", False, id="another tool's"),
        pytest.param("import perfledger\nperfledger.records\n", False, id="no workload"),
        pytest.param('import perfledger\n"""Use @perfledger.workload()."""\n', False, id="prose"),
        pytest.param("import perfledger\n@perfledger.workloads()\n", False, id="another name"),
    ],
)
def test_a_file_is_found_by_its_decorator(others, text, is_found):
    assert others({"old/sums.py": text}) == (("old/sums.py",) if is_found else ())


def test_files_below_the_paths_and_other_texts_are_not_elsewhere(others):
    files = {
        "benchmarks/sums.py": WORKLOAD,
        "benchmarks_old/sums.py": WORKLOAD,
        "README.md": WORKLOAD,
        "perf/über maß.py": WORKLOAD,
    }

    assert others(files) == ("benchmarks_old/sums.py", "perf/über maß.py")


def test_workloads_that_base_registers_come_before_its_files(others):
    assert others({"old/sums.py": WORKLOAD}, registered=("sums:add",)) == (
        "sums:add",
        "old/sums.py",
    )


def test_a_base_without_python_files_has_no_others(others):
    assert others({"README.md": "perfledger"}) == ()


def test_moved_workloads_are_named_with_the_way_on():
    (sentence,) = advice(("old/a.py", "old/b.py", "old/c.py", "old/d.py"))

    assert sentence == (
        "base registers old/a.py, old/b.py, old/c.py and 1 more instead: keep their names, and set "
        "`paths` (now perf) to the folders of both sides, or pass --base with a revision that "
        "registers the same workloads"
    )


def test_a_choice_that_leaves_out_all_of_base_is_named():
    (sentence,) = advice(("sums:add",), choice=WorkloadChoice(globs=("sums:new*",)))

    assert "base registers sums:add instead: choose workloads of both sides" in sentence
    assert "(now --workload sums:new*)" in sentence


def test_a_configured_base_without_workloads_is_named():
    (sentence,) = advice(())

    assert sentence.startswith("base has the configuration perfledger.toml but no workload in perf")


def test_a_change_that_introduces_perfledger_is_told_how_to_go_on():
    (sentence,) = advice((), file="")

    assert sentence.startswith("base has no workloads yet: commit them, then change something")
