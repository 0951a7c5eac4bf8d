"""Warns of files of the workloads that differ, and of variables that they name and do not get."""

import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from perfledger.process.discovery import import_roots, module_name
from perfledger.protocol import BenchmarkSuite, ChildRequest
from perfledger.records import Revision, Side, WorkloadSpec, short_sha
from perfledger_runners.checkouts.difference import PROSE_SUFFIXES
from perfledger_runners.checkouts.python_code import is_same_code
from perfledger_runners.checkouts.source_tree import first_few, is_below
from perfledger_runners.children.child_variables import child_variables, withheld_hint
from perfledger_runners.children.harness import Harness
from perfledger_runners.safe_text import clean_text
from perfledger_service.usecases.check.workloads.plan import WorkloadPlan

# A text in quotes, such as the name of a variable. What one quotation mark ends, it may also begin:
# an apostrophe in a comment is no quotation.
QUOTED = re.compile(r"""["'](?=([^"'\n]+)["'])""")


def workload_file_notes(
    changed: Iterable[str],
    plan: WorkloadPlan,
    *,
    requests: Mapping[Side, ChildRequest],
    base_revision: Revision,
    harness: Harness,
) -> tuple[str, ...]:
    """Return the notes on files of the workloads: changes, and variables that they do not get.

    A smaller step would hide a slower product. `changed` are the files that differ in git.
    Comments, formatting and prose do not count as changes, nor do files that head adds for new
    workloads. Data count wherever a workload's file names them.
    """
    workloads, base, head = plan.to_measure, requests[Side.BASE], requests[Side.HEAD]
    if not workloads:
        return ()
    quoted = frozenset(text for each in _sources(workloads, head) for text in QUOTED.findall(each))
    return (
        *_changed_notes(
            changed,
            workloads,
            quoted,
            new=plan.new,
            base=base,
            head=head,
            base_revision=base_revision,
        ),
        *_withheld_notes(quoted, harness),
    )


def _withheld_notes(quoted: Iterable[str], harness: Harness) -> tuple[str, ...]:
    """Return the note on variables that the workloads' files name, and do not get."""
    received = child_variables(harness.environment, named=harness.variable_names)
    names = " ".join(text for text in quoted if text.isidentifier())
    hint = withheld_hint(harness.environment, received, names)
    return (f"{hint}, if the workloads need what their files name",) if hint else ()


def _changed_notes(
    changed: Iterable[str],
    workloads: Collection[WorkloadSpec],
    quoted: Collection[str],
    *,
    new: Iterable[WorkloadSpec],
    base: ChildRequest,
    head: ChildRequest,
    base_revision: Revision,
) -> tuple[str, ...]:
    modules = {spec.module for spec in workloads}
    new_modules = {spec.module for spec in new} - modules
    top = Path(head.root).resolve()
    roots = import_roots(top, head.import_paths) if head.suite is BenchmarkSuite.PERFLEDGER else ()
    # Tests share folders with pytest's benchmarks, and most changes include some.
    folders = () if head.suite is BenchmarkSuite.PYTEST else head.paths
    files: list[str] = []
    for path in changed:
        names = _module_names(top / path, top, roots)
        is_part = any(folder != "." and is_below(path, folder) for folder in folders)
        is_part = is_part or _is_named_data(path, quoted)
        before, after = Path(base.root, path), Path(head.root, path)
        is_added = bool(names & new_modules) and not _is_file(before)
        if (is_part or names & modules) and not is_added and not _is_alike(before, after):
            files.append(clean_text(path))
    if not files:
        return ()
    sha = short_sha(base_revision.sha)
    note = (
        f"files of the workloads differ between base and head ({first_few(files)}): their steps "
        "may not do the same work, and a smaller step hides slower code; `perfledger check "
        f"--workloads-from {sha}` measures both sides with those of base"
    )
    return (note,)


def _sources(workloads: Iterable[WorkloadSpec], request: ChildRequest) -> Iterator[str]:
    """Yield the text of each workload's file in a checkout, as far as it is where it seems."""
    top = Path(request.root).resolve()
    roots = (*import_roots(top, request.import_paths), top)
    for module in dict.fromkeys(spec.module for spec in workloads):
        files = (root.joinpath(*module.split(".")).with_suffix(".py") for root in roots)
        if file := next(filter(_is_file, files), None):
            yield file.read_text(encoding="utf-8", errors="replace")


def _is_named_data(path: str, quoted: Collection[str]) -> bool:
    """Return whether a workload's file names this file, which is none of Python."""
    pure = PurePosixPath(path)
    is_named = any(PurePosixPath(text).name == pure.name for text in quoted)
    return pure.suffix != ".py" and is_named


def _module_names(file: Path, top: Path, roots: Sequence[Path]) -> frozenset[str]:
    """Return the possible module names of this file.

    Without `roots` the tool's own root folders are unknown, so any suffix of the path may be one.
    """
    if file.suffix != ".py":
        return frozenset()
    if roots:
        return frozenset(filter(None, (module_name(file, roots),)))
    parts = file.relative_to(top).with_suffix("").parts
    return frozenset(".".join(parts[start:]) for start in range(len(parts)))


def _is_alike(base: Path, head: Path) -> bool:
    """Return whether two files differ in nothing that can change what a step does."""
    if head.suffix in PROSE_SUFFIXES:
        return True
    return (
        head.suffix == ".py"
        and all(map(_is_file, (base, head)))
        and is_same_code(base.read_bytes(), head.read_bytes())
    )


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
