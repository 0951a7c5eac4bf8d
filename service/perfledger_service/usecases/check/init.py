"""Writes the files that make a repository measurable."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.repository import Repository
from perfledger_service.errors import UsageError
from perfledger_service.rendering.check.init import (
    configuration_text,
    example_text,
    workflow_text,
)
from perfledger_service.settings.sources import check_settings
from perfledger_service.usecases.inputs.project_facts import BENCHMARK_FOLDER, read_project_facts
from perfledger_service.usecases.inputs.repository_config import configured_table, root_of
from perfledger_service.values.project_facts import ProjectFacts, Setup, SetupFile

WORKFLOW = ".github/workflows/perfledger.yml"
# Used if the usual folder holds another tool's benchmarks: these must not be imported, and a
# package of that name inside it (asv's layout) would hide a folder beside it.
OTHER_FOLDER = "workloads"
USUAL_BRANCH = "main"


def write_setup(folder: Path) -> Setup:
    """Write a configuration, an example workload and a workflow into the repository of `folder`.

    Existing files are never changed: a file of the same name, a configuration table in
    pyproject.toml, or a folder that already contains workloads. Raises UsageError for a folder that
    does not exist, SettingsError for a configuration that cannot be read.
    """
    if not folder.is_dir():
        msg = f"{folder} is not a folder: give the folder of a repository"
        raise UsageError(msg)
    root = root_of(folder)
    facts = read_project_facts(root)
    name, table = configured_table(root) or ("", None)
    paths = (_usual_folder(facts),) if table is None else _configured_paths(name, table)
    configuration = _write_file(
        root,
        "perfledger.toml",
        lambda: configuration_text(facts, folder=paths[0]),
        existing_path=name,
    )
    example = _write_file(
        root,
        paths[0] if paths[0].endswith(".py") else f"{paths[0]}/example.py",
        lambda: example_text(facts),
        existing_path=next((each for each in paths if _has_files(root / each)), ""),
    )
    branch = _default_branch(root)
    workflow = _write_file(root, WORKFLOW, lambda: workflow_text(facts, default_branch=branch))
    return Setup(root=root, facts=facts, files=(configuration, example, workflow))


def _write_file(
    root: Path, path: str, text: Callable[[], str], *, existing_path: str = ""
) -> SetupFile:
    """Write a file, unless it or `existing_path` exists.

    Raises UsageError if it cannot be written, or a link leads out of the repository.
    """
    target = root / path
    if existing_path or os.path.lexists(target):
        return SetupFile(path if os.path.lexists(target) else existing_path, is_new=False)
    if not target.resolve().is_relative_to(root.resolve()):
        msg = f"{path} points outside {root}: change the link, or `paths`, so that it does not"
        raise UsageError(msg)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text(), encoding="utf-8")
    except OSError as error:
        msg = f"cannot write {target}: {error.strerror}"
        raise UsageError(msg) from error
    return SetupFile(path, is_new=True)


def _usual_folder(facts: ProjectFacts) -> str:
    """Return the folder for workloads: another one if the usual one has only other files."""
    is_taken = facts.has_other_benchmarks and not facts.has_workloads
    return OTHER_FOLDER if is_taken else BENCHMARK_FOLDER


def _configured_paths(name: str, table: Mapping[str, object]) -> tuple[str, ...]:
    settings, _ = check_settings(flags={}, table=table, table_name=name)
    return settings.paths or (BENCHMARK_FOLDER,)


def _has_files(path: Path) -> bool:
    """Return whether this is a Python file, or a folder with some."""
    return path.is_file() if path.suffix == ".py" else any(path.glob("*.py"))


def _default_branch(root: Path) -> str:
    try:
        return Repository.open(root).default_branch().removeprefix("origin/")
    except RepositoryError:
        return USUAL_BRANCH
