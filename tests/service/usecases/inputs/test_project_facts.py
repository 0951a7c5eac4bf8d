"""Reads what small repositories are made of."""

import subprocess
import sys
from shutil import which

import pytest

from perfledger.records import Framework
from perfledger_service.usecases.inputs import project_facts
from perfledger_service.usecases.inputs.project_facts import read_project_facts
from perfledger_service.values.project_facts import (
    BenchmarkTool,
    EnvironmentManager,
    ProjectFacts,
)

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")


@pytest.fixture
def facts_of(tmp_path):
    """Return a function that writes and commits files, by path, and returns the facts."""

    def facts_of(files, *, is_committed=True):
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        commands = (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "a"))
        for arguments in commands if is_committed else ():
            subprocess.run(["git", *IDENTITY, *arguments], cwd=tmp_path, check=True)
        return read_project_facts(tmp_path)

    return facts_of


def test_scripts_without_a_project_file_have_a_framework_and_no_package(facts_of):
    facts = facts_of(
        {"model.py": "import math\n\nimport torch\n", "train.py": "from torch import nn"}
    )

    assert facts == ProjectFacts(framework=Framework.TORCH, unignored_environments=(".venv",))


@pytest.mark.parametrize(
    ("sources", "framework"),
    [
        (["import jax.numpy as jnp", "import jax", "import torch"], Framework.JAX),
        (["if x:\n    import torch"], Framework.TORCH),
        (["import torchlight", '"""Needs\nimport_torch."""'], Framework.HOST),
        ([], Framework.HOST),
    ],
)
def test_the_framework_is_what_most_files_import(facts_of, sources, framework):
    files = {f"file{number}.py": text for number, text in enumerate(sources)}

    assert facts_of({"README.md": "", **files}).framework is framework


@pytest.mark.parametrize(
    ("requirements", "environment", "framework"),
    [
        ("numpy", ("", "numpy"), Framework.HOST),
        ("numpy", ("", "torch"), Framework.TORCH),
        ("numpy", ("include-system-site-packages = true", "numpy"), Framework.TORCH),
        ("numpy", None, Framework.TORCH),
        ("numpy\ntorch", ("", "numpy"), Framework.TORCH),
        ("numpy\njax", ("", "numpy"), Framework.JAX),
        ("", ("", "numpy"), Framework.TORCH),
    ],
    ids=["optional", "installed", "inherited", "no environment", "required", "other", "no list"],
)
def test_a_framework_of_an_optional_part_counts_where_it_is_installed(
    facts_of, tmp_path, requirements, environment, framework
):
    if environment is not None:
        setting, package = environment
        (tmp_path / f".venv/lib/python3.12/site-packages/{package}").mkdir(parents=True)
        (tmp_path / ".venv/pyvenv.cfg").write_text(f"home = /usr/bin\n{setting}\n")

    facts = facts_of({"requirements.txt": requirements, "loader.py": "import torch"})

    assert facts.framework is framework


@pytest.mark.parametrize(
    ("files", "framework"),
    [
        (
            {"mypkg/__init__.py": "import numpy", "mypkg/tests/test_arrays.py": "import jax"},
            Framework.HOST,
        ),
        ({"examples/train.py": "import jax"}, Framework.JAX),
    ],
)
def test_a_framework_that_only_tests_or_examples_import_counts_where_there_is_no_other_code(
    facts_of, files, framework
):
    assert facts_of(files).framework is framework


@pytest.mark.parametrize(
    ("files", "framework"),
    [
        (
            {"requirements.txt": "numpy>=2\n  Torch==2.13.0 ; python_version > '3'\n"},
            Framework.TORCH,
        ),
        ({"pyproject.toml": '[project]\ndependencies = ["jax[cuda12]>=0.4"]\n'}, Framework.JAX),
        ({"requirements.txt": "flax\n", "a.py": "import torch\n"}, Framework.TORCH),
        ({"requirements.txt": "torchvision\njaxtyping\n# torch\n-r torch.txt\n"}, Framework.HOST),
        ({"pyproject.toml": "[project]\ndependencies = 3\n"}, Framework.HOST),
        ({"pyproject.toml": "[project\n", "requirements.txt": "jax"}, Framework.JAX),
    ],
)
def test_what_a_project_requires_counts_where_no_file_imports_a_framework(
    facts_of, files, framework
):
    assert facts_of({"README.md": "", **files}).framework is framework


@pytest.mark.parametrize(
    ("files", "ignored", "unignored"),
    [
        ({}, "", (".venv",)),
        ({}, ".venv/\n", ()),
        ({"poetry.lock": ""}, "", ()),
        ({".venv/pyvenv.cfg": "", ".venv/.gitignore": "*"}, "", ()),
        ({"poetry.lock": "", ".venv/pyvenv.cfg": ""}, "", (".venv",)),
        ({"env/conda-meta/history": ""}, "/.venv/", ("env",)),
        ({"env/bin/python": ""}, "/.venv", ()),
    ],
)
def test_environments_that_git_would_add_are_known(facts_of, files, ignored, unignored):
    committed = {name: text for name, text in files.items() if name == "poetry.lock"}
    facts_of({".gitignore": ignored, **committed})

    assert facts_of(files, is_committed=False).unignored_environments == unignored


def test_packages_are_those_that_the_repository_imports_from_its_own_folders(facts_of):
    facts = facts_of(
        {
            "pyproject.toml": "[project]\nname = 'mine'\n",
            "src/mine/__init__.py": "",
            "src/mine/part/__init__.py": "",
            "tests/__init__.py": "",
            "typing_tests/__init__.py": "",
            "benchmarks/__init__.py": "",
            "bench/__init__.py": "",
        }
    )

    assert facts.packages == ("mine",)
    assert facts.is_installable


@pytest.mark.parametrize(
    ("name", "manager"),
    [
        ("uv.lock", EnvironmentManager.UV),
        ("poetry.lock", EnvironmentManager.POETRY),
        ("pdm.lock", EnvironmentManager.PDM),
        ("pixi.lock", EnvironmentManager.PIXI),
        ("environment.yml", EnvironmentManager.CONDA),
        ("environment.yaml", EnvironmentManager.CONDA),
        ("requirements.txt", EnvironmentManager.PIP),
    ],
)
def test_a_lock_file_names_the_environment_manager(facts_of, name, manager):
    facts = facts_of({name: "", "requirements.txt": ""})

    assert (facts.manager, facts.has_requirements) == (manager, True)


@pytest.mark.parametrize(
    ("source", "spec", "can_read"),
    [("import jax", None, False), ("import jax", "found", True), ("import torch", None, True)],
)
def test_profiles_of_jax_need_jax_beside_perfledger(facts_of, monkeypatch, source, spec, can_read):
    monkeypatch.setattr(project_facts, "find_spec", lambda _: spec)

    assert facts_of({"model.py": source}).has_profile_reader is can_read


@pytest.mark.parametrize("has_manager", [True, False])
def test_a_manager_is_looked_for_on_the_path(facts_of, tmp_path, monkeypatch, has_manager):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "pixi") if has_manager else ("git",):
        (programs / name).symlink_to(which("git"))
    monkeypatch.setenv("PATH", str(programs))

    assert facts_of({"pixi.lock": ""}).has_manager is has_manager


@pytest.mark.parametrize(
    ("files", "is_installable"),
    [
        ({"setup.py": ""}, True),
        ({"pyproject.toml": "[tool.poetry]\n"}, True),
        ({"pyproject.toml": "[tool.ruff]\n"}, False),
        ({"README.md": ""}, False),
    ],
)
def test_a_project_file_for_tools_alone_cannot_be_installed(facts_of, files, is_installable):
    assert facts_of(files).is_installable is is_installable


def test_benchmarks_of_other_tools_are_recognised(facts_of):
    facts = facts_of(
        {
            "asv.conf.json": "{}",
            "benchmarks/sums.py": "def time_sum(): ...",
            "tests/test_speed.py": "def test_sum(benchmark):\n    benchmark(sum, [1])\n",
        }
    )

    assert facts.benchmark_tools == (BenchmarkTool.ASV, BenchmarkTool.PYTEST)
    assert (facts.has_workloads, facts.has_other_benchmarks) == (False, True)


def test_registered_workloads_are_recognised(facts_of):
    facts = facts_of({"benchmarks/sums.py": "import perfledger\n"})

    assert (facts.has_workloads, facts.has_other_benchmarks) == (True, False)


def test_an_environment_beside_the_sources_is_seen(facts_of, tmp_path):
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()

    assert facts_of({"README.md": ""}).has_environment


@pytest.mark.slow
def test_modules_that_the_environment_lacks_are_known(facts_of, tmp_path):
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    files = {
        "mine/__init__.py": "import absent_a\nimport json\nimport mine.part\n",
        "mine/tests/helper.py": "import absent_b\n",
        "mine/conftest.py": "import absent_b\n",
        "tests/test_speed.py": "import absent_c\n\n\ndef test_a(benchmark): ...\n",
        "scripts/run.py": "import absent_d\n",
        "benchmarks/sums.py": "import absent_e\n",
        ".gitignore": ".venv\n",
    }

    assert facts_of(files).missing_modules.keys() == {"absent_a", "absent_c", "absent_e"}


def test_without_an_environment_no_module_is_missing(facts_of):
    assert facts_of({"mine/__init__.py": "import absent_a\n"}).missing_modules == {}


def test_a_folder_without_a_commit_tells_what_its_top_folder_holds(tmp_path):
    (tmp_path / "uv.lock").touch()
    (tmp_path / "model.py").write_text("import torch\n")

    assert read_project_facts(tmp_path) == ProjectFacts(
        manager=EnvironmentManager.UV,
        has_manager=which("uv") is not None,
        manager_file="uv.lock",
    )


def test_a_deleted_file_is_not_read(facts_of, tmp_path):
    facts_of({"model.py": "import torch\n"})
    (tmp_path / "model.py").unlink()

    assert read_project_facts(tmp_path).framework is Framework.HOST


@pytest.mark.parametrize(
    ("path", "text", "has_large_files"),
    [
        (".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n", True),
        ("data/.gitattributes", "*.bin filter=lfs\n", True),
        (".gitattributes", "*.py text\n", False),
        ("notes.md", "filter=lfs\n", False),
    ],
)
def test_attributes_say_whether_files_are_in_git_lfs(facts_of, path, text, has_large_files):
    assert facts_of({path: text}).has_large_files is has_large_files
