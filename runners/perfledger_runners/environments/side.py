"""Builds a virtual environment for one side of a check."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from perfledger.records import SHORT_SHA_DIGITS
from perfledger_runners.children.child_guard import NO_GUARD, ChildGuard
from perfledger_runners.children.child_variables import (
    build_variables,
    child_variables,
    withheld_note,
)
from perfledger_runners.children.interpreter import (
    Interpreter,
    activation,
    environment_python,
    package_folders,
)
from perfledger_runners.environments.build import BuildError, run_build
from perfledger_runners.environments.cache import EnvironmentCache, built_at
from perfledger_runners.environments.installed_packages import (
    conda_packages,
    distribution_contents,
    distribution_records,
    distribution_versions,
    installed_packages,
    name_and_version,
)

VENV = "venv"
OUTPUTS = "outputs"  # the files that the build wrote into its checkout
LOG = "build.log"
INHERIT_FILE = "perfledger_inherited.pth"
DIRECT_URL_FILE = "direct_url.json"
TOOL_TIMEOUT_S = 300.0  # for pip or another command that describes an environment
# Larger build outputs in the checkout are rebuilt each time.
MAX_OUTPUT_BYTES = 4 * 2**30
# The variables of a step that change the result of building the same sources.
COMPILER_VARIABLES = ("CC", "CXX", "CUDA_HOME", "CUDACXX", "NVCC_FLAGS", "TORCH_CUDA_ARCH_LIST")
SITE_PROGRAM = """
import json, os, sys
names = ("site-packages", "dist-packages")
print(json.dumps([path for path in sys.path if os.path.basename(path) in names]))
"""
# The user's pip, which is inherited, else the bundled one.
PIP_SCRIPT = """#!/bin/sh
"{0}" -c 'import pip' 2>/dev/null || "{0}" -m ensurepip || exit
exec "{0}" -m pip "$@"
"""
# Variables that would make a user's pip, Poetry or PDM install elsewhere.
MISLEADING = (
    *("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PYTHONHOME", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"),
    *("PDM_IGNORE_ACTIVE_VENV", "PDM_PYTHON", "PDM_PROJECT"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """A build: a checkout of the sources with this digest, and its command."""

    command: str
    sources: str  # the digest of all files of the commit
    interpreter: Interpreter
    environment: Mapping[str, str]
    timeout_s: float
    variable_names: tuple[str, ...] = ()  # of the setting `env`
    guard: ChildGuard = NO_GUARD


@contextmanager
def side_environment(
    cache: EnvironmentCache, request: BuildRequest, checkout: Path, *, is_renewed: bool = False
) -> Generator[Path]:
    """Provide the virtual environment that the command makes from the checkout.

    It inherits the packages of the user's interpreter, after its own, unless the command replaces
    it with a conda environment. If the environment comes from the cache, what its build wrote into
    the checkout is restored there. Raises BuildError.
    """
    inherited = site_folders(request.interpreter.path, request.environment)

    def build(entry: Path) -> bool:
        _make_venv(entry / VENV, request, inherited)
        before = _files(checkout)
        variables = installer_variables(entry / VENV, request)
        try:
            run_build(
                request.command,
                checkout=checkout,
                environment=variables,
                log=entry / LOG,
                timeout_s=request.timeout_s,
                guard=request.guard,
            )
        except BuildError as error:
            note = withheld_note(request.environment, variables)
            output = f"{error.output}{note}"
            raise BuildError(str(error), output=output, has_hung=error.has_hung) from error
        if _points_into(entry / VENV, checkout):
            return False
        return _keep_outputs(checkout, before, entry / OUTPUTS)

    is_new = False

    def build_now(entry: Path) -> bool:
        nonlocal is_new
        is_new = True
        return build(entry)

    with cache.entry(_key(request, inherited), build_now, is_renewed=is_renewed) as entry:
        if not is_new and (entry / OUTPUTS).is_dir():
            shutil.copytree(entry / OUTPUTS, checkout, symlinks=True, dirs_exist_ok=True)
        yield entry / VENV


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDistributions:
    """The versions of an environment's own packages and of inherited ones, by name.

    `of_files` are the names of those installed from files, as the checkout's own are, and `commits`
    the commits or hashes of those from a repository or an address. `contents` has a digest of the
    files of those that were built, if their installer has listed them.
    """

    built: Mapping[str, str]
    inherited: Mapping[str, str]
    of_files: frozenset[str] = frozenset()
    commits: Mapping[str, str] = field(default_factory=dict[str, str])
    contents: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def importable(self) -> Mapping[str, str]:
        """Return the versions that its interpreter imports, with their commits if known."""
        versions = {**self.inherited, **self.built}
        return {
            name: f"{version} ({self.commits[name]})" if name in self.commits else version
            for name, version in versions.items()
        }


def environment_distributions(venv: Path, request: BuildRequest) -> EnvironmentDistributions:
    """Return the distributions of an environment by their names in uv.lock.

    In a conda environment they include non-Python packages. Raises BuildError.
    """
    named = filter(None, request.environment.get("PYTHONPATH", "").split(os.pathsep))
    own_folders = package_folders(venv)
    is_heir = any(Path(folder, INHERIT_FILE).is_file() for folder in own_folders)
    users = site_folders(request.interpreter.path, request.environment) if is_heir else ()
    sources = _direct_sources(own_folders)
    return EnvironmentDistributions(
        built={**conda_packages(venv), **distribution_versions(own_folders)},
        inherited=distribution_versions((*named, *users)),
        of_files=frozenset(name for name, commit in sources.items() if not commit),
        commits={name: commit for name, commit in sources.items() if commit},
        contents=distribution_contents(own_folders),
    )


def side_packages(environment: str, python: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Return what a side's processes can import: versions and digests of packages by name.

    `environment` is the folder of the side's own environment, "" without one; `python` is the
    user's. Raises BuildError.
    """
    built = [Path(environment)] if environment else []
    named = filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))
    own_folders = (folder for each in built for folder in package_folders(each))
    folders = (*own_folders, *named, *site_folders(python, variables))
    return installed_packages(folders, (*built, python.parent.parent))


def site_folders(python: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders of an interpreter's installed packages. Raises BuildError."""
    output = _ask(python, environment, "-E", "-c", SITE_PROGRAM)
    try:
        return tuple(map(str, cast("list[object]", json.loads(output.splitlines()[-1]))))
    except (ValueError, IndexError) as error:
        msg = f"{python} does not name its folders of packages"
        raise BuildError(msg) from error


def environment_time(venv: Path) -> float:
    """Return when an environment was built; infinity if no other check can use it."""
    return built_at(venv.parent)


def installer_variables(venv: Path, request: BuildRequest) -> dict[str, str]:
    """Return the variables that make installers install into the virtual environment."""
    variables = build_variables(request.environment, named=request.variable_names)
    for name in MISLEADING:
        variables.pop(name, None)
    return {
        **variables,
        **activation(venv, variables),
        "UV_PROJECT_ENVIRONMENT": str(venv),
        "PDM_IGNORE_SAVED_PYTHON": "1",  # a repository may contain a .pdm-python
        "PDM_USE_VENV": "1",
        "PIP_USER": "0",
        "PIP_NO_INPUT": "1",
        "PIP_REQUIRE_VIRTUALENV": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def _key(request: BuildRequest, inherited: tuple[str, ...]) -> str:
    """Return the hash of everything that affects a build's result."""
    installed = [
        sorted(path.name for path in Path(folder).glob("*.dist-info")) for folder in inherited
    ]
    compilers = {name: request.environment.get(name, "") for name in COMPILER_VARIABLES}
    received = build_variables(request.environment, named=request.variable_names)
    of_steps = child_variables(request.environment)
    inputs = {
        "sources": request.sources,
        "command": request.command,
        "python": [str(request.interpreter.path.absolute()), list(request.interpreter.version)],
        "machine": platform.machine(),
        "installed": [list(inherited), installed],
        "compilers": compilers,
        "variables": {name: value for name, value in received.items() if name not in of_steps},
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:32]


def _make_venv(venv: Path, request: BuildRequest, inherited: tuple[str, ...]) -> None:
    make = ("-E", "-m", "venv", "--without-pip", str(venv))
    _ask(request.interpreter.path, request.environment, *make)
    own_folders = package_folders(venv)
    if not own_folders:
        msg = f"{request.interpreter.path} made no usable virtual environment"
        raise BuildError(msg)
    # addsitedir also follows the .pth files of the inherited folders.
    lines = (f"import site; site.addsitedir({folder!r})" for folder in inherited)
    Path(own_folders[0], INHERIT_FILE).write_text("\n".join([*lines, ""]), encoding="utf-8")
    for name in ("pip", "pip3"):
        script = venv / "bin" / name
        script.write_text(PIP_SCRIPT.format(environment_python(venv)), encoding="utf-8")
        script.chmod(0o755)


def _ask(python: Path, environment: Mapping[str, str], *arguments: str) -> str:
    """Run the user's Python, including its installed start-up code, and return its output."""
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that the user configured
            [str(python), *arguments],
            env=child_variables(environment),
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=TOOL_TIMEOUT_S,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        msg = f"{python} could not make a virtual environment"
        raise BuildError(msg, output=str(error.stderr)) from error
    except (OSError, subprocess.SubprocessError) as error:
        msg = f"{python} could not make a virtual environment: {error}"
        raise BuildError(msg) from error
    return done.stdout


def _direct_sources(folders: Iterable[str]) -> dict[str, str]:
    """Return the commits or hashes of distributions from addresses, "" for those from files.

    Installers record them: https://packaging.python.org/en/latest/specifications/direct-url/
    """
    sources: dict[str, str] = {}
    for record in distribution_records(folders):
        try:
            facts = json.loads((record / DIRECT_URL_FILE).read_text(encoding="utf-8"))
            commit = facts["vcs_info"]["commit_id"] if "vcs_info" in facts else ""
            archive = facts.get("archive_info", {}).get("hash", "").rpartition("=")[2]
            is_of_files = not commit and facts["url"].startswith("file:")
            origin = "" if is_of_files else (commit or archive)
            if is_of_files or origin:
                sources[name_and_version(record)[0]] = str(origin)[:SHORT_SHA_DIGITS]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # from an index
            continue
    return sources


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the files below a folder, with their times and sizes."""
    files: dict[str, tuple[int, int]] = {}
    for here, folders, names in os.walk(folder):
        links = [name for name in folders if (Path(here) / name).is_symlink()]
        for name in (*names, *links):
            path = Path(here) / name
            facts = path.lstat()
            files[str(path.relative_to(folder))] = (facts.st_mtime_ns, facts.st_size)
    return files


def _keep_outputs(checkout: Path, before: Mapping[str, tuple[int, int]], outputs: Path) -> bool:
    """Copy what the build wrote into its checkout; return whether it is small enough to keep."""
    after = _files(checkout)
    written = {
        path: size for path, (time, size) in after.items() if before.get(path) != (time, size)
    }
    if sum(written.values()) > MAX_OUTPUT_BYTES:
        return False
    for path in written:
        target = outputs / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(checkout / path, target, follow_symlinks=False)
    return True


def _points_into(venv: Path, checkout: Path) -> bool:
    """Return whether all or part of an installation is in the checkout, which will be removed."""
    if venv.is_symlink():
        return True
    path_bytes = str(checkout).encode()
    files = (
        path
        for folder in package_folders(venv)
        for path in Path(folder).iterdir()
        if path.suffix in {".pth", ".py", ".egg-link"} and path.is_file()
    )
    return any(path_bytes in path.read_bytes() for path in files)
