"""Describes a repository, as far as its files show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from perfledger.records import Framework


class BenchmarkTool(StrEnum):
    """A tool whose benchmarks a repository may already have."""

    ASV = "asv"
    PYTEST = "pytest-benchmark"


class EnvironmentManager(StrEnum):
    """The tool that makes a repository's environment, as its files show."""

    UV = "uv"
    POETRY = "poetry"
    PDM = "pdm"
    PIXI = "pixi"
    CONDA = "conda"
    PIP = "pip"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFacts:
    """A repository's framework, packages, environment and benchmarks."""

    framework: Framework = Framework.HOST
    packages: tuple[str, ...] = ()  # its own
    manager: EnvironmentManager = EnvironmentManager.PIP
    has_manager: bool = True  # its program is on PATH here
    has_profile_reader: bool = True  # perfledger's own Python can read the framework's profiles
    manager_file: str = ""  # that names the environment's packages, unless pip reads them
    has_requirements: bool = False  # a requirements.txt
    is_installable: bool = False  # by `pip install .`
    benchmark_tools: tuple[BenchmarkTool, ...] = ()
    has_workloads: bool = False  # registered with perfledger, in its folder of benchmarks
    has_other_benchmarks: bool = False  # Python files in that folder without a workload
    has_environment: bool = False  # a .venv
    # That its code imports and this .venv does not have → the first file that imports it.
    missing_modules: Mapping[str, str] = field(default_factory=dict[str, str])
    has_large_files: bool = False  # in Git LFS
    unignored_environments: tuple[str, ...] = ()  # that `git add` would add


@dataclass(frozen=True, slots=True)
class SetupFile:
    """One file of the set-up; `is_new` is False if the user's own files at `path` were kept."""

    path: str
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The files of a set-up, and what the repository is made of."""

    root: Path
    facts: ProjectFacts
    files: tuple[SetupFile, ...]
