import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_supported_pythons_are_documented_and_in_the_workflow():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = re.findall(r"Python :: (3[.]\d+)", " ".join(project["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    matrix = re.search(r"python: (\[.*\])", workflow)

    assert project["requires-python"] == f">={versions[0]}"
    assert matrix is not None
    assert json.loads(matrix[1]) == versions
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert f"Python {versions[0]} to {versions[-1]}" in text


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


@pytest.mark.slow(ci_only=True)
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


LOCKED = {
    "service/requirements.txt": ("service", "postgres", "review"),
    "runners/requirements.txt": ("gpu",),
}


def normal(name):
    """The name of a distribution as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("file", LOCKED)
def test_what_is_installed_by_hash_is_what_is_pinned(file):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (project["optional-dependencies"][extra] for extra in LOCKED[file])
    requirements = [
        *project["dependencies"],
        *(each for extra in extras for each in extra),
        "hatchling",
    ]
    pins = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line and not line.startswith("#")
    )
    pinned = {normal(name): version.split(";")[0].strip() for name, version in pins.items()}

    text = (ROOT / file).read_text(encoding="utf-8").replace("\\\n", " ")
    locked = {}
    for line in text.splitlines():
        requirement, *hashes = line.split(" --hash=sha256:")
        name, version = requirement.split(";")[0].strip().split("==")
        locked[name] = version
        assert hashes, name
        assert all(re.fullmatch(r"[0-9a-f]{64}", each.strip()) for each in hashes), name

    assert {normal(re.split(r"[\[<>=!~ ]", each)[0]) for each in requirements} <= locked.keys()
    different = {
        name: (version, pinned[name])
        for name, version in locked.items()
        if pinned.get(name, version) != version
    }
    assert different == {}, "make requirements"


@pytest.mark.parametrize("folder", ["service", "runners"])
def test_a_container_copies_what_is_here_installs_by_hash_and_is_not_root(folder):
    text = (ROOT / folder / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    copied = [path for word, *paths in lines if word == "COPY" for path in paths[:-1]]
    installs = re.findall(r"pip install ([^&\n]*)", text)
    users = [words[1] for words in lines if words[0] == "USER"]

    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert f"--require-hashes -r {folder}/requirements.txt" in installs[0]
    assert "--no-deps" in installs[1]
    assert len(installs) == 2
    assert users == ["perfledger"]
