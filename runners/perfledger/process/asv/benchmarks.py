"""Collects the benchmarks of asv: functions and methods named time_*, without importing asv.

https://asv.readthedocs.io/en/stable/writing_benchmarks.html
"""

import hashlib
import inspect
import os
import pickle
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from perfledger.failure_reason import UnmeasurableError, detail_of
from perfledger.meters.framework_detection import reached_frameworks
from perfledger.process.asv.configuration import benchmark_folders, import_root
from perfledger.process.asv.parameters import ParameterPoint, parameter_points
from perfledger.process.command_context import (
    BoundWorkload,
    CollectedWorkloads,
    CommandContext,
    LeftOutBenchmark,
    ignored_note,
)
from perfledger.process.discovery import (
    ImportFailure,
    import_below,
    name_clash,
    source_files,
)
from perfledger.process.suite_names import short_id
from perfledger.records import FailureReason, Framework, Param, WorkloadSpec
from perfledger.workload import AnyStep, PreparedStep, Step, Workload, WorkloadError

# The kind of a benchmark by its name, as asv_runner.benchmarks has it.
_KIND = re.compile(r"(time|timeraw|mem|peakmem|track)_.|(Time|Timeraw|Mem|PeakMem|Track)[A-Z_].")
NOT_TIMED = {
    "timeraw": "asv runs it as a separate program",
    "mem": "it is the size of an object, not a time",
    "peakmem": "it is a memory peak, which is measured for each timed benchmark anyway",
    "track": "it returns a number, not a time",
}

# Attributes that say how asv repeats a benchmark and shows it; a check decides this itself.
IGNORED = (
    "min_run_count",
    "pretty_name",
    "processes",
    "repeat",
    "rounds",
    "sample_time",
    "version",
    "warmup_time",
)

Foreign = Any  # a class, instance or function of the user's


@dataclass(frozen=True, slots=True, kw_only=True)
class AsvBenchmark:
    """A function or method of a module, with where its attributes are looked up."""

    module: ModuleType
    owner: type | None  # the class of a method
    name: str

    @property
    def function_name(self) -> str:
        """Return the name below its module."""
        return self.name if self.owner is None else f"{self.owner.__name__}.{self.name}"

    def sources(self) -> tuple[Foreign, ...]:
        """Return what may have attributes: the function, a new instance, the module."""
        if self.owner is None:
            return getattr(self.module, self.name), self.module
        instance = self.owner()
        return getattr(instance, self.name), instance, self.module


def collect_asv(context: CommandContext, modules: frozenset[str]) -> CollectedWorkloads:
    """Import the files of the benchmark folders and return their benchmarks."""
    clash = name_clash(context.root, context.roots)
    if clash is not None:
        return CollectedWorkloads(broken=(clash,))
    folders, broken = benchmark_folders(context.root, context.request.paths)
    workloads: dict[str, BoundWorkload] = {}
    left_out: list[LeftOutBenchmark] = []
    ignored: Counter[str] = Counter()
    for folder in folders:
        top = import_root(folder, context.root)
        roots = (top,) if top.is_relative_to(context.root) else context.roots
        sys.path[:0] = [str(root) for root in roots if str(root) not in sys.path]
        files = tuple(
            import_below(
                folder,
                root=context.root,
                roots=roots,
                modules=modules,
                list_files=partial(_listed_files, context),
                importing=context.report_import,
            )
        )
        context.channel.leave_if_forked()
        for file in files:
            if isinstance(file, ImportFailure):
                broken.append(file)
                continue
            for benchmark in _benchmarks(file):
                try:
                    sources = benchmark.sources()  # once: constructing a class may take long
                    _add(benchmark, sources, context, workloads, left_out)
                    ignored.update(name for name in IGNORED if _first(sources, name) is not None)
                except BaseException as error:  # a boundary: the user's class may raise anything
                    broken.append(_failure(benchmark, error, context))
    _cache_folder()  # before the forks, which share it
    return CollectedWorkloads(
        workloads=tuple(workloads.values()),
        broken=tuple(broken),
        left_out=tuple(left_out),
        notes=ignored_note("asv", ignored),
    )


def _listed_files(context: CommandContext, top: Path) -> Iterator[Path]:
    """Yield the files at or below a path that may be imported."""
    listed = context.request.listed_files
    for file in source_files(top):
        if not listed or file.relative_to(context.root).as_posix() in listed:
            yield file


def _benchmarks(module: ModuleType) -> Iterator[AsvBenchmark]:
    """Yield what asv takes for a benchmark: methods of public classes, and functions."""
    for name, value in tuple(vars(module).items()):
        if name.startswith("_"):
            continue
        if inspect.isclass(value) and not inspect.isabstract(value):
            for method, function in inspect.getmembers(value, inspect.isroutine):
                if inspect.isfunction(function) or inspect.ismethod(function):
                    yield from _benchmarks_of(module, value, method, function)
        elif inspect.isfunction(value):
            yield from _benchmarks_of(module, None, name, value)


def _benchmarks_of(
    module: ModuleType, owner: type | None, name: str, function: Foreign
) -> Iterator[AsvBenchmark]:
    if _kind(name, function):
        yield AsvBenchmark(module=module, owner=owner, name=name)


def _kind(name: str, function: Foreign) -> str:
    """Return "time" or another kind of benchmark, "" for other functions."""
    match = _KIND.match(str(getattr(function, "benchmark_name", name)).rpartition(".")[2])
    return (match[1] or match[2]).lower() if match else ""


def _add(
    benchmark: AsvBenchmark,
    sources: Sequence[Foreign],
    context: CommandContext,
    workloads: dict[str, BoundWorkload],
    left_out: list[LeftOutBenchmark],
) -> None:
    """Add the workloads of a benchmark, one for each point of its parameters."""
    key = f"{benchmark.module.__name__}:{benchmark.function_name}"
    function = sources[0]
    reason = NOT_TIMED.get(_kind(benchmark.name, function), "")
    if getattr(function, "skip_benchmark", False):
        reason = "it is marked to be skipped"
    elif _first(sources, "timer") is not None:
        reason = "it has its own timer"
    if reason:
        left_out.append(LeftOutBenchmark(key, f"asv: {reason}"))
        return
    framework = _framework(benchmark, key, context)
    timeout = _first(sources, "timeout")
    skipped = [tuple(each) for each in getattr(function, "skip_params", None) or ()]
    points = tuple(
        parameter_points(_first(sources, "params", ()), _first(sources, "param_names", ()))
    )
    if not points:
        left_out.append(LeftOutBenchmark(key, "asv: one of its parameters has no values"))
    for point in points:
        name = short_id(f"{key}[{point.text}]" if point.text else key)
        reason = "another benchmark has the same id" if name in workloads else ""
        if point.values in skipped:
            reason = "these parameters are marked to be skipped"
        if reason:
            left_out.append(LeftOutBenchmark(name, f"asv: {reason}"))
            continue
        spec = WorkloadSpec(
            id=name,
            module=benchmark.module.__name__,
            function=benchmark.function_name,
            params=point.params,
            framework=framework,
            timeout=float(timeout) if isinstance(timeout, int | float) and timeout > 0 else None,
        )
        workloads[name] = BoundWorkload(_workload(benchmark, point), spec)


def _framework(benchmark: AsvBenchmark, key: str, context: CommandContext) -> Framework:
    code: object = benchmark.owner or inspect.unwrap(getattr(benchmark.module, benchmark.name))
    frameworks = reached_frameworks((code,), benchmark.module.__name__, root=context.root)
    if len(frameworks) > 1:
        msg = f"benchmark {key!r} uses torch and jax: perfledger cannot tell whose clock to read"
        raise WorkloadError(msg)
    return next(iter(frameworks), Framework.HOST)


def _workload(benchmark: AsvBenchmark, point: ParameterPoint) -> Workload:
    running: list[_RunningBenchmark] = []

    def set_up(**_: Param) -> AnyStep:
        running[:] = [_RunningBenchmark(benchmark, point.values)]
        return running[0].step()

    def tear_down(_: AnyStep) -> None:
        running[0].tear_down()

    file = inspect.getsourcefile(benchmark.owner or benchmark.module) or ""
    return Workload(function=set_up, source_line=f"{file}:1", teardown=tear_down)


class _RunningBenchmark:
    """A benchmark that is set up: its own instance, and the values that it is called with."""

    def __init__(self, benchmark: AsvBenchmark, values: Sequence[object]) -> None:
        os.chdir(_private_folder())  # asv's benchmarks may write to the working folder
        self._sources = benchmark.sources()
        self._values = (*_cache_copy(self._sources), *values)

    def step(self) -> AnyStep:
        """Set up and return the step."""
        self._set_up()
        function: Foreign = self._sources[0]
        run: Step = partial(function, *self._values) if self._values else function
        number = int(_first(self._sources, "number") or 0)
        if number == 0:  # asv chooses the number of calls: one set-up for many
            return run
        is_fresh = True

        def prepare() -> None:
            nonlocal is_fresh
            if not is_fresh:
                self.tear_down()
                self._set_up()
            is_fresh = False

        return PreparedStep(prepare, run, number)

    def _set_up(self) -> None:
        for function in reversed(_every(self._sources, "setup")):
            try:
                function(*self._values)
            except NotImplementedError as error:  # asv's way to skip
                detail = f"its setup raised NotImplementedError {error}".rstrip()
                raise UnmeasurableError(FailureReason.SKIPPED, detail) from error

    def tear_down(self) -> None:
        """Call the benchmark's teardowns, from the function's to the module's."""
        for function in _every(self._sources, "teardown"):
            function(*self._values)


# The folders of a process and its forks: those in which benchmarks run, and the one that keeps what
# each setup_cache returned, by its function's line, with the folder in which it ran.
_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
_CACHE_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


def _private_folder() -> str:
    """Return the folder in which this process's benchmarks run."""
    return _only_folder(_FOLDERS, "asv-")


def _cache_folder() -> Path:
    """Return the folder of the caches; forks share it once their parent has created it."""
    return Path(_only_folder(_CACHE_FOLDERS, "asv-cache-"))


def _only_folder(folders: list[tempfile.TemporaryDirectory[str]], prefix: str) -> str:
    if not folders:
        folders.append(tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True))
    return folders[0].name


def _cache_copy(sources: Sequence[Foreign]) -> tuple[object, ...]:
    """Return a copy of what setup_cache returned, () if there is none or it returned None.

    It runs once for this process and its forks. As in asv, its benchmarks run in its folder, where
    they find the files that it wrote.
    """
    function = _first(sources, "setup_cache")
    if function is None:
        return ()
    code = inspect.unwrap(function).__code__
    source_line = f"{code.co_filename}:{code.co_firstlineno}"
    place = _cache_folder() / hashlib.sha256(source_line.encode()).hexdigest()[:16]
    stored = place.with_suffix(".pickle")
    if not stored.exists():
        shutil.rmtree(place, ignore_errors=True)  # of a process that failed in it
        place.mkdir()
        os.chdir(place)
        part = place.with_suffix(".part")
        part.write_bytes(pickle.dumps(function()))
        part.replace(stored)
    os.chdir(place)
    value = pickle.loads(stored.read_bytes())  # noqa: S301 - written by this process or a fork
    return () if value is None else (value,)


def _first(sources: Sequence[Foreign], name: str, default: object = None) -> Foreign:
    """Return the first of the sources' attributes of this name, else the default."""
    return next(
        (value for each in sources if (value := getattr(each, name, None)) is not None), default
    )


def _every(sources: Sequence[Foreign], name: str) -> list[Callable[..., object]]:
    """Return all of the sources' functions of this name, in upper or lower case."""
    return [
        getattr(source, key)
        for source in sources
        for key in dir(source)
        if key.lower() == name and getattr(source, key) is not None
    ]


def _failure(
    benchmark: AsvBenchmark, error: BaseException, context: CommandContext
) -> ImportFailure:
    module = benchmark.module
    path = os.path.relpath(getattr(module, "__file__", None) or module.__name__, context.root)
    detail = f"{benchmark.function_name}: {detail_of(error, root=context.root)}"
    return ImportFailure(path=path, detail=detail, module=module.__name__)
