"""Writes the files that make a repository measurable."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.repository import Repository
from perfledger_service.rendering.check.init import (
    configuration_text,
    example_text,
    workflow_text,
)
from perfledger_service.usecases.inputs.project_facts import BENCHMARK_FOLDER, read_project_facts
from perfledger_service.usecases.inputs.repository_config import configured_table, root_of
from perfledger_service.values.project_facts import ProjectFacts

WORKFLOW = ".github/workflows/perfledger.yml"
# Where the usual folder has benchmarks of other tools: they must not be imported, and a package of
# that name inside it, as asv lays it out, would hide a folder beside it.
OTHER_FOLDER = "workloads"
USUAL_BRANCH = "main"


@dataclass(frozen=True, slots=True)
class SetupFile:
    """One file of the set-up; `is_new` is False if the user's own file was kept."""

    path: str
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The files of a set-up, and what the repository is made of."""

    root: Path
    facts: ProjectFacts
    files: tuple[SetupFile, ...]


def write_setup(folder: Path) -> Setup:
    """Write a configuration, an example workload and a workflow into the repository of `folder`.

    Existing files are never changed: a file of the same name, a configuration table in
    pyproject.toml, or a folder that already contains workloads.
    """
    root = root_of(folder)
    facts = read_project_facts(root)
    workloads = OTHER_FOLDER if _is_taken(facts) else BENCHMARK_FOLDER
    example = f"{workloads}/example.py"
    texts: dict[str, Callable[[], str]] = {
        "perfledger.toml": lambda: configuration_text(facts, folder=workloads),
        example: lambda: example_text(facts),
        WORKFLOW: lambda: workflow_text(facts, default_branch=_default_branch(root)),
    }
    present = {
        "perfledger.toml": configured_table(root) is not None,
        example: any((root / workloads).glob("*.py")),
    }
    written: list[SetupFile] = []
    for path, text in texts.items():
        target = root / path
        is_new = not (present.get(path, False) or target.exists())
        if is_new:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text(), encoding="utf-8")
        written.append(SetupFile(path, is_new))
    return Setup(root=root, facts=facts, files=tuple(written))


def _is_taken(facts: ProjectFacts) -> bool:
    """Return whether the usual folder has only files that register no workload."""
    return facts.has_other_benchmarks and not facts.has_workloads


def _default_branch(root: Path) -> str:
    try:
        return Repository.open(root).default_branch().removeprefix("origin/")
    except RepositoryError:
        return USUAL_BRANCH
