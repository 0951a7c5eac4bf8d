"""Sides whose environments are made from lock files, in real children."""

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from perfledger.records import Side
from perfledger_runners.checkouts.dependency_files import declared_dependencies
from perfledger_runners.checkouts.source_tree import SourceTree
from perfledger_runners.environments.build import BuildError
from perfledger_runners.environments.derived_build import build_inputs
from perfledger_runners.environments.side import EnvironmentDistributions
from perfledger_service.usecases.check.side_code import check_locked

pytestmark = pytest.mark.slow

WORK = "def work():\n    return sum(range({}))\n"
UV_PROJECT = """
[project]
name = "mine"
version = "1"
requires-python = ">=3.11"
dependencies = ["slowdep=={}"]
[tool.uv]
package = false
no-index = true
find-links = ["wheels"]
"""
LOCK = '[[package]]\nname = "slowdep"\nversion = "{}"\n'
# Installs what the lock file pins, as Poetry does, with the pip of the active environment.
POETRY_STAND_IN = """#!/bin/sh
test "$*" = "install --no-interaction --no-root" || exit 2
version=$(sed -n 's/^version = "\\(.*\\)"/\\1/p' poetry.lock)
exec pip install --quiet --no-deps --find-links wheels "slowdep==$version"
"""

# Makes an environment of what the file pins, with a record of a package that is not Python's.
CONDA_STAND_IN = """#!/bin/sh
case "$*" in
  "install --frozen --environment default") prefix=.pixi/envs/default file=pixi.lock ;;
  "env create --quiet --prefix "*" --file environment.yml") prefix=$5 file=$7 ;;
  *) exit 2 ;;
esac
version=$(sed -n 's/^version = "\\(.*\\)"/\\1/p' "$file")
{python} -m venv --without-pip "$prefix" && mkdir "$prefix/conda-meta" || exit
touch "$prefix/conda-meta/mkl-202$version-h1_0.json"
exec {python} -m zipfile -e wheels/slowdep-"$version"-*.whl "$prefix"/lib/python3.*/site-packages
"""


@pytest.mark.slow(ci_only=True)
def test_a_changed_lock_is_installed_by_uv(project, require_system):
    require_system("uv", package="uv", folders=[Path(sys.executable).parent])
    mine = project()
    mine.variables["UV_OFFLINE"] = "1"
    mine.variables["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    mine.write(
        "bench.py", mine.WORKLOAD.replace("from mypkg import late", "import slowdep as late")
    )
    mine.write("python/mypkg/late.py", WORK.format(10))
    for version in (1, 2):
        mine.write_wheel("slowdep", version, WORK.format(10 * version))
        mine.write("pyproject.toml", UV_PROJECT.format(version))
        command = ("uv", "lock", "-q", "--python", sys.executable)
        subprocess.run(command, cwd=mine.root, check=True, env=mine.environment())
        mine.commit()

    _, failures, notes = mine.measure()

    assert failures == ()
    assert "made by `uv sync --frozen --no-editable`" in notes[0]
    assert notes[1] == "installed packages differ on head: slowdep 1 \N{RIGHTWARDS ARROW} 2"


def test_a_changed_lock_without_its_tool_is_not_measured_and_names_the_tool(project, tmp_path):
    mine = project()
    mine.variables["PATH"] = str(tmp_path)
    mine.write("python/mypkg/late.py", WORK.format(10))
    mine.change("pdm.lock", LOCK.format(1), LOCK.format(2))

    _, failures, _ = mine.measure()

    assert failures
    words = (
        "pdm.lock needs pdm, which is not on PATH: install it, or set `build` in perfledger.toml"
    )
    assert all(failure.detail.startswith(words) for failure in failures)


@pytest.mark.slow(ci_only=True)
def test_a_changed_lock_of_poetry_is_installed_into_the_environment_of_its_side(project, tmp_path):
    mine = project()
    stand_in = tmp_path / "bin" / "poetry"
    stand_in.parent.mkdir()
    stand_in.write_text(POETRY_STAND_IN)
    stand_in.chmod(0o755)
    mine.variables["PATH"] = os.pathsep.join([str(stand_in.parent), os.environ["PATH"]])
    mine.write("bench.py", mine.WORKLOAD.replace("from mypkg import", "import slowdep as"))
    mine.write("python/mypkg/late.py", WORK.format(10))
    for version in (1, 2):
        mine.write_wheel("slowdep", version, WORK.format(10 * version))
    mine.change("poetry.lock", LOCK.format(1), LOCK.format(2))

    _, failures, notes = mine.measure()

    assert failures == ()
    assert notes[0].endswith("made by `poetry install --no-interaction --no-root`")
    assert notes[1] == "installed packages differ on head: slowdep 1 \N{RIGHTWARDS ARROW} 2"


@pytest.mark.parametrize(
    ("inherited", "advice"),
    [
        ({"slowdep": "2"}, ""),
        ({"slowdep": "3"}, "leaves out slowdep, which differs in poetry.lock"),
        ({"new": "1"}, "new is installed and both sides inherit it, but poetry.lock has it on one"),
    ],
)
def test_an_inherited_package_serves_a_side_in_its_locked_version_alone(inherited, advice):
    base, head = (locked_tree(text) for text in (LOCK.format(1), LOCK.format(2)))
    added = locked_tree(LOCK.format(1) + LOCK.format(1).replace("slowdep", "new"))
    other = added if "new" in inherited else base
    inputs = build_inputs(other, head, paths=())
    distributions = EnvironmentDistributions(built={}, inherited=inherited)

    with pytest.raises(BuildError, match=advice) if advice else nullcontext():
        check_locked(distributions, head, inputs)


def locked_tree(lock):
    return SourceTree(
        hashes={"poetry.lock": lock},
        packages=(),
        extensions=frozenset(),
        dependencies={"poetry.lock": declared_dependencies("poetry.lock", lock.encode())},
    )


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    ("program", "file", "place"),
    [
        ("pixi", "pixi.lock", ".pixi/envs/default"),
        ("conda", "environment.yml", "env"),
    ],
)
def test_a_changed_file_of_a_conda_environment_makes_one_of_each_side(
    project, tmp_path, program, file, place
):
    mine = project()
    stand_in = tmp_path / "bin" / program
    stand_in.parent.mkdir()
    stand_in.write_text(CONDA_STAND_IN.format(python=sys.executable))
    stand_in.chmod(0o755)
    mine.variables["PATH"] = os.pathsep.join([str(stand_in.parent), os.environ["PATH"]])
    mine.write(".gitignore", f"/{place}/\n__pycache__\n")
    mine.write("bench.py", mine.WORKLOAD.replace("from mypkg import", "import slowdep as"))
    for version in (1, 2):
        mine.write_wheel("slowdep", version, WORK.format(10 * version))
    mine.change(file, LOCK.format(1), LOCK.format(2))
    make = (sys.executable, "-m", "venv", "--without-pip", mine.root / place)
    subprocess.run(make, check=True)
    (mine.root / place / "conda-meta").mkdir()
    mine.python = mine.root / place / "bin" / "python"

    runs, failures, (notes, differences) = mine.measure()

    assert failures == ()
    assert len(runs) == len(Side)
    assert notes.startswith(f"{file} changed: each side ran in a separate environment, made by `")
    arrow = "\N{RIGHTWARDS ARROW}"
    assert differences == (
        f"installed packages differ on head: mkl 2021 {arrow} 2022, slowdep 1 {arrow} 2"
    )
