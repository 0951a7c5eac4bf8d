"""Collects the workloads that a repository registers with the decorator, and a statement's."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from perfledger.failure_reason import detail_of
from perfledger.meters.framework_detection import framework_of
from perfledger.process.command_context import BoundWorkload, CollectedWorkloads, CommandContext
from perfledger.process.discovery import (
    ImportFailure,
    discover,
    file_modules,
    registering_file,
)
from perfledger.registration.statement import STATEMENT_FILE, statement_function
from perfledger.workload import Workload


def collect_registered(context: CommandContext, modules: frozenset[str]) -> CollectedWorkloads:
    """Import the user's files; environment variables that they set at import remain set."""
    imported = discover(
        context.root,
        paths=context.request.paths,
        roots=context.roots,
        modules=modules,
        list_files=context.source_files,
        importing=context.report_import,
    )
    context.channel.leave_if_forked()
    files = files_of(context)
    names = {os.path.realpath(path): module for module, path in files.items()}
    registered: list[BoundWorkload] = []
    broken = list(imported.broken)
    for workload in imported.workloads:
        if _is_second_import(workload, names):
            continue
        try:
            framework = framework_of(workload, root=context.root)
            values = context.request.params.get(workload.key)
            variants = context.request.variants.get(workload.key)
            specs = workload.specs(framework=framework, values=values, variants=variants)
        except BaseException as error:  # a boundary: units_per_step may be the user's code
            path = os.path.relpath(workload.source_line.rpartition(":")[0], context.root)
            detail = detail_of(error, root=context.root)
            module = registering_file(workload, files) or workload.function.__module__
            broken.append(ImportFailure(path=path, detail=detail, module=module))
        else:
            registered += [BoundWorkload(workload, spec) for spec in specs]
    return CollectedWorkloads(workloads=tuple(registered), broken=tuple(broken))


def files_of(context: CommandContext) -> Mapping[str, Path]:
    """Return the files of the request's workloads by their modules."""
    return file_modules(
        context.root,
        paths=context.request.paths,
        roots=context.roots,
        list_files=context.source_files,
    )


def _is_second_import(workload: Workload, names: Mapping[str, str]) -> bool:
    """Return whether a file of workloads was imported under another name than its own.

    With a folder of workloads on `sys.path`, `from work import …` in `benchmarks/other.py` runs
    `benchmarks/work.py` a second time. Its workloads are listed under the name of their file.
    """
    module = sys.modules.get(workload.function.__module__)
    path = os.path.realpath(getattr(module, "__file__", None) or "")
    is_defined_there = path == os.path.realpath(workload.source_line.rpartition(":")[0])
    return is_defined_there and names.get(path) not in {None, workload.function.__module__}


def collect_statement(context: CommandContext) -> CollectedWorkloads:
    """Return the workload of the request's statement."""
    try:
        function = statement_function(context.request.statement, str(context.root / STATEMENT_FILE))
    except SyntaxError as error:
        return CollectedWorkloads(broken=(_syntax_failure(error),))
    workload = Workload(function=function, source_line=STATEMENT_FILE)
    (spec,) = workload.specs(framework=framework_of(workload, root=context.root))
    return CollectedWorkloads(workloads=(BoundWorkload(workload, spec),))


def _syntax_failure(error: SyntaxError) -> ImportFailure:
    where = f"line {error.lineno}: " if error.lineno else ""
    line = f": {error.text.strip()}" if error.text else ""
    return ImportFailure(path=STATEMENT_FILE, detail=f"{where}{error.msg}{line}")
