"""Lists the workloads that a checkout registers, and its broken files."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from perfledger.package_code import SourcePackage
from perfledger.process.asv.configuration import benchmark_folders
from perfledger.process.discovery import source_files
from perfledger.protocol import BenchmarkSuite, ChildRequest, Command
from perfledger.records import FailureReason, Side, WorkloadSpec
from perfledger.registration.registrars import second_registration
from perfledger.rounding import digits
from perfledger_runners.children.child_process import (
    VARIABLE_REASONS,
    ChildContinuation,
    ChildExit,
    run_child,
)
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.limit_watch import TOOK_SHARE
from perfledger_runners.children.message_texts import DeviceFacts
from perfledger_runners.children.protocol_parser import (
    AnyMessage,
    BrokenMessage,
    FactsMessage,
    FailedMessage,
    ImportingMessage,
    LeftOutMessage,
    NoForkMessage,
    NoteMessage,
    WorkloadMessage,
)
from perfledger_runners.measuring.both_sides import on_both_sides
from perfledger_runners.measuring.code_origin import BUILD_ADVICE
from perfledger_runners.safe_text import MAX_DETAIL, clean_text

# Python's message for a missing module inside a package.
MISSING_MODULE = re.compile(r"No module named '(\w+)\.[\w.]+'")
# Stands in a report for the paths that a suite's own configuration names: "the list of workloads
# was not finished before the time limit".
ALL_WORKLOADS = "the list of workloads"
OUT_OF_TIME = frozenset({FailureReason.BUDGET, FailureReason.HUNG})
# Share of the rest of the budget for the import of each file. Every process imports it again, so
# nothing could be measured with one that takes longer, and a hanging one leaves time for others.
IMPORT_SHARE = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadablePath:
    """A path of the checkout whose workloads cannot be listed, and why."""

    path: str
    reason: FailureReason
    detail: str
    log_tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The workloads of one checkout; `facts` is None if no child survived to report them."""

    workloads: tuple[WorkloadSpec, ...] = ()
    broken: tuple[UnreadablePath, ...] = ()
    facts: FactsMessage | None = None
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])  # benchmark → reason
    # Workload → module of the file that registers it; without those whose suite does not tell.
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()  # on options of another tool that do not apply


def discover(harness: Harness, request: ChildRequest) -> Discovery:
    """List the workloads below `request.root`; the request's command is ignored.

    A file that kills or hangs its child does not affect the others: the files are then imported one
    by one, each in its own child. What the budget keeps from that has the first child's reason.
    """
    limits = replace(harness.limits, startup_share=IMPORT_SHARE)
    harness = replace(harness, limits=limits)
    listing = _Listing()
    death = _list(harness, request, listing)
    if death is None:
        for path in tuple(listing.refused):
            listing.add_path(harness, request, path)
        return listing.discovery()
    without_files = replace(request, suite=BenchmarkSuite.PERFLEDGER, paths=())
    files = () if _list(harness, without_files, _Listing()) else _source_paths(request)
    if len(files) <= 1:
        listing.broken.append(replace(death, path=files[0]) if files else death)
        return listing.discovery()
    notes = listing.notes
    listing = _Listing(facts=listing.facts)
    for file in files:
        listing.add_path(harness, request, file)
    listing.broken = [
        replace(each, reason=death.reason, detail=f"{death.detail}; alone: {each.detail}")
        if each.reason is FailureReason.BUDGET
        else each
        for each in listing.broken
    ]
    return replace(listing.discovery(), notes=tuple(notes))


@dataclass(slots=True, kw_only=True)
class _Listing:
    """What children have listed so far; `doubled` are files that register another's workload."""

    facts: FactsMessage | None = None
    workloads: list[WorkloadMessage] = field(default_factory=list[WorkloadMessage])
    registered: dict[str, WorkloadMessage] = field(default_factory=dict[str, WorkloadMessage])
    doubled: set[str] = field(default_factory=set[str])
    broken: list[UnreadablePath] = field(default_factory=list[UnreadablePath])
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[str] = field(default_factory=list[str])
    refused: list[str] = field(default_factory=list[str])  # files that need a child of their own
    imports_s: dict[str, float] = field(default_factory=dict[str, float])  # by file

    def add_path(self, harness: Harness, request: ChildRequest, path: str) -> None:
        """List one path in its own child."""
        death = _list(harness, replace(request, paths=(path,)), self)
        self.broken += [] if death is None else [death]

    def add_facts(self, facts: FactsMessage) -> None:
        """Add the facts of one more file."""
        if self.facts is None:
            self.facts = facts
            return
        before, now = (
            msgspec.structs.asdict(self.facts.device),
            msgspec.structs.asdict(facts.device),
        )
        device = DeviceFacts(**{name: now[name] or before[name] for name in before})
        self.facts = msgspec.structs.replace(
            facts,
            frameworks={**self.facts.frameworks, **facts.frameworks},
            device=device,
            distributions={**self.facts.distributions, **facts.distributions},
        )

    def add_workload(self, message: WorkloadMessage) -> None:
        """Add a workload; a file that registers another file's is broken.

        A module that several files import, or a helper that they call, registers its workload in
        each of them: it is listed for the first one, unless another one registers it differently.
        """
        name = f"{message.module}:{message.function}"
        first = self.registered.setdefault(name, message)
        if first.file == message.file:
            self.workloads.append(message)
        elif not self._is_listed(message, first.registrar) and message.file not in self.doubled:
            self.doubled.add(message.file)
            detail = f"workload {name!r}: {second_registration(first.path, message.path)}"
            self.broken.append(
                UnreadablePath(
                    path=message.path,
                    reason=FailureReason.RAISED,
                    detail=clean_text(detail)[:MAX_DETAIL],
                )
            )

    def _is_listed(self, message: WorkloadMessage, registrar: str) -> bool:
        """Return whether another file registers just the same workload through this module."""
        return message.registrar == registrar and any(
            msgspec.structs.replace(message, file=each.file, path=each.path) == each
            for each in self.workloads
        )

    def discovery(self) -> Discovery:
        """Return what was listed."""
        workloads = [each for each in self.workloads if each.file not in self.doubled]
        return Discovery(
            workloads=tuple(
                msgspec.convert(each, WorkloadSpec, from_attributes=True) for each in workloads
            ),
            broken=tuple(self.broken),
            facts=self.facts,
            left_out=self.left_out,
            files={each.id: each.file for each in workloads if each.file},
            notes=tuple(self.notes),
        )


def _list(harness: Harness, request: ChildRequest, listing: _Listing) -> UnreadablePath | None:
    """Add what one child lists; return its failure if it died.

    The files that it refuses to list in forks are left to `listing`.
    """
    first = len(listing.broken)
    death: UnreadablePath | None = None
    file, since = "", harness.clock()
    for message in run_child(harness, replace(request, command=Command.LIST, workloads=())):
        now = harness.clock()
        if file:
            listing.imports_s[file] = now - since
        file, since = (message.path, now) if isinstance(message, ImportingMessage) else ("", now)
        match message:
            case NoForkMessage(workloads=paths):
                listing.refused += paths
            case FailedMessage(reason=reason, detail=detail):
                path = ", ".join(request.paths) or ALL_WORKLOADS
                if reason in OUT_OF_TIME:
                    detail += _slow_import_advice(listing, request, detail)
                death = UnreadablePath(path=path, reason=reason, detail=detail)
            case ChildExit() as ended:
                listing.broken[first:] = [
                    _with_withheld(each, ended) for each in listing.broken[first:]
                ]
                death = death and replace(death, log_tail=ended.log_tail)
            case _:
                _add(message, listing, request)
    return death


def _slow_import_advice(listing: _Listing, request: ChildRequest, detail: str) -> str:
    """Return which file took longest to import, unless `detail` says so, and what leaves it out."""
    slowest = max(listing.imports_s, key=listing.imports_s.__getitem__, default="")
    if not slowest:
        return ""
    choice = "-k or --workload" if request.suite is BenchmarkSuite.ASV else "`paths`"
    advice = f"choose other files with {choice}, or let a set-up do what its import does"
    name = clean_text(slowest)
    if detail.endswith(f"importing {name}"):
        return f": {advice}"
    seconds = digits(listing.imports_s[slowest], 2)
    return f"; the slowest import is that of {name} ({seconds} s): {advice}"


def _add(message: AnyMessage | ChildContinuation, listing: _Listing, request: ChildRequest) -> None:
    match message:
        case FactsMessage():
            listing.add_facts(message)
        case WorkloadMessage():
            listing.add_workload(message)
        case BrokenMessage(path=path, reason=reason, detail=detail):
            detail += _build_advice(detail, request.packages)
            listing.broken.append(UnreadablePath(path=path, reason=reason, detail=detail))
        case LeftOutMessage(name=name, reason=reason):
            listing.left_out[clean_text(name)] = clean_text(reason)
        case NoteMessage(text=text):
            listing.notes.append(clean_text(text))
        case _:
            pass


def _build_advice(detail: str, packages: Iterable[SourcePackage]) -> str:
    """Return what to do if a module of the repository's own packages is not in the checkout."""
    match = MISSING_MODULE.search(detail)
    if match is None or match[1] not in {package.name for package in packages}:
        return ""
    return f"; git has no such file: if a build writes it, {BUILD_ADVICE}"


def _with_withheld(path: UnreadablePath, ended: ChildExit) -> UnreadablePath:
    """Return a path with the variables that its child did not get, if that may be why."""
    return replace(path, log_tail=ended.withheld) if path.reason in VARIABLE_REASONS else path


def _source_paths(request: ChildRequest) -> tuple[str, ...]:
    """Return the files to list one by one; none if only the suite knows them."""
    root = Path(request.root).resolve()
    paths: Iterable[Path] = (root / path for path in request.paths)
    if request.suite is BenchmarkSuite.ASV:
        paths, _ = benchmark_folders(root, request.paths)
    tops = [path.resolve() for path in paths]
    inside = [top for top in tops if top.exists() and top.is_relative_to(root)]
    sources = dict.fromkeys(file for top in inside for file in source_files(top))
    return tuple(str(file.relative_to(root)) for file in sources)


def list_both_sides(
    harness: Harness, task: Callable[[Harness, Side], Discovery], *, is_at_once: bool
) -> Mapping[Side, Discovery]:
    """Return what `task` discovers on each side.

    If a file of one side alone cannot be imported while both are listed at once, that side is
    listed again, alone: its import may need what only one process can have. There is no time for
    that after one that took its share of the budget.
    """
    if not is_at_once:
        return {side: task(harness, side) for side in Side}
    discoveries = dict(on_both_sides(harness, task))
    broken = {
        side: {each.path for each in discoveries[side].broken if TOOK_SHARE not in each.detail}
        for side in Side
    }
    for side in Side:
        if broken[side] - broken[side.facing]:
            discoveries[side] = task(harness, side)
    return discoveries
