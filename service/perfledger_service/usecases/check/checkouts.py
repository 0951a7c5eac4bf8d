"""Checkouts of commits, built side by side, and the settings that their children start with."""

import os
import secrets
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, Self

from perfledger.measuring.core_use import queued_s
from perfledger.protocol import ChildRequest
from perfledger.records import Revision, Side, WorkloadSpec
from perfledger.rounding import minutes
from perfledger_runners.checkouts.missing_content import missing_content
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
from perfledger_runners.environments.package_differences import (
    is_same_build,
    may_be_of_change,
    other_packages_error,
    renewed_note,
    resolved_pair,
    unexplained_packages,
)
from perfledger_runners.environments.settled_differences import SettledDifferences
from perfledger_runners.measuring.rounds.progress import MeasuringProgress
from perfledger_runners.private_folder import private_folder
from perfledger_runners.user_folders import cache_folder
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

# Seconds that a check needs after its last pair, and those of work among them. It reads the machine
# again, judges, explains, removes the checkouts, and writes the report: with one workload it works
# for .5 s, with 450, of which 16 have pairs, for .9 s.
CLOSING_S, CLOSING_WORK_S = 2.0, 0.8
# Share of the budget that they may take of it: with less, the report comes after its end.
MAX_CLOSING_SHARE = 0.2


class CheckProgress(MeasuringProgress, Protocol):
    """Receiver of a check's progress."""

    def stage(self, name: str) -> None:
        """Report that the next part of the check begins."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A commit that is checked out and built, and notes on what its checkout lacks.

    `name` is what people call it, such as base.
    """

    revision: Revision
    name: str
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

    def within(self, budget_s: float, *, began: float) -> Self:
        """Return the site whose children end early enough for all that follows to end in a budget.

        It `began` at this time of the harness's clock.
        """
        closing_s = closing_seconds(budget_s, ran_s=time.thread_time(), queued_s=queued_s())
        return replace(self, harness=replace(self.harness, ends_at=began + budget_s - closing_s))


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
    began: float = field(default_factory=time.time)  # by the clock of the environments' cache

    @contextmanager
    def check_out(
        self,
        revision: Revision,
        name: str,
        *,
        is_renewed: bool = False,
        facing: Checkout | None = None,
    ) -> Generator[Checkout]:
        """Check out and build a commit, and remove it at the end.

        Its folder has a random name, so that code cannot distinguish base and head by it. A renewed
        environment is built even if the cache has one. After a `facing` side whose build hung, no
        build is tried.
        """
        repository, settings = self.repository, self.configuration.settings
        sha = self.configuration.checked_out_sha(repository, revision.sha)
        with repository.worktree(sha, self.folder / secrets.token_hex(4)) as root:
            tree = read_source_tree(repository, sha, import_paths=settings.import_paths)
            notes = (
                *fill_submodules(repository.root, root, sha),
                *supply_version_files(repository.root, root, commits=self.side_commits),
            )
            if needs_build(settings, self.inputs) and not (facing and facing.code.has_hung):
                most = minutes(settings.build_timeout)
                self.progress.stage(f"building {name}, for at most {most}")
            with build_code(
                tree,
                request_for(root, repository.root, settings),
                settings,
                inputs=self.inputs,
                interpreter=self.interpreter,
                environment=os.environ,
                guard=self.harness.guard,
                is_renewed=is_renewed,
                facing=facing.code if facing else None,
            ) as code:
                # A build may fetch the content of large files.
                missing = missing_content(root, tree.hashes)
                yield Checkout(
                    revision=revision,
                    name=name,
                    code=replace(code, pointers=missing.pointers),
                    notes=(*notes, *missing.notes()),
                )

    def comparable(
        self, base: Checkout, head: Checkout, stack: ExitStack
    ) -> tuple[Checkout, Checkout]:
        """Return two checkouts whose environments do not differ by when they were built.

        One that was built before is built again if packages differ that no changed file names;
        `stack` removes it. If they still differ, although no requirement changed, the older one is
        built once more: if it gets the same packages before and after the other one, other files of
        the change explain the difference; if not, head has failed. What the change explains is
        remembered: later checks with the same requirements build nothing again.
        """
        settled_differences = SettledDifferences(folder=cache_folder(os.environ) / "settled")
        if not unexplained_packages(base.code, head.code):
            return base, head
        if settled_differences.is_settled(resolved_pair(base.code, head.code)):
            return base, head
        base, head = (
            self._renewed(each, facing, stack) if each.code.built_at < self.began else each
            for each, facing in ((base, head), (head, base))
        )
        if unexplained_packages(base.code, head.code):
            if not may_be_of_change(base.code, head.code):
                base, head = self._explained(base, head, stack)
            if not (base.code.failure or head.code.failure):
                settled_differences.settle(resolved_pair(base.code, head.code))
        return base, head

    def _explained(
        self, base: Checkout, head: Checkout, stack: ExitStack
    ) -> tuple[Checkout, Checkout]:
        """Return checkouts that still differ after building the older one again, or a failed head.

        Both were built in this check.
        """
        is_base_older = base.code.built_at <= head.code.built_at
        before = base if is_base_older else head
        again = self._check_out_again(before, stack)
        pair = (again, head) if is_base_older else (base, again)
        is_alike = not unexplained_packages(pair[0].code, pair[1].code)
        if again.code.failure or is_alike or is_same_build(again.code, before.code):
            return pair
        error = other_packages_error(
            pair[0].code, pair[1].code, first_build=before.code, second_build=again.code
        )
        return pair[0], replace(pair[1], code=replace(pair[1].code, failure=error))

    def _renewed(self, checkout: Checkout, facing: Checkout, stack: ExitStack) -> Checkout:
        """Return a checkout whose environment was built again, with a note."""
        again = self._check_out_again(checkout, stack)
        note = renewed_note(checkout.name, checkout.code, facing.code)
        return replace(again, notes=(*again.notes, note))

    def _check_out_again(self, checkout: Checkout, stack: ExitStack) -> Checkout:
        return stack.enter_context(
            self.check_out(checkout.revision, checkout.name, is_renewed=True)
        )

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


def closing_seconds(budget_s: float, *, ran_s: float, queued_s: float) -> float:
    """Return the seconds of the budget that are kept for what follows the last pair.

    Other programs make the check's own work wait for a core, as they did so far: it ran for `ran_s`
    and was `queued_s` in a run queue, NaN if that is unknown.
    """
    waits = queued_s / ran_s if ran_s > 0 and queued_s >= 0 else 0.0
    return min(CLOSING_S + waits * CLOSING_WORK_S, MAX_CLOSING_SHARE * budget_s)


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
        ExitStack() as stack,
    ):
        base = stack.enter_context(checkouts.check_out(sides.base, "base"))
        head = stack.enter_context(checkouts.check_out(sides.head, "head", facing=base))
        yield checkouts.site(*checkouts.comparable(base, head, stack))
