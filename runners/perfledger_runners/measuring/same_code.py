"""Finds whether the workloads' code is the same on both sides, apart from comments and prose.

The files of both checkouts are compared before anything runs. If no code and no data differ, head's
files are watched while its workloads are listed and run, since a program that reads comments or
prose may depend on them. The README says why this is enough.
"""

import math
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfledger.protocol import ChildRequest, Command
from perfledger.records import Failure, Run, Side, WorkloadSpec
from perfledger_runners.checkouts.difference import (
    CheckoutDifference,
    ContentDifference,
    compare_checkouts,
)
from perfledger_runners.checkouts.file_accesses import (
    accessed_files,
    loaded_sources,
    records_accesses,
    watch_files,
)
from perfledger_runners.checkouts.source_tree import (
    changed_dependencies,
    changed_paths,
    first_few,
    is_compiled_source,
)
from perfledger_runners.children.child_process import run_request
from perfledger_runners.children.harness import Harness, python_of
from perfledger_runners.children.protocol_parser import FailedMessage, RunMessage
from perfledger_runners.measuring.code_origin import CodeOriginCheck
from perfledger_runners.measuring.discovery import Discovery
from perfledger_runners.measuring.measured_pair import run_of
from perfledger_runners.measuring.single_runs import NO_RUN
from perfledger_runners.safe_text import MAX_DETAIL, clean_text

# Share of the remaining budget: most changes have to be measured, and the pairs need the time.
WATCHED_SHARE = 0.2
COMPILE_TIMEOUT_S = 60.0  # compiles the files that differ, some milliseconds each
BYTECODE_VARIABLE = "PYTHONPYCACHEPREFIX"
NO_ACCESS_TIMES = "this file system does not record which files are read"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeWatch:
    """A watch of head's checkout that starts before its workloads are listed.

    `doubt` is why no workload can have the same code, whatever it reads; "" if one can.
    """

    head: Path
    difference: CheckoutDifference = field(default_factory=CheckoutDifference)
    doubt: str = ""

    def request(self, request: ChildRequest) -> ChildRequest:
        """Return head's request for a process that is watched."""
        return replace(request, watched_sources=self.difference.comments)

    def first_difference(self) -> str:
        """Return the first difference in what was read since the watch began, "" without one."""
        return first_difference(self.difference, accessed_files(self.head))


def watch_code(harness: Harness, base: ChildRequest, head: ChildRequest) -> CodeWatch:
    """Compare the checkouts of two requests, and begin to watch head's."""
    root = Path(head.root)
    try:
        difference = compare_checkouts(Path(base.root), root)
        if doubt := static_difference(difference):
            return CodeWatch(head=root, doubt=doubt)
        if not records_accesses(root.parent):
            return CodeWatch(head=root, doubt=NO_ACCESS_TIMES)
        comments = filter(str.isprintable, difference.comments)
        _compile(python_of(harness, head), root, tuple(comments))
        watch_files(root)
        return CodeWatch(head=root, difference=difference)
    except (OSError, subprocess.SubprocessError) as error:
        doubt = f"the checkouts could not be compared: {clean_text(str(error))}"
        return CodeWatch(head=root, doubt=doubt[:MAX_DETAIL])


def static_difference(difference: CheckoutDifference) -> str:
    """Return in one clause which code or data differs, even if unread; "" if nothing differs."""
    changed = [
        path for path, how in difference.contents.items() if how is ContentDifference.CONTENT
    ]
    clauses = (
        *(
            f"{path} exists on one side only, or is a different kind of file"
            for path in difference.kinds
        ),
        *(f"{path} differs" for path in sorted(changed)),
    )
    return _clean_clause(clauses[0]) if clauses else ""


def first_difference(difference: CheckoutDifference, accesses: frozenset[str]) -> str:
    """Return in one clause why a process that read these files may behave differently on base.

    Returns "" if it cannot.
    """
    if doubt := static_difference(difference):
        return doubt
    loaded = loaded_sources(accesses)
    comments = set(difference.comments)
    clauses = (
        *(
            f"{path} differs and was read"
            for path in sorted(accesses & difference.contents.keys() - comments)
        ),
        *(
            f"{path} differs in its comments, and its text was read"
            for path in sorted(accesses & comments)
        ),
        *(
            f"{path} may depend on line numbers, which differ in {min(comments)}"
            for path in sorted(difference.line_readers & loaded)
            if comments
        ),
    )
    return _clean_clause(clauses[0]) if clauses else ""


def _clean_clause(clause: str) -> str:
    return clean_text(clause)[:MAX_DETAIL]


def shared_doubt(
    watch: CodeWatch, origin: CodeOriginCheck, base: Discovery, head: Discovery
) -> str:
    """Return why no workload can have the same code on both sides, "" if one can."""
    changed = changed_paths(origin.base, origin.head)
    compiled = [path for path in changed if is_compiled_source(path)]
    unseen = [path for path in changed if path not in watch.difference.contents]
    dependencies = changed_dependencies(origin.base, origin.head)
    doubts = (
        (watch.doubt, watch.doubt),
        (os.environ.get(BYTECODE_VARIABLE), f"bytecode is kept elsewhere ({BYTECODE_VARIABLE})"),
        (origin.is_built, "each side runs in an environment that was built for it"),
        (dependencies, f"{first_few(dependencies)} declares other dependencies"),
        (compiled, f"{first_few(compiled)} is compiled"),
        (unseen, f"{first_few(unseen)} differs in git only: its files are not in this clone"),
        (base.facts is None or base.facts != head.facts, "the environments of the sides differ"),
    )
    return next((clean_text(text)[:MAX_DETAIL] for is_so, text in doubts if is_so), "")


def code_differences(
    watch: CodeWatch,
    harness: Harness,
    request: ChildRequest,
    workloads: Sequence[WorkloadSpec],
    *,
    check_run: Callable[[Run], Failure | None],
) -> Mapping[str, str]:
    """Return for each workload why its code may differ on base, "" if it cannot.

    The workloads run on head, with head's `request`, as long as a share of the budget allows.
    """
    names = tuple(spec.id for spec in workloads)
    failures = dict.fromkeys(names, "")
    reason = watch.first_difference()  # in the files read while listing the workloads
    if not reason:
        hasty = replace(harness, ends_at=_end(harness))
        failures |= _run_failures(hasty, watch.request(request), names, check_run)
        reason = watch.first_difference()
    return {name: failures[name] or reason for name in names}


def _run_failures(
    harness: Harness,
    request: ChildRequest,
    workloads: tuple[str, ...],
    check_run: Callable[[Run], Failure | None],
) -> Mapping[str, str]:
    """Run workloads on head; return for each why its run proves nothing, "" if it ran normally."""
    failures = dict.fromkeys(workloads, NO_RUN)
    measuring = replace(request, command=Command.MEASURE, workloads=workloads, is_interleaved=False)
    for message in run_request(harness, measuring):
        match message:
            case RunMessage(workload=name) if name in failures:
                run = run_of(message, side=Side.HEAD, pair=0, position=0, process=0)
                failure = check_run(run)
                failures[name] = "" if failure is None else failure.detail
            case FailedMessage(workload=name) if name in failures:
                text = f"its run before the pairs failed: {message.reason}: {message.detail}"
                failures[name] = clean_text(text)[:MAX_DETAIL]
            case _:
                pass
    return failures


def _end(harness: Harness) -> float:
    ends_at = harness.ends_at - (1 - WATCHED_SHARE) * harness.seconds_left()
    return ends_at if math.isfinite(ends_at) else math.inf


def _compile(python: Path, root: Path, paths: Sequence[str]) -> None:
    """Write files' bytecode, so that importing them does not read their source."""
    if not paths:
        return
    subprocess.run(  # noqa: S603 - the interpreter that the user configured
        [str(python), "-I", "-m", "py_compile", "-"],
        input="\n".join(str(root / path) for path in paths),
        text=True,
        capture_output=True,
        timeout=COMPILE_TIMEOUT_S,
        check=False,  # a file without bytecode is read when it is imported
    )
