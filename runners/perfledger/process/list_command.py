"""Lists the workloads of a checkout; of several files, each in a fork that imports no other."""

import mmap
import os
import sys
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from perfledger.process.command_context import (
    CollectedWorkloads,
    CommandContext,
    WorkloadCollector,
)
from perfledger.process.discovery import registering_file
from perfledger.process.environment_facts import (
    DEVICE_FACT_READERS,
    environment_facts,
    load_frameworks,
)
from perfledger.process.forks.isolated_run import run_in_fork
from perfledger.process.forks.obstacle import (
    OpenState,
    fork_obstacle,
    late_settings,
    open_state,
    start_settings,
)
from perfledger.process.registered_workloads import collect_registered, files_of
from perfledger.protocol import MessageType
from perfledger.records import Framework
from perfledger.registration.registrars import registrar_of

FRAMEWORKS = tuple(DEVICE_FACT_READERS)
# What forks tell their parent of each framework: that it was imported, and its device read.
LOADED, READ = 1, 2
NO_MODULE = frozenset({""})  # imports no file: for what is wrong with `paths`


def list_workloads(context: CommandContext, collect: WorkloadCollector) -> None:
    """List what a collector returns, in this process."""
    _send(context, collect(frozenset()), files={})


def list_files(context: CommandContext) -> None:
    """List each file's workloads in a fork.

    So what a file does at import decides nothing about the workloads of another, as when they are
    measured. A framework that a file imports is imported here too, once, for the files after it.
    """
    files = files_of(context)
    left = files
    if len(files) > 1 and not fork_obstacle(context.open_before):
        _send(context, collect_registered(context, NO_MODULE), files=files)
        left = _list_in_forks(context, files)
        if not left:
            return
    collected = collect_registered(context, frozenset(left))
    if left is not files:  # what is wrong with `paths` has been sent
        collected = _of_files(collected, left, files=files)
    _send(context, collected, files=files)


def _list_in_forks(context: CommandContext, files: Mapping[str, Path]) -> Mapping[str, Path]:
    """List files until forks would no longer be independent; return those that are left."""
    with mmap.mmap(-1, len(FRAMEWORKS)) as marks:
        before = open_state()
        for number, module in enumerate(files):
            if not _has_loaded(marks, before):
                return dict(tuple(files.items())[number:])
            run_in_fork(
                context.channel,
                partial(_list_file, context, module, files, marks),
                end=context.end,
            )
    return {}


def _has_loaded(marks: mmap.mmap, before: OpenState) -> bool:
    """Import the frameworks that forks have imported; return whether forks are independent."""
    new = _marked_frameworks(marks, LOADED) - _loaded_frameworks()
    load_frameworks(new)
    return not (new and fork_obstacle(before))


def _list_file(
    context: CommandContext, module: str, files: Mapping[str, Path], marks: mmap.mmap
) -> None:
    """List one file in this fork; refuse if it sets what a framework has read before."""
    settings, loaded = start_settings(), _loaded_frameworks()
    collected = collect_registered(context, frozenset({module}))
    reason = late_settings(settings, loaded) if loaded else ""
    if reason:
        path = os.path.relpath(files[module], context.root)
        context.channel.send(MessageType.NO_FORK, {"workloads": [path], "reason": reason})
        return
    of_file = _of_files(collected, {module}, files=files)
    in_use = _send(
        context, of_file, files=files, otherwise=module, without=_marked_frameworks(marks, READ)
    )
    for number, each in enumerate(FRAMEWORKS):
        if each in sys.modules:
            marks[number] |= LOADED
        if each in in_use:
            marks[number] |= READ


def _loaded_frameworks() -> frozenset[Framework]:
    return frozenset(each for each in FRAMEWORKS if each in sys.modules)


def _marked_frameworks(marks: mmap.mmap, mark: int) -> frozenset[Framework]:
    return frozenset(each for each, one in zip(FRAMEWORKS, marks[:], strict=True) if one & mark)


def _of_files(
    collected: CollectedWorkloads, modules: Collection[str], *, files: Container[str]
) -> CollectedWorkloads:
    """Return what these of the files register themselves, and why they cannot be imported.

    What none of the files registers, such as a thread, is of one of these: no other was imported.
    """
    return replace(
        collected,
        workloads=tuple(
            each
            for each in collected.workloads
            if registering_file(each.workload, files) in {"", *modules}
        ),
        broken=tuple(
            each
            for each in collected.broken
            if each.module in modules or (each.module and each.module not in files)
        ),
    )


def _send(
    context: CommandContext,
    collected: CollectedWorkloads,
    *,
    files: Mapping[str, Path],
    otherwise: str = "",
    without: Iterable[Framework] = (),
) -> frozenset[Framework]:
    """Send the workloads and the facts of their frameworks; return the frameworks.

    The devices of the frameworks in `without` are known. A workload that none of the files has
    registered is of the file `otherwise`.
    """
    in_use = frozenset(each.spec.framework for each in collected.workloads)
    facts = environment_facts(in_use - frozenset(without))
    context.channel.send(MessageType.FACTS, asdict(facts))
    for each in collected.broken:
        context.channel.send(
            MessageType.BROKEN, {"path": each.path, "detail": each.detail, "reason": each.reason}
        )
    for benchmark in collected.left_out:
        context.channel.send(MessageType.LEFT_OUT, asdict(benchmark))
    for note in collected.notes:
        context.channel.send(MessageType.NOTE, {"text": note})
    for one in collected.workloads:
        file = registering_file(one.workload, files) or otherwise
        fields = {
            "file": file,
            "path": os.path.relpath(files[file], context.root) if file else "",
            "registrar": registrar_of(one.workload.function, one.workload.registrars),
        }
        context.channel.send(MessageType.WORKLOAD, {**asdict(one.spec), **fields})
    return in_use
