"""Measures pairs of any two commits of a range; each commit is checked out and built once."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from perfledger.bundle import Bundle
from perfledger.records import (
    Failure,
    FailureReason,
    Machine,
    Revision,
    Run,
    Side,
    WorkloadSpec,
    short_sha,
)
from perfledger_baselines.estimation.pairing import match_runs
from perfledger_runners.checkouts.git import git
from perfledger_runners.machine.core_reservation import CoreReservation
from perfledger_runners.machine.device_locks import DeviceLocks
from perfledger_runners.machine.fingerprint import read_machine
from perfledger_runners.machine.nvml import Gpu
from perfledger_runners.machine.telemetry import GpuTelemetry, NoTelemetry
from perfledger_runners.measuring.discovery import discover
from perfledger_runners.measuring.measured_pair import PairMeasurement
from perfledger_runners.measuring.rounds.pair_order import pair_order
from perfledger_service.errors import NotMeasuredError, UsageError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.usecases.check.checkouts import (
    Checkout,
    CheckoutFolder,
    CheckProgress,
    CheckSite,
)
from perfledger_service.usecases.check.child_requests import requests_for_device
from perfledger_service.usecases.check.measurement import CheckRequest, measure_change
from perfledger_service.usecases.check.measuring_budget import (
    MeasuringAllowance,
    measuring_allowance,
)
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.check.workloads.excluded_devices import refuse_excluded
from perfledger_service.usecases.check.workloads.plan import work_of, work_words
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice
from perfledger_service.values.report import Report

# Failures of the machine or of the set-up: no commit is to blame.
NOT_A_COMMITS = frozenset({FailureReason.WRONG_CODE, FailureReason.THROTTLED, FailureReason.PYTHON})
MAX_REASON = 300
# The order of sides is drawn for this many pairs, and then repeats.
MAX_ORDERED = 1000


@dataclass(frozen=True, slots=True)
class SkippedCommit:
    """A commit of the range that cannot be measured, its position, and the reason."""

    commit: int
    reason: str


@dataclass(frozen=True, slots=True)
class CommitPair:
    """One pair of two commits, and how many seconds it took."""

    base: Run
    head: Run
    seconds: float


@dataclass(frozen=True, slots=True)
class CommitCheck:
    """A check of one commit against another: its pairs, and how long it took."""

    pairs: tuple[tuple[Run, Run], ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class ReportedCheck:
    """The bundle of a commit's check against its parent, and its report."""

    bundle: Bundle
    report: Report


@dataclass(frozen=True, slots=True)
class _PreparedCommit:
    """A commit that is checked out and built, with its workload and the device for it."""

    checkout: Checkout
    spec: WorkloadSpec
    machine: Machine
    gpu: Gpu | None


@dataclass(slots=True, kw_only=True)
class CommitMeasurements:
    """The checkouts of a range of commits, and their measurements; a context manager."""

    checkouts: CheckoutFolder
    commits: Sequence[Revision]
    workload: str
    progress: CheckProgress
    locks: DeviceLocks
    cores: CoreReservation
    seed: int
    checks: dict[int, ReportedCheck] = field(default_factory=dict[int, ReportedCheck])  # by commit
    _stack: ExitStack = field(default_factory=ExitStack)
    _prepared: dict[str, _PreparedCommit | str] = field(
        default_factory=dict[str, _PreparedCommit | str]
    )
    _sites: dict[tuple[int, int], CheckSite] = field(
        default_factory=dict[tuple[int, int], CheckSite]
    )
    _pairs: int = 0

    def __enter__(self) -> Self:
        """Start without any checkout."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove all checkouts."""
        self._stack.close()

    @property
    def builds(self) -> int:
        """Return the number of checkouts whose workload could be measured."""
        return sum(isinstance(each, _PreparedCommit) for each in self._prepared.values())

    def allowance(self) -> MeasuringAllowance:
        """Return how long the commits may be measured, based on the good commit's machine.

        Raises UsageError if the good commit cannot be measured, or if a limit in money lacks its
        price.
        """
        prepared = self._prepare(0)
        if isinstance(prepared, str):
            raise self._end_error(0, prepared)
        settings = self.checkouts.configuration.settings
        return measuring_allowance(settings, prepared.machine, today=datetime.now(UTC).date())

    def measure(self, base: int, head: int) -> CommitPair | SkippedCommit:
        """Measure a pair of two commits.

        Raises NotMeasuredError if either commit cannot be measured.
        """
        site = self._site(base, head)
        if isinstance(site, SkippedCommit):
            return site
        prepared = self._measurable(base)
        if not self._pairs:
            self.locks.measure_on(prepared.machine)
            self.cores.take(prepared.machine, fewest=prepared.spec.devices)
        measurement = PairMeasurement(
            harness=site.harness,
            requests=requests_for_device(site.requests, prepared.machine.device),
            telemetry=NoTelemetry() if prepared.gpu is None else GpuTelemetry(prepared.gpu),
            progress=self.progress,
            check_run=site.code.origin.failure,
        )
        order = pair_order(self.seed, MAX_ORDERED)
        number, began = self._pairs, site.harness.clock()
        self._pairs += 1
        with site.code.origin.pointers.watching():
            pair = measurement.measure(
                (self.workload,), pair=number, first=order[number % MAX_ORDERED], process=2 * number
            )
        complete = pair.complete()
        if not complete:
            return self._failed_commit(base, head, pair.failures)
        return CommitPair(*complete[0], seconds=site.harness.clock() - began)

    def check(self, base: int, head: int, *, budget_s: float) -> CommitCheck | SkippedCommit:
        """Check a commit against another one as `perfledger check` does; keep bundle and report.

        A limit in money is part of `budget_s`.
        """
        site = self._site(base, head)
        if isinstance(site, SkippedCommit):
            return site
        configuration = site.configuration
        settings = configuration.settings.model_copy(
            update={"budget": budget_s, "budget_usd": None}
        )
        request = CheckRequest(choice=WorkloadChoice(globs=(self.workload,)))
        began = site.harness.clock()
        bundle = measure_change(
            replace(site, configuration=replace(configuration, settings=settings)),
            request,
            self.progress,
            locks=self.locks,
            cores=self.cores,
            history=None,
        )
        bundle = replace(
            bundle,
            repository=site.repository.origin_name(),
            notes=configuration.notes + site.notes + bundle.notes,
        )
        today = datetime.now(UTC).date()
        report = build_report(bundle, today=today, is_local=True)
        self.checks[head] = ReportedCheck(bundle, report)
        pairs = match_runs(bundle.runs).get(self.workload, ())
        return CommitCheck(pairs, site.harness.clock() - began)

    def _site(self, base: int, head: int) -> CheckSite | SkippedCommit:
        """Return two commits side by side, building those that are new."""
        prepared: list[_PreparedCommit] = []
        for commit in (base, head):
            prepared_commit = self._prepare(commit)
            if isinstance(prepared_commit, str):
                return self._skipped_commit(commit, prepared_commit)
            prepared.append(prepared_commit)
        reason = self._changed_work(prepared[1].spec)
        if reason:
            return self._skipped_commit(head, reason)
        if (base, head) not in self._sites:
            before, after = (one.checkout for one in prepared)
            sides = self.checkouts.comparable(before, after, self._stack)
            for commit, side in zip((base, head), sides, strict=True):
                if side.code.failure is not None:
                    return self._skipped_commit(commit, str(side.code.failure))
            files = {
                Side.BASE: before.code.request.files,
                Side.HEAD: after.code.request.files,
            }
            site = self.checkouts.site(*sides).with_files(files)
            self._sites[base, head] = site.for_workloads([prepared[0].spec])
        return self._sites[base, head]

    def _prepare(self, commit: int) -> _PreparedCommit | str:
        """Check a commit out and build it, once; return why if it cannot be measured.

        Commits with the same files share a checkout.
        """
        revision = self.commits[commit]
        repository, configuration = self.checkouts.repository, self.checkouts.configuration
        sha = configuration.checked_out_sha(repository, revision.sha)
        tree = git(repository.root, "rev-parse", f"{sha}^{{tree}}").decode().strip()
        if tree not in self._prepared:
            position = f"commit {commit} of {len(self.commits) - 1}"
            self.progress.stage(f"checking out {position}, {short_sha(revision.sha)}")
            name = f"{commit}-{short_sha(revision.sha)}"
            checkout = self._stack.enter_context(self.checkouts.check_out(revision, name))
            self._prepared[tree] = self._with_workload(checkout)
        return self._prepared[tree]

    def _with_workload(self, checkout: Checkout) -> _PreparedCommit | str:
        """Return a checkout with its workload, or why it has none."""
        if checkout.code.failure is not None:
            return f"does not build: {checkout.code.failure}"
        discovery = discover(self.checkouts.harness, checkout.code.request)
        spec = next((each for each in discovery.workloads if each.id == self.workload), None)
        if spec is None:
            details = [f"{file.path}: {file.detail}" for file in discovery.broken]
            names = [each.id for each in discovery.workloads]
            details += [f"it registers {', '.join(names)}"] if names else []
            extra = [f"({'; '.join(details)})"] if details else []
            return " ".join((f"does not register {self.workload}", *extra))
        settings = self.checkouts.configuration.settings
        machine, gpu = read_machine(
            discovery.facts, requested=settings.device, environment=os.environ
        )
        refuse_excluded(machine, [spec], settings.excluded_devices)
        request = replace(checkout.code.request, files=discovery.files)
        checkout = replace(checkout, code=replace(checkout.code, request=request))
        return _PreparedCommit(checkout, spec, machine, gpu)

    def _measurable(self, commit: int) -> _PreparedCommit:
        prepared = self._prepare(commit)
        if isinstance(prepared, str):
            raise NotMeasuredError(prepared)
        return prepared

    def _changed_work(self, spec: WorkloadSpec) -> str:
        """Return how the unit of work differs from the good commit's, "" if it is the same."""
        good = self._prepare(0)
        if isinstance(good, str):
            return ""
        before = good.spec
        if work_of(before) == work_of(spec):
            return ""
        return (
            f"a step is {work_words(spec)} instead of {work_words(before)}: the two cannot be "
            "compared"
        )

    def _failed_commit(self, base: int, head: int, failures: Sequence[Failure]) -> SkippedCommit:
        """Return the commit that failed. Raises NotMeasuredError if no commit is to blame."""
        sides = {Side.BASE: base, Side.HEAD: head}
        if not failures:
            msg = f"{self.workload} was not measured, and no process says why: run it again"
            raise NotMeasuredError(msg)
        failure = min(failures, key=lambda each: self._is_end(sides[each.side]))
        if failure.why in NOT_A_COMMITS:
            msg = f"{clean(self.workload)} was not measured: {failure.detail}"
            raise NotMeasuredError(msg)
        return self._skipped_commit(sides[failure.side], f"{failure.why}: {failure.detail}")

    def _skipped_commit(self, commit: int, reason: str) -> SkippedCommit:
        """Return a commit that is skipped. Raises UsageError for an end of the range."""
        if self._is_end(commit):
            raise self._end_error(commit, reason)
        return SkippedCommit(commit, clean(reason, limit=MAX_REASON))

    def _end_error(self, commit: int, reason: str) -> UsageError:
        end = "good" if commit == 0 else "bad"
        return UsageError(
            f"the {end} commit {short_sha(self.commits[commit].sha)} cannot be measured: "
            f"{clean(reason, limit=MAX_REASON)}; choose another, or lay today's workloads over all "
            "commits with --workloads-from"
        )

    def _is_end(self, commit: int) -> bool:
        return commit in {0, len(self.commits) - 1}
