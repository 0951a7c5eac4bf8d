"""Both checkouts of a check, built side by side, and what children are started with."""

import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from perfledger.protocol import ChildRequest
from perfledger.records import Side
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.submodules import fill_submodules
from perfledger_runners.children.harness import ChildLimits, Harness, prepare_harness
from perfledger_runners.children.interpreter import find_python
from perfledger_runners.measuring.measured_pair import MeasuringProgress
from perfledger_service.usecases.check.child_requests import request_for
from perfledger_service.usecases.check.revisions import CheckConfiguration, RevisionPair
from perfledger_service.usecases.check.side_code import SideCode, prepare_code


class CheckProgress(MeasuringProgress, Protocol):
    """Receiver of a check's progress."""

    def stage(self, name: str) -> None:
        """Report that the next part of the check begins."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSite:
    """The two checkouts of a check, and what children are started with."""

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


@contextmanager
def check_out_revisions(
    repository: Repository,
    sides: RevisionPair,
    configuration: CheckConfiguration,
    progress: CheckProgress,
) -> Generator[CheckSite]:
    """Check out and build both revisions side by side, and remove the checkouts at the end."""
    settings = configuration.settings
    interpreter = find_python(repository.root, settings.python)
    limits = ChildLimits(workload_s=settings.timeout, startup_s=settings.timeout)
    with (
        tempfile.TemporaryDirectory(prefix="perfledger-", ignore_cleanup_errors=True) as name,
        repository.worktree(sides.base.sha, Path(name) / "base") as base,
        repository.worktree(sides.head.sha, Path(name) / "head") as head,
        prepare_harness(interpreter, environment=os.environ, limits=limits) as harness,
    ):
        requests = {
            Side.BASE: request_for(base, repository.root, settings),
            Side.HEAD: request_for(head, repository.root, settings),
        }
        submodule_notes = (
            *fill_submodules(repository.root, base, sides.base.sha),
            *fill_submodules(repository.root, head, sides.head.sha),
        )
        with prepare_code(
            repository,
            sides,
            requests,
            settings,
            interpreter=interpreter,
            environment=os.environ,
            stage=progress.stage,
        ) as code:
            yield CheckSite(
                repository=repository,
                sides=sides,
                configuration=configuration,
                harness=harness,
                code=code,
                notes=tuple(dict.fromkeys(submodule_notes)),
            )
