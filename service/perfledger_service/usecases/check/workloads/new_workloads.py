"""Finds what base registers instead if all workloads of head are new."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from perfledger_runners.bundles.value_checks import MAX_WORD
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.measuring.discovery import Discovery
from perfledger_service.usecases.check.revisions import CheckConfiguration
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

# A few names are enough to show where to look.
MAX_NAMES = 3
FIRST_USE = (
    "base has no workloads yet: commit them, then change something else, and perfledger check "
    "compares that; --workloads-from HEAD compares older commits"
)
OTHER_BASE = "pass --base with a revision that registers the same workloads"


def other_base_workloads(
    repository: Repository, sha: str, base: Discovery, *, paths: Sequence[str]
) -> tuple[str, ...]:
    """Return the workloads that base registers under other names, then files outside `paths`."""
    folders = [PurePosixPath(path) for path in paths]
    files = (
        file
        for file in repository.files_with_workloads(sha)
        if not any(PurePosixPath(file).is_relative_to(folder) for folder in folders)
    )
    names = (*(spec.id for spec in base.workloads), *files)
    return tuple(name for name in names if len(name) <= MAX_WORD)


def comparison_advice(
    other_names: Sequence[str], configuration: CheckConfiguration, *, choice: WorkloadChoice
) -> tuple[str, ...]:
    """Return what to do if nothing can be compared.

    `other_names` are what base registers instead. Where base has neither those nor a configuration,
    the change introduces perfledger.
    """
    paths = ", ".join(configuration.settings.paths)
    if other_names:
        change = (
            f"choose workloads of both sides (now {choice})"
            if str(choice)
            else f"keep their names, and set `paths` (now {paths}) to the folders of both sides"
        )
        return (f"base registers {_first(other_names)} instead: {change}, or {OTHER_BASE}",)
    if configuration.base_file:
        sentence = (
            f"base has the configuration {configuration.base_file} but no workload in {paths}: "
            f"{OTHER_BASE}, or merge the workloads first, so that later changes have a base"
        )
        return (sentence,)
    return (FIRST_USE,)


def _first(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMES
    text = ", ".join(names[:MAX_NAMES])
    return f"{text} and {more} more" if more > 0 else text
