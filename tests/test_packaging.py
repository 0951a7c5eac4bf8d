import subprocess
import sys
from importlib.resources import files

import pytest


@pytest.mark.parametrize(
    "path", ["comment.md.j2", "init/perfledger.toml", "init/example.py", "init/workflow.yml"]
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
    assert "perfledger COMMAND" in done.stdout


def test_the_command_line_starts_without_the_services_extra():
    server = ("alembic", "dbos", "fastapi", "sqlalchemy", "sqlmodel", "structlog", "uvicorn")
    probe = (
        f"import sys; sys.modules.update(dict.fromkeys({server!r}));"
        "import perfledger_service.cli.app"
    )

    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
