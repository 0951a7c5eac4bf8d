import json
import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_supported_pythons_are_documented_and_in_the_workflow():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [classifier.rpartition(" ")[2] for classifier in project["classifiers"]]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    matrix = re.search(r"python: (\[.*\])", workflow)

    assert project["requires-python"] == f">={versions[0]}"
    assert matrix is not None
    assert json.loads(matrix[1]) == versions
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert f"Python {versions[0]} to {versions[-1]}" in text


@pytest.mark.parametrize(
    "path", ["comment.md.j2", "init/perfledger.toml", "init/example_torch.py", "init/workflow.yml"]
)
def test_templates_are_package_data(path):
    assert files("perfledger_templates").joinpath(path).is_file()


@pytest.mark.parametrize("path", ["prices.csv", "onprem.csv"])
def test_facts_are_package_data(path):
    assert files("perfledger_cost_models").joinpath(path).is_file()


def test_help_imports_nothing_heavy():
    probe = (
        "import runpy, sys; sys.argv = ['perfledger', '--help'];"
        "runpy.run_module('perfledger_service', run_name='__main__');"
        "heavy = {'torch', 'jax', 'sqlmodel', 'numpy', 'typer', 'pydantic'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )

    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: perfledger [OPTIONS] COMMAND [ARGS]..." in done.stdout


def test_the_command_line_starts_without_the_services_extra():
    server = ("alembic", "dbos", "fastapi", "sqlalchemy", "sqlmodel", "structlog", "uvicorn")
    probe = (
        f"import sys; sys.modules.update(dict.fromkeys({server!r}));"
        "from perfledger_service.cli.groups import ROOT, commands_of; list(commands_of(ROOT))"
    )

    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
