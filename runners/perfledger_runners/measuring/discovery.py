"""Lists the workloads that a checkout registers, and its broken files."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from perfledger.package_code import SourcePackage
from perfledger.process.asv_configuration import benchmark_folders
from perfledger.process.discovery import source_files
from perfledger.protocol import BenchmarkSuite, ChildRequest, Command
from perfledger.records import FailureReason, WorkloadSpec
from perfledger_runners.children.child_process import VARIABLE_REASONS, ChildExit, run_child
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.protocol_parser import (
    BrokenMessage,
    FactsMessage,
    FailedMessage,
    LeftOutMessage,
    NoteMessage,
    WorkloadMessage,
)
from perfledger_runners.measuring.code_origin import BUILD_ADVICE
from perfledger_runners.safe_text import clean_text

# Python's message for a missing module inside a package.
MISSING_MODULE = re.compile(r"No module named '(\w+)\.[\w.]+'")


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
    notes: tuple[str, ...] = ()  # on options of another tool that do not apply


def discover(harness: Harness, request: ChildRequest) -> Discovery:
    """List the workloads below `request.root`; the request's command is ignored.

    A file that kills or hangs its child does not affect the others: the files are then imported one
    by one, each in its own child.
    """
    discovery, death = _list(harness, request)
    if death is None:
        return discovery
    without_files = replace(request, suite=BenchmarkSuite.PERFLEDGER, paths=())
    _, death_without_files = _list(harness, without_files)
    files = () if death_without_files else _source_paths(request)
    if not files:
        return replace(discovery, broken=(*discovery.broken, death))
    workloads: dict[str, WorkloadSpec] = {}
    broken: list[UnreadablePath] = []
    left_out: dict[str, str] = {}
    facts = discovery.facts
    for file in files:
        file_discovery, death = _list(harness, replace(request, paths=(file,)))
        workloads |= {spec.id: spec for spec in file_discovery.workloads}
        broken += file_discovery.broken if death is None else (*file_discovery.broken, death)
        left_out |= file_discovery.left_out
        facts = facts or file_discovery.facts
    return Discovery(
        workloads=tuple(workloads.values()),
        broken=tuple(broken),
        facts=facts,
        left_out=left_out,
        notes=discovery.notes,
    )


def _list(  # noqa: C901 - one case for each kind of message
    harness: Harness, request: ChildRequest
) -> tuple[Discovery, UnreadablePath | None]:
    """Return the workloads that one child lists, and its failure if it died."""
    workloads: list[WorkloadSpec] = []
    broken: list[UnreadablePath] = []
    left_out: dict[str, str] = {}
    notes: list[str] = []
    facts: FactsMessage | None = None
    death: UnreadablePath | None = None
    for message in run_child(harness, replace(request, command=Command.LIST, workloads=())):
        match message:
            case FactsMessage():
                facts = message
            case WorkloadMessage():
                workloads.append(msgspec.convert(message, WorkloadSpec, from_attributes=True))
            case BrokenMessage(path=path, reason=reason, detail=detail):
                detail += _build_advice(detail, request.packages)
                broken.append(UnreadablePath(path=path, reason=reason, detail=detail))
            case LeftOutMessage(name=name, reason=reason):
                left_out[clean_text(name)] = clean_text(reason)
            case NoteMessage(text=text):
                notes.append(clean_text(text))
            case FailedMessage(reason=reason, detail=detail):
                path = ", ".join(request.paths) or "."
                death = UnreadablePath(path=path, reason=reason, detail=detail)
            case ChildExit() as ended:
                broken = [_with_withheld(each, ended) for each in broken]
                death = death and replace(death, log_tail=ended.log_tail)
            case _:
                pass
    discovery = Discovery(
        workloads=tuple(workloads),
        broken=tuple(broken),
        facts=facts,
        left_out=left_out,
        notes=tuple(notes),
    )
    return discovery, death


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
