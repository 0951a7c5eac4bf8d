"""Runs a request: lists, measures, profiles, counts or load-tests workloads."""

import math
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NoReturn, assert_never

from perfledger.failure_reason import UnmeasurableError, detail_of, failure_reason
from perfledger.measuring.rank_link import RankLink
from perfledger.measuring.source_lines import keep_lines
from perfledger.measuring.timed_step import TimedStep
from perfledger.meters.device import MEMORY_EFFORT, USUAL_EFFORT
from perfledger.meters.process_memory import object_pages
from perfledger.meters.torch_work import load_counter
from perfledger.process.asv.benchmarks import collect_asv
from perfledger.process.command_context import (
    BoundWorkload,
    CollectedWorkloads,
    CommandContext,
    Fields,
    WorkloadCollector,
    join_framework,
    meter_of,
    set_up_step,
    trace_folder,
    turn_of,
)
from perfledger.process.count_command import count_calls, count_work
from perfledger.process.discovery import ImportFailure, import_roots
from perfledger.process.environment_facts import load_frameworks
from perfledger.process.error_report import print_error
from perfledger.process.forks.isolated_run import flush_output, run_in_fork
from perfledger.process.forks.obstacle import (
    fork_obstacle,
    late_settings,
    open_state,
    start_settings,
)
from perfledger.process.forks.process_end import ProcessEnd
from perfledger.process.list_command import list_files, list_workloads
from perfledger.process.load_command import load_workload
from perfledger.process.loaded_packages import PackageRecorder
from perfledger.process.measure_command import measure_workload
from perfledger.process.message_channel import MessageChannel
from perfledger.process.package_imports import prefer_checkout, python_path
from perfledger.process.registered_workloads import collect_registered, collect_statement
from perfledger.protocol import BenchmarkSuite, ChildRequest, Command, MessageType
from perfledger.records import FailureReason, Framework
from perfledger.workload import AnyStep, Step

# Answers a request in a session of another tool; the second argument answers with the workloads
# that a collector returns.
SuiteRunner = Callable[[CommandContext, Callable[[WorkloadCollector], None]], None]

NO_PROFILE: Fields = {"tool": "", "trace": "", "steps": 0, "step_seconds": 0.0}


def run_command(
    request: ChildRequest,
    channel: MessageChannel,
    *,
    end: ProcessEnd,
    in_pytest: SuiteRunner | None = None,
    link: RankLink | None = None,
) -> None:
    """Run the request's command and answer on the channel; the last message is DONE.

    `end` is that of this process. `in_pytest` answers a request for tests; None if pytest is not
    installed. `link` connects a rank of a launched workload to the others.
    """
    began, open_before = monotonic(), open_state()
    root = Path(request.root).resolve()
    roots = import_roots(root, request.import_paths)
    os.chdir(root)
    keep_lines(root, request.watched_sources)
    sys.path[:0] = [str(folder) for folder in roots]
    copied = prefer_checkout(
        root,
        request.packages,
        search_path=sys.path,
        add_finder=lambda finder: sys.meta_path.insert(0, finder),
        at=len(roots),
        environment=request.environment,
    )
    os.environ["PYTHONPATH"] = python_path(
        root, sys.path, without=copied, inherited=os.environ.get("PYTHONPATH", "")
    )
    own_names = (request.environment, os.environ.get("TORCH_EXTENSIONS_DIR", ""))
    own_folders = [root, *(Path(name) for name in own_names if name)]
    context = CommandContext(
        request=request,
        channel=channel,
        root=root,
        roots=roots,
        recorder=PackageRecorder(
            request.packages, own_folders=own_folders, repository=Path(request.repository)
        ),
        end=end,
        link=link,
        began=began,
        open_before=open_before,
        workloads=request.workloads,
    )
    answer = partial(_answer_suite, in_pytest=in_pytest)
    files = request.by_file()
    if context.is_forking and len(files) > 1:
        _answer_by_file(context, files, answer)
    else:
        answer(context)
    _wait_until_ready(context, "")
    channel.send(MessageType.DONE)


def _answer_by_file(
    context: CommandContext,
    files: Sequence[tuple[str, ...]],
    answer: Callable[[CommandContext], None],
) -> None:
    """Run the workloads of each file in a fork, which imports this file and no other.

    So what a file sets at import, such as the precision of JAX, reaches no workload of another.
    """
    _load(context, context.request.frameworks)
    if _refuses_to_fork(context):
        return
    for names in files:
        _wait_until_ready(context, names[0])
        run_in_fork(context.channel, partial(_answer_file, context, names, answer), end=context.end)


def _load(context: CommandContext, frameworks: Collection[Framework]) -> None:
    """Import what the workloads of frameworks need, once for all forks of this process."""
    load_frameworks(frameworks)
    if context.request.command is Command.COUNT and Framework.TORCH in frameworks:
        load_counter()


def _answer_file(
    context: CommandContext, names: tuple[str, ...], answer: Callable[[CommandContext], None]
) -> None:
    settings = start_settings() if context.request.frameworks else None
    answer(replace(context, workloads=names, open_before=open_state(), settings_before=settings))


def _refuses_to_fork(context: CommandContext) -> bool:
    """Return whether forks of this process would not be independent, and say so."""
    obstacle = (
        fork_obstacle(context.open_before)
        or late_settings(context.settings_before, context.request.frameworks)
        or context.end.obstacle()
    )
    if obstacle:
        fields = {"workloads": context.workloads, "reason": obstacle}
        context.channel.send(MessageType.NO_FORK, fields)
    return bool(obstacle)


def _answer_suite(context: CommandContext, *, in_pytest: SuiteRunner | None) -> None:
    match context.request.suite:
        case BenchmarkSuite.PERFLEDGER if context.request.command is Command.LIST:
            list_files(context)
        case BenchmarkSuite.PERFLEDGER:
            _answer_request(context, partial(collect_registered, context))
        case BenchmarkSuite.ASV:
            _answer_request(context, partial(collect_asv, context))
        case BenchmarkSuite.STATEMENT:
            _answer_request(context, lambda _: collect_statement(context))
        case BenchmarkSuite.PYTEST if in_pytest is not None:
            in_pytest(context, partial(_answer_request, context))
        case BenchmarkSuite.PYTEST:
            _answer_request(context, lambda _: _without_pytest())
        case _ as unreachable:
            assert_never(unreachable)


def _without_pytest() -> CollectedWorkloads:
    detail = f"pytest is not installed for {sys.executable}: install it, or set `python`"
    broken = ImportFailure(path="pytest", detail=detail, reason=FailureReason.PYTHON)
    return CollectedWorkloads(broken=(broken,))


def _answer_request(context: CommandContext, collect: WorkloadCollector) -> None:
    match context.request.command:
        case Command.LIST:
            list_workloads(context, collect)
        case Command.MEASURE | Command.PROFILE | Command.COUNT | Command.CALLS | Command.LOAD:
            _run(context, collect)
        case _ as unreachable:
            assert_never(unreachable)


def _run(context: CommandContext, collect: WorkloadCollector) -> None:
    """Answer for every requested workload, even if others fail."""
    requested = context.workloads
    collected = collect(frozenset(map(context.request.file_of, requested)))
    missing = set(requested) - {each.spec.id for each in collected.workloads}
    if missing - context.request.files.keys():
        collected = collect(frozenset())  # some are registered by the file of another module
    by_id = {each.spec.id: each for each in collected.workloads}
    used = {each.spec.framework for name, each in by_id.items() if name in (requested or by_id)}
    join_framework(context, used)
    _load(context, used)
    context = replace(context, workloads=requested or tuple(by_id))
    if context.is_forking and _refuses_to_fork(context):
        return
    is_untimed = context.request.command in {Command.COUNT, Command.CALLS}
    is_measured = context.is_forking and not is_untimed
    objects = object_pages() if is_measured else ()  # of this process, for all of its forks
    for name in context.workloads:
        _wait_until_ready(context, name)
        answer = partial(_answer_workload, context, by_id, name=name, broken=collected.broken)
        if context.is_forking:
            run_in_fork(context.channel, answer, end=context.end, objects=objects)
        else:
            answer()


def _answer_workload(
    context: CommandContext,
    registered: Mapping[str, BoundWorkload],
    *,
    name: str,
    broken: Sequence[ImportFailure],
) -> None:
    context.channel.send(MessageType.STARTED, {"workload": name, "log_bytes": _log_bytes()})
    event, fields = _answer(context, registered, name=name, broken=broken)
    flush_output()
    context.channel.send(event, {"workload": name, **fields})


def _wait_until_ready(context: CommandContext, name: str) -> None:
    """Wait for the other side before disturbing it with a set-up; the name "" means the end."""
    if context.request.is_interleaved:
        context.channel.send(MessageType.READY, {"workload": name})
        context.channel.wait()


def _answer(
    context: CommandContext,
    registered: Mapping[str, BoundWorkload],
    *,
    name: str,
    broken: Sequence[ImportFailure],
) -> tuple[MessageType, Fields]:
    try:
        bound = registered.get(name) or _raise_missing(
            name, broken, module=context.request.file_of(name)
        )
        match context.request.command:
            case Command.PROFILE:
                return MessageType.PROFILED, bound.run(partial(_profile, context))
            case Command.COUNT:
                return MessageType.COUNTED, bound.run(partial(count_work, context))
            case Command.CALLS:
                return MessageType.CALLED, bound.run(partial(count_calls, context))
            case Command.LOAD:
                return MessageType.LOADED, bound.run(partial(load_workload, context))
            case Command.MEASURE | Command.LIST:
                fields = bound.run(partial(measure_workload, context))
                is_sent = context.request.has_windows(name)  # the run was sent before its windows
                return MessageType.WINDOWS if is_sent else MessageType.RUN, fields
    except BaseException as error:  # a boundary: a failing workload must not end the others
        context.channel.leave_if_forked()
        if not isinstance(error, UnmeasurableError):
            with suppress(Exception):  # the workload may have closed standard error
                print_error(error, root=context.root, file=sys.stderr)
        return MessageType.FAILED, {
            "reason": failure_reason(error),
            "detail": detail_of(error, root=context.root),
        }


def _raise_missing(name: str, broken: Sequence[ImportFailure], *, module: str) -> NoReturn:
    for each in broken:
        if each.module in {"", module}:
            raise UnmeasurableError(each.reason, f"{each.path}: {each.detail}")
    raise UnmeasurableError(
        FailureReason.MISSING, f"no workload {name!r} is registered in this revision"
    )


def _profile(context: CommandContext, bound: BoundWorkload) -> Fields:
    number = context.index_of(bound.spec.id)
    device, meter = meter_of(context, bound)
    folder = trace_folder(context)
    with meter.device_context(), meter.compilation_log(), ExitStack() as teardowns:

        def set_up() -> AnyStep:
            teardowns.close()  # of the previous set-up
            return set_up_step(context, bound, device, meter, teardowns=teardowns)

        bench = TimedStep(
            set_up,
            meter.clock,
            effort=context.request.effort,
            after_step=context.channel.leave_if_forked,
        )
        bench.renew()
        if bench.is_prepared:  # a profile would count the preparations as steps
            return NO_PROFILE
        effort = (
            MEMORY_EFFORT
            if context.request.explains_memory
            else replace(USUAL_EFFORT, until=_last_window(context, number))
        )
        traced = meter.trace(_windows(context, bound, bench), folder, str(number), effort=effort)
        lines_file = folder / f"{number}.lines.json"
        lines = meter.lines(bench.step, context.root, lines_file) if effort.has_time else None
    if traced is None:  # plain Python has no profiler: answer without a trace
        return NO_PROFILE
    paths = {
        "trace": str(traced.trace),
        "repeats": [*map(str, traced.repeats)],
        "shapes": str(traced.shapes or ""),
        "lines": str(lines or ""),
    }
    return {**asdict(traced), **paths}


def _last_window(context: CommandContext, number: int) -> float:
    """Return the time after which a workload's windows no longer begin; workload 0 is the first."""
    request = context.request
    if request.profile_s is None:
        return math.inf
    return context.began + request.profile_s * (number + 1) / max(1, len(request.workloads))


def _windows(context: CommandContext, bound: BoundWorkload, bench: TimedStep) -> Callable[[], Step]:
    """Return a function that waits for a window's turn and returns its step, perhaps set up again.

    This gives both sides their quiet windows at the same time, and each side several set-ups.
    """
    turn = turn_of(context, bound.spec.id)
    is_first = True

    def step_of_window() -> Step:
        nonlocal is_first
        turn()
        if not is_first and bound.workload.set_ups > 1:
            bench.renew()
        is_first = False
        return bench.step

    return step_of_window


def _log_bytes() -> int:
    """Return the length of the log before a workload prints to it."""
    flush_output()
    size = 0
    with suppress(OSError):  # a workload has closed standard error
        size = os.fstat(2).st_size
    return size
