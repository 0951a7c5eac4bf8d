"""Measures tests with the fixture `benchmark`, which are written for pytest-benchmark.

pytest loads it with `-p perfledger.pytest_plugin`; no other module imports pytest. In a check, a
child of the agent runs the tests of one side: each measures what it passes to `benchmark`, in turns
with the other side. With `--perfledger`, pytest measures the working folder alone.

The fixture is pytest-benchmark's (https://pytest-benchmark.readthedocs.io/en/stable/usage.html):
`benchmark(function, ...)`, `benchmark.pedantic(...)`, and as a decorator. Its marks and options for
groups, rounds and statistics do not apply.
"""

import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, redirect_stderr
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest

from perfledger.failure_reason import UnmeasurableError, detail_of
from perfledger.meters.framework_detection import reached_frameworks
from perfledger.process.benchmark_fixture import BenchmarkFixture, Task
from perfledger.process.benchmark_sources import (
    may_have_benchmarks,
    uncollected_files,
    unrelated_notes,
)
from perfledger.process.command_context import (
    BoundWorkload,
    CollectedWorkloads,
    CommandContext,
    Fields,
    LeftOutBenchmark,
    WorkloadCollector,
    ignored_note,
)
from perfledger.process.discovery import ImportFailure
from perfledger.process.local_results import LocalResult, measure_here, table_lines
from perfledger.process.state import hidden_history
from perfledger.process.suite_names import file_of_test, module_name, tags_of, workload_id
from perfledger.protocol import Command
from perfledger.records import FailureReason, Framework, Param, WorkloadSpec
from perfledger.workload import AnyStep, Step, Workload

FIXTURES = frozenset({"benchmark", "benchmark_weave"})
MARK = "benchmark"
WITHOUT_FIXTURE = (
    "pytest: it has the mark `benchmark` but does not use the fixture, and only pytest-codspeed "
    "measures such a test as a whole: call benchmark(...) in it"
)
REPLACED_PLUGIN = "benchmark"  # the name of pytest-benchmark
MAX_REASON = 300  # characters of what pytest says
PLACES = ("inifile:", "rootdir:")  # lines after a reason, which say where pytest looked
# Options that keep other plugins, if installed, from measuring at the same time.
QUIET_PLUGINS = {
    "xdist": ("-n", "0"),
    "pytest_cov": ("--no-cov",),
    "pytest_timeout": ("--timeout", "0"),
}


class SessionPlugin:
    """The plugin of a child's session, which runs the requested tests."""

    def __init__(
        self, context: CommandContext, answer: Callable[[WorkloadCollector], None]
    ) -> None:
        self._context, self._answer = context, answer
        self._task: Task | None = None
        self._failures: list[ImportFailure] = []
        self._unrelated: dict[str, None] = {}  # files that fail, and cannot hold a benchmark
        self._reports: list[pytest.TestReport] = []
        self.has_answered = False
        self.startup_output = io.StringIO()
        self.startup = ExitStack()  # ends before the first test
        self.startup.enter_context(redirect_stderr(self.startup_output))

    @pytest.fixture
    def benchmark(self) -> BenchmarkFixture:
        """Return the fixture of pytest-benchmark, measured by perfledger."""
        return BenchmarkFixture(self._measure)

    def _measure(self, step: AnyStep) -> None:
        if self._task is None:
            detail = "benchmark was called outside of its test"
            raise UnmeasurableError(FailureReason.RAISED, detail)
        self._task(step)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a file that cannot be collected."""
        path = report.nodeid.partition("::")[0]
        if report.failed and not may_have_benchmarks(self._context.root / path):
            self._unrelated[path] = None  # a file may also fail as a module with doctests
        elif report.failed:
            lines = str(report.longreprtext).strip().splitlines() or [""]
            errors = [line for line in lines if line.startswith("E ")]  # variables may follow (-l)
            detail = (errors or lines)[-1].removeprefix("E ").strip()[:MAX_REASON]
            module = module_name(report.nodeid)
            self._failures.append(ImportFailure(path=path, detail=detail, module=module))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record how a phase of a test ended."""
        self._reports.append(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer the request instead of running all tests."""
        self.has_answered = True
        self.startup.close()
        items = [item for item in session.items if isinstance(item, pytest.Function)]
        files = frozenset(item.path for item in session.items)
        self._answer(lambda _: self._collected_workloads(items, files))
        return True

    def broken(self, detail: str) -> CollectedWorkloads:
        """Return the answer of a session that ended before its tests."""
        session = ImportFailure(path=", ".join(self._context.request.paths) or ".", detail=detail)
        return CollectedWorkloads(broken=(*self._failures, session))

    def _collected_workloads(
        self, items: Sequence[pytest.Function], files: frozenset[Path]
    ) -> CollectedWorkloads:
        workloads: dict[str, BoundWorkload] = {}
        left_out = list(self._uncollected(files))
        for item in items:
            if not _has_fixture(item):
                if item.get_closest_marker(MARK) is not None:
                    left_out.append(LeftOutBenchmark(workload_id(item.nodeid), WITHOUT_FIXTURE))
                continue
            name, reason = workload_id(item.nodeid), self._reason_left_out(item)
            if name in workloads:
                reason = "another test has the same id"
            if reason:
                left_out.append(LeftOutBenchmark(name, f"pytest: {reason}"))
            else:
                workloads[name] = self._bound(item)
        return CollectedWorkloads(
            workloads=tuple(workloads.values()),
            broken=tuple(self._failures),
            left_out=tuple(left_out),
            notes=(
                *ignored_note("pytest-benchmark", Counter(chain(*map(_ignored_options, items)))),
                *unrelated_notes(tuple(self._unrelated)),
            ),
        )

    def _uncollected(self, files: frozenset[Path]) -> Iterator[LeftOutBenchmark]:
        """Yield the files with benchmarks that pytest does not collect, if it looks for all."""
        request, root = self._context.request, self._context.root
        if request.command is Command.LIST and not request.paths:
            broken = {root / failure.path for failure in self._failures}
            yield from uncollected_files(root, collected=files | broken)

    def _reason_left_out(self, item: pytest.Function) -> str:
        if "benchmark_weave" in item.fixturenames:
            return "benchmark_weave is not supported"
        if len(_frameworks(item, self._context.root)) > 1:
            return "it uses torch and jax: perfledger cannot tell whose clock to read"
        return ""

    def _bound(self, item: pytest.Function) -> BoundWorkload:
        spec = _spec(item, self._context.root)
        workload = Workload(function=_no_set_up, source_line=f"{item.path}:{item.location[1]}")
        return BoundWorkload(workload, spec, within=partial(self._run_test, item, workload, spec))

    def _run_test(
        self,
        item: pytest.Function,
        workload: Workload,
        spec: WorkloadSpec,
        task: Callable[[BoundWorkload], Fields],
    ) -> Fields:
        """Run the test, and the task when it calls the fixture; return what the task returns."""
        results: list[Fields] = []
        errors: list[BaseException] = []

        def measure(step: AnyStep) -> None:
            try:
                results.append(task(BoundWorkload(_ready_workload(workload, step), spec)))
            except BaseException as error:
                errors.append(error)
                raise

        self._task = measure
        try:
            # Without a next test all of its fixtures end, so that each test is measured alone.
            item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        finally:
            self._task, reports, self._reports = None, self._reports, []
        self._context.channel.leave_if_forked()
        if errors:
            raise errors[0]
        for report in reports:
            if report.skipped:
                raise UnmeasurableError(FailureReason.SKIPPED, _skip_reason(report))
            if report.failed:
                detail = f"the test failed in its {report.when}: {_last_line(report)}"
                raise UnmeasurableError(FailureReason.RAISED, detail)
        if not results:
            detail = "the test did not call benchmark"
            raise UnmeasurableError(FailureReason.RAISED, detail)
        return results[0]


class WorkingFolderPlugin:
    """The plugin of `pytest --perfledger`, which measures each test alone and prints a table."""

    def __init__(self) -> None:
        self._results: list[LocalResult] = []

    @pytest.fixture
    def benchmark(self, request: pytest.FixtureRequest) -> BenchmarkFixture:
        """Return the fixture of pytest-benchmark, measured by perfledger."""
        spec = _spec(request.node, request.config.rootpath)

        def task(step: AnyStep) -> None:
            self._results.append(measure_here(step, spec))

        return BenchmarkFixture(task)

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect the tests without the fixture."""
        rest = [each for each in items if not _has_fixture(each)]
        if rest:
            config.hook.pytest_deselected(items=rest)
            items[:] = [each for each in items if _has_fixture(each)]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        terminalreporter.section("perfledger")
        if not self._results:
            terminalreporter.write_line(
                "No test was measured in this process: with pytest-xdist, add -n 0."
            )
            return
        for line in table_lines(self._results):
            terminalreporter.write_line(line)
        terminalreporter.write_line(
            "All ran in this process: `perfledger check --pytest` compares with the base, in pairs "
            "of fresh ones."
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that measures the tests of the working folder."""
    group = parser.getgroup("perfledger")
    text = "measure the tests with the fixture `benchmark`, and run no others"
    group.addoption("--perfledger", action="store_true", help=text)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Replace the fixture if the option is given."""
    if config.getoption("--perfledger"):
        _LatePlugin(WorkingFolderPlugin()).pytest_configure(config)


def run_tests(context: CommandContext, answer: Callable[[WorkloadCollector], None]) -> None:
    """Answer a request within a session of pytest, with the repository's own configuration."""
    absent = [path for path in context.request.paths if not (context.root / path).exists()]
    if absent:
        missing = tuple(
            ImportFailure(
                path=path,
                detail=f"there is no {path!r} in the checkout: set `paths` in perfledger.toml",
                reason=FailureReason.MISSING,
            )
            for path in absent
        )
        answer(lambda _: CollectedWorkloads(broken=missing))
        return
    plugin = SessionPlugin(context, answer)
    cache = TemporaryDirectory(prefix="pytest-", ignore_cleanup_errors=True)
    options = [
        *("-o", f"cache_dir={cache.name}"),  # the user's own cache stays untouched
        *("--rootdir", str(context.root)),
        *("--capture", "no"),  # the agent records the output
        *(each for name, words in QUIET_PLUGINS.items() if find_spec(name) for each in words),
        *_paths(context),
    ]
    problem = ""
    try:
        with cache, plugin.startup, hidden_history() as history:
            pytest.main(options, plugins=[_LatePlugin(plugin, history)])
    except BaseException as error:  # a boundary: a plugin of the user's may raise anything
        if plugin.has_answered:
            raise
        problem = detail_of(error, root=context.root)
    if not plugin.has_answered:
        text = plugin.startup_output.getvalue()
        sys.stderr.write(text)
        lines = [line.removeprefix("E ").strip() for line in (*text.splitlines(), problem)]
        reasons = [line for line in lines if line and not line.startswith(PLACES)]
        last = reasons[-1] if reasons else "it gives no reason"
        answer(lambda _: plugin.broken(f"pytest ended before its tests: {last[:MAX_REASON]}"))


def _paths(context: CommandContext) -> Sequence[str]:
    """Return the files of the requested tests, else all paths of the request."""
    files = sorted({file_of_test(name) for name in context.workloads})
    is_sure = files and all((context.root / file).is_file() for file in files)
    return files if is_sure else context.request.paths


class _LatePlugin:
    """A plugin that registers another one last, so that its fixture replaces earlier ones."""

    def __init__(self, plugin: object, history: ExitStack | None = None) -> None:
        self._plugin, self._history = plugin, history or ExitStack()

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        """Show git's history to the repository's own code."""
        self._history.close()

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Register the plugin in place of pytest-benchmark, whose options and marks stay valid."""
        config.addinivalue_line("markers", "benchmark: a benchmark, as pytest-benchmark has it")
        if config.pluginmanager.has_plugin(REPLACED_PLUGIN):
            config.pluginmanager.unregister(name=REPLACED_PLUGIN)
        config.pluginmanager.register(self._plugin, "perfledger-session")


def _ignored_options(item: pytest.Function) -> Iterator[str]:
    """Yield the options of a test's mark `benchmark`, and `extra_info` if it uses that."""
    if not _has_fixture(item):
        return
    marks = item.iter_markers("benchmark")
    yield from dict.fromkeys(name for mark in marks for name in mark.kwargs)
    function = cast("object", item.function)  # pyright: ignore[reportUnknownMemberType]
    code = getattr(function, "__code__", None)
    if code is not None and "extra_info" in code.co_names:
        yield "extra_info"


def _has_fixture(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and bool(FIXTURES & set(item.fixturenames))


def _spec(item: pytest.Function, root: Path) -> WorkloadSpec:
    name = workload_id(item.nodeid)
    module, _, function = name.partition("[")[0].partition(":")
    return WorkloadSpec(
        id=name,
        module=module,
        function=function,
        framework=next(iter(_frameworks(item, root)), Framework.HOST),
        tags=tags_of(mark.name for mark in item.iter_markers()),
    )


def _frameworks(item: pytest.Function, root: Path) -> frozenset[Framework]:
    """Return the frameworks that the test and its fixtures reach."""
    definitions = item._fixtureinfo.name2fixturedefs.values()  # pyright: ignore[reportPrivateUsage]
    fixtures = [each.func for several in definitions for each in several]
    functions = cast("tuple[object, ...]", (item.function, *fixtures))  # pyright: ignore[reportUnknownMemberType]
    module = str(getattr(item.module, "__name__", ""))
    return reached_frameworks(functions, module, root=root)


def _skip_reason(report: pytest.TestReport) -> str:
    where = report.longrepr
    reason = str(where[2]) if isinstance(where, tuple) else str(where)
    return reason.removeprefix("Skipped: ")[:MAX_REASON]


def _last_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(getattr(crash, "message", report.longreprtext)).strip()[:MAX_REASON]


def _ready_workload(workload: Workload, step: AnyStep) -> Workload:
    """Return the workload whose step the test has set up."""

    def ready_step(**_: Param) -> AnyStep:
        return step

    return replace(workload, function=ready_step)


def _no_set_up() -> Step:
    return _nothing


def _nothing() -> None:
    """Do nothing."""
