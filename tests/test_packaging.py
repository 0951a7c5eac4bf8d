import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from zipfile import ZipFile

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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = folder.glob("perfledger-*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The `bin` of an environment that has the wheel and what it depends on, not this tree."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(home)
    [own] = home.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", str(home), "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    # Folders that such a file names are on the path, but the one there that leads to this tree is
    # not read.
    others = [path for path in sys.path if path.endswith("-packages")]
    (own / "dependencies.pth").write_text("\n".join(others), encoding="utf-8")
    return home / "bin"


def test_the_wheel_has_every_file_of_the_packages(wheel):
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    packages = {name.split("/")[0] for name in names if ".dist-info" not in name}
    tracked = subprocess.run(
        ["git", "ls-files", *(f"*/{package}/*" for package in sorted(packages))],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    in_packages = {path.partition("/")[2] for path in tracked if not path.startswith("tests/")}

    assert {"perfledger", "perfledger_service", "perfledger_templates"} <= packages
    assert in_packages <= names


@pytest.mark.slow(ci_only=True)
def test_the_wheel_alone_checks_a_project_elsewhere(installed, tmp_path):
    project = tmp_path / "project"
    project.mkdir()

    def run(*command, codes=(0,)):
        done = subprocess.run(
            command,
            cwd=project,
            env={
                "PATH": f"{installed}:{os.environ['PATH']}",
                "HOME": str(tmp_path),
                "PERFLEDGER_PYTHON": str(installed / "python"),
                "PERFLEDGER_LOCK_FOLDER": str(tmp_path),
                "PERFLEDGER_DATABASE_URL": f"sqlite:///{tmp_path}/store.db",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in codes, done.stdout + done.stderr
        return done.stdout

    run("git", "init", "-q")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.example")
    where = "import perfledger, perfledger_service as s; print(perfledger.__file__, s.__file__)"
    for path in run("python", "-c", where).split():
        assert Path(path).is_relative_to(installed.parent)
    run("perfledger", "init")
    run("git", "add", "-A")
    run(*git, "commit", "-qm", "workloads")
    # Undecided, or unchanged already: a short check of the same code on any machine.
    options = ("--base", "HEAD", "--budget", "2s", "--json")
    report = run("perfledger", "check", *options, codes=(0, 3))
    run("perfledger", "server", "db", "upgrade")

    assert json.loads(report)["workloads"]


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
    wanted = [*project["dependencies"], *(each for extra in extras for each in extra), "hatchling"]
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

    assert {normal(re.split(r"[\[<>=!~ ]", each)[0]) for each in wanted} <= locked.keys()
    different = {
        name: (version, pinned[name])
        for name, version in locked.items()
        if pinned.get(name, version) != version
    }
    assert different == {}, "make requirements"


def test_the_container_copies_what_is_here_installs_by_hash_and_is_not_root():
    text = (ROOT / "service" / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    copied = [path for word, *paths in lines if word == "COPY" for path in paths[:-1]]
    installs = [" ".join(words) for words in lines if words[:3] == ["RUN", "pip", "install"]]
    users = [words[1] for words in lines if words[0] == "USER"]

    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert all("--require-hashes" in each or "--no-deps" in each for each in installs)
    assert len(installs) == 2
    assert users == ["perfledger"]
