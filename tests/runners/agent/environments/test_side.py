"""Real virtual environments of this interpreter; nothing is downloaded."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from perfledger_runners.children.interpreter import Interpreter
from perfledger_runners.environments.build import BuildError
from perfledger_runners.environments.cache import EnvironmentCache
from perfledger_runners.environments.side import (
    BuildRequest,
    environment_distributions,
    installer_variables,
    side_environment,
)

INSTALL = 'mkdir -p "$SITE/mypkg" && cp mypkg.py "$SITE/mypkg/__init__.py" && echo run >> runs'
# Of the environment that is active.
SITE = "SITE=$(python -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')"


@pytest.fixture
def cache(tmp_path):
    return EnvironmentCache(folder=tmp_path / "cache")


@pytest.fixture
def checkout(tmp_path):
    """Return a function that makes a new folder with a module that says this."""
    count = 0

    def make(text="first"):
        nonlocal count
        count += 1
        folder = tmp_path / f"checkout{count}"
        folder.mkdir()
        (folder / "mypkg.py").write_text(f"TEXT = {text!r}")
        return folder

    return make


def request_of(command, sources="1", **environment):
    return BuildRequest(
        command=f"{SITE} && {command}",
        sources=sources,
        interpreter=Interpreter(Path(sys.executable), sys.version_info[:3]),
        environment={"PATH": os.environ["PATH"], **environment},
        timeout_s=600.0,
    )


def run(venv, program):
    python = str(venv / "bin" / "python")
    return subprocess.run(
        [python, "-P", "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_side_has_its_own_packages_and_inherits_the_users(cache, checkout):
    with side_environment(cache, request_of(INSTALL), checkout()) as venv:
        program = "import msgspec, mypkg, sys; print(mypkg.TEXT, mypkg.__file__, sys.prefix)"
        text, file, prefix = run(venv, program).split()

    assert text == "first"
    assert Path(file).is_relative_to(venv)
    assert Path(prefix) == venv
    assert Path(venv).is_relative_to(cache.folder)


@pytest.mark.slow(ci_only=True)
def test_two_sides_have_two_environments(cache, checkout):
    with (
        side_environment(cache, request_of(INSTALL, "1"), checkout("base")) as base,
        side_environment(cache, request_of(INSTALL, "2"), checkout("head")) as head,
    ):
        texts = [run(each, "import mypkg; print(mypkg.TEXT)") for each in (base, head)]

    assert texts == ["base", "head"]


def test_the_second_check_finds_the_environment_and_the_files_beside_the_sources(cache, checkout):
    first, second = checkout(), checkout()
    with side_environment(cache, request_of(f"{INSTALL} && ln -s runs link"), first):
        pass
    with side_environment(cache, request_of(f"{INSTALL} && ln -s runs link"), second) as venv:
        assert run(venv, "import mypkg; print(mypkg.TEXT)") == "first"

    assert (second / "runs").read_text() == "run\n"
    assert (second / "link").is_symlink()


@pytest.mark.slow(ci_only=True)
def test_other_inputs_are_built_anew(cache, checkout):
    changes = (
        {},
        {"sources": "2"},
        {"CC": "cc2"},
        {"CFLAGS": "-O0"},
        {"PIP_INDEX_URL": "https://b.example"},
    )
    for change in changes:
        with side_environment(cache, request_of(INSTALL, **change), checkout(str(change))) as venv:
            assert f"TEXT = {str(change)!r}" in next(venv.rglob("mypkg/__init__.py")).read_text()


def test_an_editable_install_is_not_kept_because_its_checkout_will_be_gone(cache, checkout):
    with side_environment(cache, request_of('pwd > "$SITE/mine.pth"'), checkout()) as venv:
        assert run(venv, "import mypkg; print(mypkg.TEXT)") == "first"

    assert [path for path in cache.folder.iterdir() if path.is_dir()] == []


def test_a_failed_build_leaves_nothing_and_its_output_is_said(cache, checkout):
    with (
        pytest.raises(BuildError, match="exit status 3") as caught,
        side_environment(cache, request_of("echo no nvcc; exit 3"), checkout()),
    ):
        pytest.fail("there is no environment")

    assert caught.value.output == "no nvcc\n"
    assert [path for path in cache.folder.iterdir() if path.is_dir()] == []


def test_a_failed_build_says_which_variables_it_did_not_get(cache, checkout):
    request = request_of("exit 3", GITLAB_TOKEN="canary")
    with (
        pytest.raises(BuildError) as caught,
        side_environment(cache, request, checkout()),
    ):
        pytest.fail("there is no environment")

    assert "not passed on: GITLAB_TOKEN" in caught.value.output
    assert "canary" not in caught.value.output


def test_a_named_variable_reaches_the_build_and_is_one_of_its_inputs(cache, checkout):
    command = 'echo "$MY_OPTION" > option'
    for value in ("a", "b"):
        request = replace(request_of(command, MY_OPTION=value), variable_names=("MY_OPTION",))
        with side_environment(cache, request, folder := checkout()):
            assert (folder / "option").read_text() == f"{value}\n"


def test_a_broken_interpreter_is_a_failed_build(cache, checkout):
    request = BuildRequest(
        command="true",
        sources="1",
        interpreter=Interpreter(Path("/bin/false"), (3, 11, 0)),
        environment={},
        timeout_s=9.0,
    )
    with (
        pytest.raises(BuildError, match="could not make a virtual environment"),
        side_environment(cache, request, checkout()),
    ):
        pytest.fail("there is no environment")


@pytest.mark.slow(ci_only=True)
def test_pip_of_the_environment_is_the_users_and_installs_into_it(cache, checkout):
    with side_environment(cache, request_of("pip --version > version"), folder := checkout()):
        pass

    assert "pip" in (folder / "version").read_text()


def test_installers_are_led_to_the_environment_and_see_no_credentials():
    environment = {
        "PATH": "/usr/bin",
        "PIP_TARGET": "/elsewhere",
        "PYTHONHOME": "/usr",
        "CONDA_DEFAULT_ENV": "base",  # Poetry would install beside this environment
        "PDM_USE_VENV": "0",
        "GITHUB_TOKEN": "secret",
        "PIP_INDEX_URL": "https://index.example",
    }

    request = replace(request_of("true"), environment=environment)
    variables = installer_variables(Path("/cache/venv"), request)

    assert variables["PATH"] == "/cache/venv/bin:/usr/bin"
    assert variables["VIRTUAL_ENV"] == variables["UV_PROJECT_ENVIRONMENT"] == "/cache/venv"
    assert variables["PIP_INDEX_URL"] == "https://index.example"
    assert variables["PDM_IGNORE_SAVED_PYTHON"] == variables["PDM_USE_VENV"] == "1"
    misleading = {"PIP_TARGET", "PYTHONHOME", "CONDA_DEFAULT_ENV", "GITHUB_TOKEN"}
    assert not misleading & variables.keys()


def test_an_environment_imports_its_own_distributions_before_inherited_ones(cache, checkout):
    request = request_of('mkdir "$SITE/My_Own.thing-1.dist-info" "$SITE/msgspec-0.0.dist-info"')
    with side_environment(cache, request, checkout()) as venv:
        distributions = environment_distributions(venv, request)

    assert distributions.built == {"my-own-thing": "1", "msgspec": "0.0"}
    assert distributions.inherited["msgspec"] != "0.0"
    assert distributions.importable["msgspec"] == "0.0"
    assert "pytest" in distributions.importable


def test_the_commits_of_distributions_tell_equal_versions_apart(cache, checkout):
    sources = {
        "mine": '{"url": "file:///checkout", "dir_info": {}}',
        "gitdep": '{"url": "https://a.test/b.git", "vcs_info": {"commit_id": "abcdef0123456789"}}',
        "zipdep": '{"url": "https://a.test/b.zip", "archive_info": {"hash": "sha256=0123"}}',
        "broken": "{",
    }
    folder = "$SITE/NAME-1.dist-info"
    commands = [
        f"mkdir {folder} && echo '{text}' > {folder}/direct_url.json".replace("NAME", name)
        for name, text in sources.items()
    ]
    with side_environment(cache, request := request_of(" && ".join(commands)), checkout()) as venv:
        distributions = environment_distributions(venv, request)

    assert distributions.of_files == {"mine"}
    assert {name: distributions.importable[name] for name in sources} == {
        "mine": "1",
        "gitdep": "1 (abcdef012345)",
        "zipdep": "1 (0123)",
        "broken": "1",
    }


REPLACED = f'rm -rf "$VIRTUAL_ENV" && {sys.executable} -m venv --without-pip '


def test_an_environment_of_conda_that_takes_its_place_inherits_nothing(cache, checkout):
    record = (
        'mkdir "$VIRTUAL_ENV/conda-meta" && touch "$VIRTUAL_ENV/conda-meta/a-b-2024.1-h1_0.json"'
    )
    request = request_of(f'{REPLACED} "$VIRTUAL_ENV" && {record} && echo run >> runs')

    for folder in (checkout(), checkout()):  # built, and from the cache
        with side_environment(cache, request, folder) as venv:
            distributions = environment_distributions(venv, request)

        assert distributions.importable == {"a-b": "2024.1"}
        assert (folder / "runs").read_text() == "run\n"


@pytest.mark.slow(ci_only=True)
def test_an_environment_that_is_in_the_checkout_is_not_kept(cache, checkout):
    place = '"$PWD"/.pixi/envs/default'
    request = request_of(f'{REPLACED} {place} && ln -s {place} "$VIRTUAL_ENV" && touch {place}/it')

    for _ in range(2):
        with side_environment(cache, request, folder := checkout()) as venv:
            assert run(venv, "import sys; print(sys.prefix)").strip() == str(venv)
            assert (venv / "it").samefile(folder / ".pixi" / "envs" / "default" / "it")
