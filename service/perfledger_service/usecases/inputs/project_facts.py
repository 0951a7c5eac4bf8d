"""Inspects a repository, to write files that fit it."""

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from shutil import which

import msgspec

from perfledger.records import Framework
from perfledger_runners.checkouts.git import GitFailedError, RepositoryError, git
from perfledger_runners.checkouts.missing_content import ATTRIBUTES
from perfledger_runners.checkouts.package_layout import ASIDE, is_within
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.source_tree import read_source_tree
from perfledger_runners.checkouts.untracked_files import ENVIRONMENT_MARKS
from perfledger_runners.children.interpreter import environment_python
from perfledger_runners.environments.missing_modules import missing_modules
from perfledger_service.values.project_facts import (
    BenchmarkTool,
    EnvironmentManager,
    ProjectFacts,
)

# Enough to see what a repository imports.
MAX_FILES = 3000
# The beginning of each Python file in which `init` looks for a framework.
MAX_SOURCE_BYTES = 200_000
BENCHMARK_FOLDER = "benchmarks"
# Folders of benchmarks that other tools run: no packages of the product, even with __init__.py.
BENCHMARK_FOLDERS = frozenset({BENCHMARK_FOLDER, "benchmark", "bench", "asv_bench"})
IMPORTS = {
    Framework.TORCH: re.compile(r"^\s*(?:import|from)\s+(?:torch|lightning)\b", re.MULTILINE),
    Framework.JAX: re.compile(r"^\s*(?:import|from)\s+(?:jax|flax|equinox)\b", re.MULTILINE),
}
# For a project whose files import none yet. `pip install "jax[cuda12]"` and "torch==2.13.0" count.
REQUIREMENTS = {
    **dict.fromkeys(("torch", "lightning", "pytorch-lightning"), Framework.TORCH),
    **dict.fromkeys(("jax", "flax", "equinox"), Framework.JAX),
}
REQUIREMENT_NAME = re.compile(r"\s*([A-Za-z0-9._-]+)")
WORKLOADS = re.compile(r"^\s*(?:import|from)\s+perfledger\b", re.MULTILINE)
PYTEST_BENCHMARK = re.compile(
    r"^\s*def test_\w+\([^)]*\bbenchmark\b|\bpytest\.mark\.benchmark\b", re.MULTILINE
)
TEST_FILE = re.compile(r"(?:^|/)(?:conftest|test_\w+|\w+_test)\.py$")
ENVIRONMENT = ".venv"
# Environments that do not ignore themselves.
PLAIN_MANAGERS = frozenset({EnvironmentManager.PIP, EnvironmentManager.CONDA})
# In pyvenv.cfg: what the environment's own Python has installed is there, too.
INHERITS = re.compile(r"^include-system-site-packages\s*=\s*true", re.MULTILINE | re.IGNORECASE)
NO_LITERAL_PATHS = {"GIT_LITERAL_PATHSPECS": "0"}  # refused by check-ignore
NOT_IGNORED = 1  # the exit status of `git check-ignore`
PROJECT_TABLE = re.compile(rb"^\[(?:project|build-system|tool\.poetry)\]", re.MULTILINE)


LFS_FILTER = "filter=lfs"  # in git's attributes
# The first existing file decides: a lock file says more than a list of requirements.
MANAGER_FILES = {
    "uv.lock": EnvironmentManager.UV,
    "poetry.lock": EnvironmentManager.POETRY,
    "pdm.lock": EnvironmentManager.PDM,
    "pixi.lock": EnvironmentManager.PIXI,
    "environment.yml": EnvironmentManager.CONDA,
    "environment.yaml": EnvironmentManager.CONDA,
}


class _Project(msgspec.Struct):
    dependencies: list[str] = []


class _Pyproject(msgspec.Struct):
    project: _Project = msgspec.field(default_factory=_Project)


def read_project_facts(root: Path) -> ProjectFacts:
    """Read the repository's files without running any of them; ask its environment what it has.

    The framework, packages and benchmarks come from the tracked files; without a commit they are
    unknown.
    """
    paths, packages = _tracked_paths(root)
    texts = _texts(root, paths)
    benchmarks = {
        path: text for path, text in texts.items() if path.startswith(f"{BENCHMARK_FOLDER}/")
    }
    manager_file = next((name for name in MANAGER_FILES if (root / name).is_file()), "")
    manager = MANAGER_FILES.get(manager_file, EnvironmentManager.PIP)
    framework = _framework(root, _product_files(texts))
    return ProjectFacts(
        framework=framework,
        packages=packages,
        manager=manager,
        has_manager=manager is EnvironmentManager.PIP or which(manager) is not None,
        has_profile_reader=framework is not Framework.JAX or find_spec("jax") is not None,
        manager_file=manager_file,
        has_requirements=(root / "requirements.txt").is_file(),
        is_installable=_is_installable(root),
        benchmark_tools=_benchmark_tools(paths, texts),
        has_workloads=any(map(WORKLOADS.search, benchmarks.values())),
        has_other_benchmarks=not all(map(WORKLOADS.search, benchmarks.values())),
        has_environment=environment_python(root / ENVIRONMENT).exists(),
        missing_modules=_missing_modules(root, texts, packages),
        has_large_files=any(
            LFS_FILTER in _beginning(root / path)
            for path in paths
            if PurePosixPath(path).name == ATTRIBUTES
        ),
        unignored_environments=_unignored_environments(
            root, usual=(ENVIRONMENT,) if manager in PLAIN_MANAGERS else ()
        ),
    )


def _tracked_paths(root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tracked paths and the names of the repository's own top-level packages."""
    try:
        repository = Repository.open(root)
        tree = read_source_tree(repository, repository.resolve("HEAD").sha, import_paths=())
    except RepositoryError:
        return (), ()
    names = (
        each.name
        for each in tree.packages
        if each.root and "." not in each.name and not each.folder.endswith(".py")
    )
    packages = (
        name
        for name in names
        if name not in ASIDE | BENCHMARK_FOLDERS and not name.endswith("_tests")
    )
    return tuple(tree.hashes), tuple(sorted(set(packages)))


def _missing_modules(
    root: Path, texts: Mapping[str, str], packages: Collection[str]
) -> Mapping[str, str]:
    """Return the modules that packages and benchmarks import and their environment lacks."""
    python = environment_python(root / ENVIRONMENT)
    if not python.exists():
        return {}
    places = BENCHMARK_FOLDERS.union(packages)
    measured = {
        path: text
        for path, text in texts.items()
        if PYTEST_BENCHMARK.search(text)
        or (is_within(path, places) and not (is_within(path, ASIDE) or TEST_FILE.search(path)))
    }
    return missing_modules(python, measured, paths=texts)


def _unignored_environments(root: Path, *, usual: Iterable[str]) -> tuple[str, ...]:
    """Return the environments in the top folder that git does not ignore.

    `usual` are those that may be created later, if missing.
    """
    environments = (
        path.name
        for path in sorted(root.iterdir())
        if any(Path(f"{path}{mark}").is_file() for mark in ENVIRONMENT_MARKS)
    )
    return tuple(
        name for name in dict.fromkeys((*usual, *environments)) if _is_unignored(root, name)
    )


def _is_unignored(root: Path, folder: str) -> bool:
    """Return whether git would add a folder's content; False outside of a repository."""
    path = f"./{folder}{ENVIRONMENT_MARKS[0]}"
    try:
        git(root, "check-ignore", "--quiet", "--", path, environment=NO_LITERAL_PATHS)
    except GitFailedError as error:
        return error.status == NOT_IGNORED
    except RepositoryError:
        return False
    return False


def _texts(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return the first bytes of each Python file."""
    texts: dict[str, str] = {}
    for path in [path for path in paths if path.endswith(".py")][:MAX_FILES]:
        texts[path] = _beginning(root / path)  # "" if it was deleted or is a broken link
    return texts


def _product_files(texts: Mapping[str, str]) -> Collection[str]:
    """Return the files that are not tests or examples, which may use any framework; else all."""
    measured = [text for path, text in texts.items() if not is_within(path, ASIDE)]
    return measured or texts.values()


def _framework(root: Path, texts: Collection[str]) -> Framework:
    """Return the framework that the files import, or else the one that the project requires.

    One that a project with a list of requirements does not require, and that its environment here
    does not have, is for an optional part of it: an example could not import it.
    """
    imported, required = _imported_framework(texts), _required_framework(root)
    if imported is None or imported is required:
        return required
    is_optional = any(map(REQUIREMENT_NAME.match, _requirements(root)))
    return required if is_optional and _lacks(root / ENVIRONMENT, imported) else imported


def _lacks(environment: Path, framework: Framework) -> bool:
    """Return whether an environment is there, but without the framework."""
    try:
        settings = (environment / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    is_installed = any(environment.glob(f"lib*/python*/site-packages/{framework}"))
    return not (is_installed or INHERITS.search(settings))


def _imported_framework(texts: Collection[str]) -> Framework | None:
    """Return the framework imported by most files, None if none imports one."""
    counts = {
        framework: sum(pattern.search(text) is not None for text in texts)
        for framework, pattern in IMPORTS.items()
    }
    most = max(counts, key=counts.__getitem__)
    return most if counts[most] else None


def _required_framework(root: Path) -> Framework:
    """Return the first framework that the project requires, HOST if it requires none."""
    names = (match[1] for each in _requirements(root) if (match := REQUIREMENT_NAME.match(each)))
    frameworks = (REQUIREMENTS.get(name.lower().replace("_", "-")) for name in names)
    return next((each for each in frameworks if each is not None), Framework.HOST)


def _requirements(root: Path) -> Iterable[str]:
    """Return the requirements of pyproject.toml and requirements.txt that can be read."""
    project = _Project()
    with suppress(msgspec.DecodeError):
        project = msgspec.toml.decode(_beginning(root / "pyproject.toml"), type=_Pyproject).project
    lines = _beginning(root / "requirements.txt").splitlines()
    return (*project.dependencies, *lines)


def _beginning(path: Path) -> str:
    """Return the first MAX_SOURCE_BYTES of a file as text, "" if there is no such file."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(MAX_SOURCE_BYTES).decode(errors="replace")


def _is_installable(root: Path) -> bool:
    project = root / "pyproject.toml"
    if project.is_file():
        return PROJECT_TABLE.search(project.read_bytes()) is not None
    return (root / "setup.py").is_file()


def _benchmark_tools(paths: Iterable[str], texts: Mapping[str, str]) -> tuple[BenchmarkTool, ...]:
    has_asv = any(PurePosixPath(path).name.startswith("asv.conf") for path in paths)
    has_pytest = any(map(PYTEST_BENCHMARK.search, texts.values()))
    tools = ((BenchmarkTool.ASV, has_asv), (BenchmarkTool.PYTEST, has_pytest))
    return tuple(tool for tool, is_used in tools if is_used)
