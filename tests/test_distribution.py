"""Builds the wheel and the source distribution, and uses them where this tree is not."""

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
from contextlib import contextmanager
from email.parser import BytesParser
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata

ROOT = Path(__file__).parent.parent


def build(kind, folder, *, tree=ROOT):
    """Build a distribution of a tree with the backend that pip would use, and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    [file] = folder.glob("perfledger-*")
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this tree."""
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The unpacked source distribution of this tree."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", folder)) as archive:
        archive.extractall(folder, filter="data")
    [tree] = (path for path in folder.iterdir() if path.is_dir())
    return tree


def install(wheel, home):
    """Make an environment of a wheel and what it depends on, without this tree; return its bin."""
    venv.create(home)
    [own] = home.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", str(home), "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    # Folders that such a file names are on the path, but the one there that leads to this tree is
    # not read.
    others = [path for path in sys.path if path.endswith("-packages")]
    (own / "dependencies.pth").write_text("\n".join(others), encoding="utf-8")
    return home / "bin"


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The `bin` of an environment that has the wheel and what it depends on, not this tree."""
    return install(wheel, tmp_path_factory.mktemp("installed") / "venv")


@pytest.fixture
def user_variables(installed, tmp_path):
    """The environment variables of a user who has only the wheel."""
    return {
        "PATH": f"{installed}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PERFLEDGER_PYTHON": str(installed / "python"),
        "PERFLEDGER_LOCK_FOLDER": str(tmp_path),
        "PERFLEDGER_DATABASE_URL": f"sqlite:///{tmp_path}/store.db",
    }


def tracked_files(*patterns):
    command = ["git", "ls-files", "-z", *patterns]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return set(done.stdout.split("\0")) - {""}


def names_in(wheel):
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_packages(wheel):
    names = names_in(wheel)
    packages = {name.split("/")[0] for name in names if ".dist-info" not in name}
    tracked = tracked_files(*(f"*/{package}/*" for package in sorted(packages)))
    in_packages = {path.partition("/")[2] for path in tracked if not path.startswith("tests/")}

    assert {"perfledger", "perfledger_service", "perfledger_templates"} <= packages
    assert in_packages <= names
    assert {f"{package}/py.typed" for package in packages} <= names


@pytest.mark.slow
def test_an_index_would_take_the_metadata_and_the_licences_are_inside(wheel):
    with ZipFile(wheel) as archive:
        [name] = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(name)
    metadata = Metadata.from_email(text, validate=True)
    licences = {
        f"{name.removesuffix('METADATA')}licenses/{file}" for file in metadata.license_files
    }

    assert str(metadata.license_expression) == "Apache-2.0 AND MIT AND 0BSD"
    assert len(licences) == 3
    assert licences <= names_in(wheel)
    assert metadata.description_content_type == "text/markdown"
    assert (metadata.description or "").startswith("# perfledger")
    assert not BytesParser().parsebytes(text).defects


@pytest.mark.slow(ci_only=True)
def test_the_source_distribution_has_every_tracked_file(sdist):
    files = {str(path.relative_to(sdist)) for path in sdist.rglob("*") if path.is_file()}

    assert tracked_files() - files == set()


@pytest.mark.slow(ci_only=True)
def test_the_source_distribution_makes_the_same_wheel_and_runs_its_tests(wheel, sdist, tmp_path):
    second = build("wheel", tmp_path / "wheel", tree=sdist)
    programs = install(second, tmp_path / "venv")
    tests = ["tests/test_docstrings.py", "tests/cost_models/prices", "tests/service/settings"]
    done = subprocess.run(
        [programs / "python", "-m", "pytest", "-q", "-n", "0", "-m", "not slow", *tests],
        cwd=sdist,
        capture_output=True,
        text=True,
        check=False,
    )

    assert names_in(second) == names_in(wheel)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.slow(ci_only=True)
def test_the_wheel_alone_checks_a_project_elsewhere(installed, user_variables, tmp_path):
    project = tmp_path / "project"
    project.mkdir()

    def run(*command, codes=(0,)):
        done = subprocess.run(
            command, cwd=project, env=user_variables, capture_output=True, text=True, check=False
        )
        assert done.returncode in codes, done.stdout + done.stderr
        return done.stdout

    run("git", "init", "-q")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.example")
    where = "import perfledger, perfledger_service as s; print(perfledger.__file__, s.__file__)"
    for path in run("python", "-c", where).split():
        assert Path(path).is_relative_to(installed.parent)
    assert re.fullmatch(r"perfledger \d+[.]\d+[.]\d+\n", run("perfledger", "--version"))
    run("perfledger", "init")
    run("git", "add", "-A")
    run(*git, "commit", "-qm", "workloads")
    # Undecided, or unchanged already: a short check of the same code on any machine.
    options = ("--base", "HEAD", "--budget", "2s", "--json")
    report = run("perfledger", "check", *options, codes=(0, 3))
    run("perfledger", "server", "db", "upgrade")

    assert json.loads(report)["workloads"]
    assert json.loads(run("perfledger", "prices", "list", "--json"))


@contextmanager
def running_service(environment, folder):
    """Run the service on a free port until the end; yield its address."""
    log = folder / "service.log"
    with log.open("w", encoding="utf-8") as output:
        service = subprocess.Popen(
            ["perfledger", "server", "run", "--port", "0"],
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
        )
        try:
            lines = iter(service.stdout.readline, "")
            line = next((each for each in lines if "http://" in each), "")
            assert line, log.read_text(encoding="utf-8")
            yield re.findall(r"http://[\w.:]+", line)[0]
        finally:
            service.terminate()
            service.communicate()


@pytest.mark.slow(ci_only=True)
def test_the_wheel_alone_serves_its_pages_and_their_files(user_variables, tmp_path):
    upgrade = ["perfledger", "server", "db", "upgrade"]
    subprocess.run(upgrade, env=user_variables, cwd=tmp_path, check=True, capture_output=True)

    with running_service(user_variables, tmp_path) as address:
        statuses = {path: status_of(address + path) for path in ("/healthz", "/readyz", "/")}
        files = ("perfledger.css", "vendor/uPlot.iife.min.js")
        statuses |= {name: status_of(f"{address}/static/{name}") for name in files}

    assert set(statuses.values()) == {200}, statuses


def status_of(address):
    try:
        with urlopen(address) as answer:
            return answer.status
    except HTTPError as error:
        return error.code
