"""Checkouts of commits, built side by side, and the settings that their children start with."""

import os
import secrets
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, Self

from perfledger.protocol import ChildRequest
from perfledger.records import Revision, Side, WorkloadSpec
from perfledger_runners.checkouts.large_files import pointer_notes
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.source_tree import read_source_tree, refuse_new_environment
from perfledger_runners.checkouts.submodules import fill_submodules
from perfledger_runners.checkouts.version_files import supply_version_files
from perfledger_runners.children.harness import (
    ChildLimits,
    Harness,
    for_workloads,
    prepare_harness,
)
from perfledger_runners.children.interpreter import Interpreter, find_python
from perfledger_runners.environments.derived_build import BuildInputs, build_inputs
from perfledger_runners.measuring.measured_pair import MeasuringProgress
from perfledger_runners.private_folder import private_folder
from perfledger_service.usecases.check.child_requests import request_for
from perfledger_service.usecases.check.revisions import (
    CheckConfiguration,
    RevisionPair,
    is_first_use,
)
from perfledger_service.usecases.check.side_code import (
    BuiltCode,
    SideCode,
    build_code,
    needs_build,
    pair_code,
)


class CheckProgress(MeasuringProgress, Protocol):
    """Receiver of a check's progress."""

    def stage(self, name: str) -> None:
        """Report that the next part of the check begins."""
        ...


@dataclass(frozen=True, slots=True)
class Checkout:
    """A commit that is checked out and built, and notes on what its checkout lacks."""

    revision: Revision
    code: BuiltCode
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSite:
    """The two checkouts of a check, and the settings that their children start with."""

    repository: Repository
    sides: RevisionPair
    configuration: CheckConfiguration
    harness: Harness
    code: SideCode
    notes: tuple[str, ...]

    @property
    def requests(self) -> Mapping[Side, ChildRequest]:
        """Return the request that lists each side's workloads."""
        return self.code.requests

    def for_workloads(self, workloads: Iterable[WorkloadSpec]) -> Self:
        """Return the site, giving each workload its own time limit and launch."""
        return replace(self, harness=for_workloads(self.harness, workloads))

    def with_files(self, files: Mapping[Side, Mapping[str, str]]) -> Self:
        """Return the site, whose children import only the file that registers a workload.

        `files` maps each side's workloads to these.
        """
        requests = {side: replace(self.requests[side], files=files[side]) for side in Side}
        return replace(self, code=replace(self.code, requests=requests))

    def ending_at(self, ends_at: float) -> Self:
        """Return the site with this end of the budget, on the harness's clock."""
        return replace(self, harness=replace(self.harness, ends_at=ends_at))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutFolder:
    """A private folder for the checkouts of a repository's commits."""

    repository: Repository
    configuration: CheckConfiguration
    harness: Harness
    interpreter: Interpreter
    inputs: BuildInputs
    side_commits: tuple[str, ...]  # base and head as they are checked out
    folder: Path
    progress: CheckProgress

    @contextmanager
    def check_out(self, revision: Revision, name: str) -> Generator[Checkout]:
        """Check out and build a commit, and remove it at the end.

        Its folder has a random name, so that code cannot distinguish base and head by it.
        """
        repository, settings = self.repository, self.configuration.settings
        sha = self.configuration.checked_out_sha(repository, revision.sha)
        with repository.worktree(sha, self.folder / secrets.token_hex(4)) as root:
            tree = read_source_tree(repository, sha, import_paths=settings.import_paths)
            notes = (
                *fill_submodules(repository.root, root, sha),
                *supply_version_files(repository.root, root, commits=self.side_commits),
            )
            if needs_build(settings, self.inputs):
                self.progress.stage(f"building {name}")
            with build_code(
                tree,
                request_for(root, repository.root, settings),
                settings,
                inputs=self.inputs,
                interpreter=self.interpreter,
                environment=os.environ,
            ) as code:
                # A build may fetch the content of large files.
                yield Checkout(revision, code, (*notes, *pointer_notes(root, tree.hashes)))

    def site(self, base: Checkout, head: Checkout) -> CheckSite:
        """Return two checkouts as the sides of a check."""
        return CheckSite(
            repository=self.repository,
            sides=RevisionPair(base=base.revision, head=head.revision),
            configuration=self.configuration,
            harness=self.harness,
            code=pair_code(
                base.code,
                head.code,
                self.configuration.settings,
                is_first_use=is_first_use(self.repository, base.revision, self.configuration),
            ),
            notes=tuple(dict.fromkeys((*base.notes, *head.notes))),
        )


@contextmanager
def open_checkouts(
    repository: Repository,
    sides: RevisionPair,
    configuration: CheckConfiguration,
    progress: CheckProgress,
) -> Generator[CheckoutFolder]:
    """Prepare a folder for checkouts, and the harness of their children; remove both at the end.

    Commits are built depending on what differs between `sides`.
    """
    settings = configuration.settings
    side_commits = tuple(
        configuration.checked_out_sha(repository, revision.sha)
        for revision in (sides.base, sides.head)
    )
    base, head = (
        read_source_tree(repository, sha, import_paths=settings.import_paths)
        for sha in side_commits
    )
    refuse_new_environment(base, head)
    interpreter = find_python(repository.root, settings.python)
    limits = ChildLimits(workload_s=settings.timeout, startup_s=settings.timeout)
    with (
        private_folder() as folder,
        prepare_harness(
            interpreter,
            environment=os.environ,
            variable_names=settings.env,
            sandbox=settings.sandbox,
            limits=limits,
            default_launch=settings.launch,
        ) as harness,
    ):
        yield CheckoutFolder(
            repository=repository,
            configuration=configuration,
            harness=harness,
            interpreter=interpreter,
            inputs=build_inputs(base, head, paths=settings.paths),
            side_commits=side_commits,
            folder=folder,
            progress=progress,
        )


@contextmanager
def check_out_revisions(
    repository: Repository,
    sides: RevisionPair,
    configuration: CheckConfiguration,
    progress: CheckProgress,
) -> Generator[CheckSite]:
    """Check out and build both revisions side by side, and remove the checkouts at the end."""
    with (
        open_checkouts(repository, sides, configuration, progress) as checkouts,
        checkouts.check_out(sides.base, "base") as base,
        checkouts.check_out(sides.head, "head") as head,
    ):
        yield checkouts.site(base, head)
