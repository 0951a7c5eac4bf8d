"""Saves the pairs of a check, and resumes an interrupted one."""

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version

from perfledger.bundle import Plan
from perfledger.records import Machine, Side, WorkloadSpec
from perfledger.step_work import CountedWork
from perfledger_runners.children.child_variables import child_variables
from perfledger_runners.environments.build import BuildError
from perfledger_runners.environments.side import side_packages
from perfledger_runners.measuring.interrupted_checks import (
    InterruptedChecks,
    environment_differences,
    interrupted_folder,
    machine_differences,
    variable_digests,
)
from perfledger_runners.measuring.pair_journal import (
    CheckEnvironments,
    CheckIdentity,
    JournalError,
    JournalHeader,
    PairJournal,
)
from perfledger_service.errors import UsageError
from perfledger_service.usecases.check.checkouts import CheckSite
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

# A check may resume with a larger time budget than it began with: its looks are planned in pairs.
TIME_SETTINGS = frozenset({"budget", "budget_usd", "device_price", "timeout", "build_timeout"})


@dataclass(slots=True, kw_only=True)
class CheckJournal:
    """The journal of one check; `pairs` is None in a new journal until the first pair."""

    checks: InterruptedChecks
    identity: CheckIdentity
    environments: CheckEnvironments | None  # None: they cannot be read, and nothing is saved
    began: float  # by time.time()
    pairs: PairJournal | None = None
    failure: str = ""  # why nothing is saved

    @property
    def resumed(self) -> JournalHeader | None:
        """Return what the interrupted check had established; None in a new one."""
        return self.pairs.header if self.pairs is not None else None

    def remove(self) -> None:
        """Remove the saved pairs, as the check is over; a later signal finds nothing to resume."""
        if self.pairs is not None:
            finished, self.pairs = self.pairs, None
            finished.remove()
            finished.close()

    @property
    def spent_s(self) -> float:
        """Return how much of the budget the interrupted check spent."""
        return self.pairs.saved[-1].spent_s if self.pairs is not None and self.pairs.saved else 0.0

    def check_machine(self, machine: Machine, workloads: Collection[WorkloadSpec]) -> None:
        """Raise UsageError unless an interrupted check would resume as it began."""
        header = self.resumed
        if header is None:
            return
        differences = machine_differences(header, machine)
        if self.environments is None:
            differences += (self.failure,)
        else:
            differences += environment_differences(header, self.environments)
        if tuple(spec.id for spec in workloads) != header.workloads:
            differences += ("other workloads are registered",)
        if differences:
            msg = (
                f"the interrupted check cannot be resumed here: {', '.join(differences)}; resume "
                "it where it started, with the same packages and variables, or start again without "
                "--resume"
            )
            raise UsageError(msg)

    def begin(
        self,
        machine: Machine,
        plan: Plan,
        work: tuple[CountedWork, ...],
        workloads: Collection[WorkloadSpec],
    ) -> PairJournal | None:
        """Return the journal for the pairs; None if they cannot be saved."""
        if self.pairs is None and self.environments is not None:
            header = JournalHeader(
                check=self.identity,
                workloads=tuple(spec.id for spec in workloads),
                machine=machine,
                environments=self.environments,
                plan=plan,
                work=work,
                began=self.began,
            )
            try:
                self.pairs = self.checks.start(header)
            except JournalError as error:
                self.failure = str(error)
        return self.pairs

    def notes(self) -> tuple[str, ...]:
        """Return what the author should know about the interruption and about saving."""
        notes: list[str] = []
        pairs = self.pairs
        if pairs is not None and pairs.saved:
            count = len(pairs.saved)
            first = "first pair" if count == 1 else f"first {count} pairs"
            notes.append(
                f"the check was interrupted after its {first} of processes, and went on from there"
            )
        if pairs is not None and pairs.has_torn_line:
            notes.append("a pair that was not completely saved at the interruption was dropped")
        failure = self.failure or (pairs.failure if pairs is not None else "")
        if failure:
            notes.append(f"pairs were not saved, and could not have been resumed: {failure}")
        return tuple(notes)


@contextmanager
def open_check_journal(
    site: CheckSite,
    *,
    choice: WorkloadChoice,
    is_resumed: bool,
    environment: Mapping[str, str],
) -> Generator[CheckJournal]:
    """Open the journal of a check; an error that ends the check early gets a note on how to resume.

    Raises JournalError if there is nothing to resume.
    """
    configuration = site.configuration
    identity = CheckIdentity(
        repository=str(site.repository.root),
        base=site.sides.base.sha,
        head=site.sides.head.sha,
        workloads=str(choice),
        laid_over=configuration.overlay.record if configuration.overlay else None,
        settings={
            name: value
            for name, value in configuration.settings.in_force().items()
            if name not in TIME_SETTINGS
        },
        perfledger=version("perfledger"),
    )
    checks = InterruptedChecks(folder=interrupted_folder(environment))
    environments, failure = _read_environments(site)
    journal = CheckJournal(
        checks=checks,
        identity=identity,
        environments=environments,
        began=site.code.origin.began,
        failure=failure,
        pairs=checks.reopen(identity) if is_resumed else None,
    )
    if journal.resumed is not None:
        site.code.origin.resume(began=journal.resumed.began)
    try:
        yield journal
    except BaseException as error:
        if journal.pairs is not None and journal.pairs.count:
            count = journal.pairs.count
            error.add_note("1 pair is saved" if count == 1 else f"{count} pairs are saved")
        raise
    finally:
        if journal.pairs is not None:
            journal.pairs.close()


def _read_environments(site: CheckSite) -> tuple[CheckEnvironments | None, str]:
    """Return the environments of both sides, or None and why they cannot be read."""
    harness = site.harness
    folders = {side: site.requests[side].environment for side in Side}
    try:
        packages = {
            folder: side_packages(folder, harness.python, harness.environment)
            for folder in set(folders.values())
        }
    except BuildError as error:
        return None, str(error)
    environments = CheckEnvironments(
        interpreter=str(harness.python.resolve()),
        base=packages[folders[Side.BASE]],
        head=packages[folders[Side.HEAD]],
        variables=variable_digests(
            child_variables(harness.environment, named=harness.variable_names)
        ),
    )
    return environments, ""
