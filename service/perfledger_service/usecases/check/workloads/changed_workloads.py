"""Warns where the files of the workloads differ between the sides of a check."""

import stat
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

from perfledger.protocol import BenchmarkSuite, ChildRequest
from perfledger.records import Revision, WorkloadSpec
from perfledger_runners.checkouts.checkout_difference import PROSE_SUFFIXES
from perfledger_runners.checkouts.python_code import is_same_code
from perfledger_runners.checkouts.source_tree import is_below, listed
from perfledger_runners.safe_text import clean_text
from perfledger_service.usecases.check.revisions import SHORT_SHA


def changed_workload_notes(
    changed: Iterable[str],
    workloads: Collection[WorkloadSpec],
    *,
    base: ChildRequest,
    head: ChildRequest,
    base_revision: Revision,
) -> tuple[str, ...]:
    """Return the note on changed files of workloads: a smaller step would hide a slower product.

    `changed` are the files that differ in git. Comments, layout and prose change no step.
    """
    if not workloads:
        return ()
    modules = {spec.module for spec in workloads}
    # Tests lie in the same folders as benchmarks of pytest, and most changes have some.
    folders = () if head.suite is BenchmarkSuite.PYTEST else head.paths
    files = [
        clean_text(path)
        for path in changed
        if _is_part(path, modules, folders)
        and not _is_alike(Path(base.root, path), Path(head.root, path))
    ]
    if not files:
        return ()
    sha = base_revision.sha[:SHORT_SHA]
    note = (
        f"files of the workloads differ between base and head ({listed(files)}): their steps may "
        "not do the same work, and a smaller step hides slower code; `perfledger check "
        f"--workloads-from {sha}` measures both sides with those of base"
    )
    return (note,)


def _is_part(path: str, modules: Collection[str], folders: Iterable[str]) -> bool:
    pure = PurePosixPath(path)
    parts = pure.with_suffix("").parts
    is_module = pure.suffix == ".py" and any(
        ".".join(parts[start:]) in modules for start in range(len(parts))
    )
    return is_module or any(folder != "." and is_below(path, folder) for folder in folders)


def _is_alike(base: Path, head: Path) -> bool:
    """Return whether two files differ in nothing that a step could do differently."""
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
