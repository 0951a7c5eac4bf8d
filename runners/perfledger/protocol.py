"""Defines the protocol between the agent and its child processes.

The agent writes a ChildRequest to a file and starts `python -P -m perfledger FILE`. The child
answers on the descriptor in PERFLEDGER_FD, one JSON object per line, each with `version` and
`event`. Standard output and error belong to the workload. If the request is interleaved, the child
sends TURN before each few steps and continues when the agent writes a byte back, so that base and
head see the same machine load, a few steps at a time. It also sends READY before each set-up and
before its end, and waits: disturbing work is then done on both sides at once, while neither is
timed.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from perfledger.load import Load
from perfledger.package_code import SourcePackage
from perfledger.records import Framework, Param
from perfledger.registration.statement import Statement

# 1: first version. 2: `is_interleaved`, and the `reason` of a failure.
PROTOCOL_VERSION: Final = 2
FD_VARIABLE = "PERFLEDGER_FD"
# The folder where the ranks of a launched workload find the agent and each other. Each connects to
# the agent and sends RANK first; after that rank 0 answers like any child, and the others send only
# failures.
RANKS_VARIABLE = "PERFLEDGER_RANKS"
AGENT_SOCKET = "agent"
# High enough to be safe from workloads that close or write every low descriptor.
MIN_DESCRIPTOR = 100


class Command(StrEnum):
    """The task of a child process."""

    LIST = "list"
    MEASURE = "measure"
    PROFILE = "profile"
    COUNT = "count"
    CALLS = "calls"
    LOAD = "load"


class BenchmarkSuite(StrEnum):
    """The kind of benchmarks that are measured as workloads."""

    PERFLEDGER = "perfledger"  # functions with @perfledger.workload
    ASV = "asv"  # functions and methods named time_*
    PYTEST = "pytest"  # tests with the fixture `benchmark`
    STATEMENT = "statement"  # the request's own statement


class MessageType(StrEnum):
    """The kind of a child's message."""

    RANK = "rank"  # rank, ranks: the first message of a launched process
    # LIST: python, frameworks, device, distributions: after the user's imports, of several files
    # those of each
    FACTS = "facts"
    # LIST: the fields of a WorkloadSpec; file, path: of the file that registers it ("" for other
    # suites); registrar: the module that does
    WORKLOAD = "workload"
    BROKEN = "broken"  # LIST: path, detail, reason: a file that cannot be imported
    LEFT_OUT = "left_out"  # LIST: name, reason: a benchmark that cannot be measured as intended
    NOTE = "note"  # LIST: text: options of another tool that do not apply
    IMPORTING = "importing"  # LIST: path: of the file that is imported next
    # workloads, reason: these are not run, because forks would not be independent. LIST: paths of
    # files, which are not listed
    NO_FORK = "no_fork"
    STARTED = "started"  # workload: its set-up begins
    SAMPLING = "sampling"  # workload: warm-up is over, measured steps begin
    # workload, steps, compiling_steps, seconds, compile_s: a slow step compiled; all so far
    COMPILING = "compiling"
    READY = "ready"  # workload ("" before the end): waits for a byte on the descriptor to set it up
    TURN = "turn"  # workload: waits for a byte on the descriptor before its next steps
    # workload, started_at, samples, warmups_s, spans_s, left_out, turns, core_times, device,
    # devices, rank_times_s, packages, evidence, memory, compiled
    RUN = "run"
    WINDOWS = "windows"  # workload, windows: profiled after its run, if requested
    # MEASURE: workload, end_cost: the exit functions after its run have ended; may follow DONE
    ENDED = "ended"
    # workload, tool, trace, repeats, shapes and lines (paths), steps (kept), step_seconds
    PROFILED = "profiled"
    CALLED = "called"  # workload, functions: how many of the request's its step calls
    COUNTED = "counted"  # workload, counts, limits, program: the fields of a StepWork
    SERVED = "served"  # LOAD: workload, peak_bytes, the fields of a LoadResult: one point is done
    LOADED = "loaded"  # LOAD: workload, batch, device, devices: all points are done
    FAILED = "failed"  # workload, reason, detail
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuringEffort:
    """How long one process measures one workload; an interleaved one takes `max_seconds`.

    Processes are compared, so more processes help more than more steps in one: beyond some 30 steps
    only the time grows (Kalibera & Jones 2013; on real jobs their optimum is 5 to 30).
    """

    min_steps: int = 10
    max_steps: int = 30
    min_seconds: float = 0.5  # of measured steps; takes precedence over max_steps
    max_seconds: float = 2.0  # of measured steps, once there are min_steps
    edge_seconds: float = 0.0  # extra time of measured steps per set-up, beyond both limits
    max_turns: int | None = None  # of an interleaved process, if they are less than fit
    min_warmups: int = 3
    max_warmups: int = 30
    max_warmup_seconds: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRequest:
    """One command for a child process."""

    command: Command
    root: str  # the checkout: the working folder of the child
    repository: str  # the user's own checkout: code imported from it is the wrong code
    import_paths: tuple[str, ...] = (".", "src")  # below root, put first on sys.path if they exist
    # Below root: files or folders with workloads; empty: those that the suite's own configuration
    # names.
    paths: tuple[str, ...] = ("benchmarks",)
    suite: BenchmarkSuite = BenchmarkSuite.PERFLEDGER
    listed_files: tuple[str, ...] = ()  # LIST, asv: below root, to import no others; empty: all
    workloads: tuple[str, ...] = ()  # ids, in the order to run them; empty: all
    # Workload → module of the file that registers it, as LIST has found; without it, the module of
    # its function. Only this file is imported, and what it imports itself.
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    params: Mapping[str, Mapping[str, tuple[Param, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[Param, ...]]]
    )  # module:function → parameter → values, replacing the decorator's
    # module:function → names of variants, replacing the decorator's
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    device: str = "auto"
    effort: MeasuringEffort = field(default_factory=MeasuringEffort)
    # MEASURE: workload → most turns, if it is interleaved.
    turns: Mapping[str, int] = field(default_factory=dict[str, int])
    trace_folder: str = ""
    # PROFILE: from the child's start until no window but a first one begins; None: without limit
    profile_s: float | None = None
    explains_memory: bool = False  # PROFILE: peak memory alone, not the time of steps
    windows: int = 0  # MEASURE: profiled windows of each workload after its measured steps
    unprofiled: tuple[str, ...] = ()  # workloads without windows
    is_interleaved: bool = (
        False  # MEASURE, PROFILE: see TURN; the descriptor is then one that can be read
    )
    # Each workload runs in a fork (with several files, in a fork of its file's fork); otherwise the
    # agent asks each child for one workload.
    is_forking: bool = False
    frameworks: tuple[Framework, ...] = ()  # imported before the forks of several files
    load: Load = field(default_factory=Load)  # LOAD: what to drive the workloads with
    packages: tuple[SourcePackage, ...] = ()  # the revision's own: imported there, and recorded
    # CALLS: file below root → first and last line of each function to look for
    functions: Mapping[str, tuple[tuple[int, int], ...]] = field(
        default_factory=dict[str, tuple[tuple[int, int], ...]]
    )
    statement: Statement = field(default_factory=Statement)  # of its suite
    watched_sources: tuple[str, ...] = ()  # below root: see `keep_lines`
    environment: str = ""  # the virtual environment that was built for this side; "": the user's
    version: int = PROTOCOL_VERSION

    def has_windows(self, workload: str) -> bool:
        """Return whether windows of the workload are profiled after its measured steps."""
        return self.windows > 0 and workload not in self.unprofiled

    def effort_of(self, workload: str) -> MeasuringEffort:
        """Return how long the workload is measured."""
        return replace(self.effort, max_turns=self.turns.get(workload, self.effort.max_turns))

    def file_of(self, workload: str) -> str:
        """Return the module of the file that registers a workload."""
        return self.files.get(workload, function_module(workload))

    def by_file(self) -> tuple[tuple[str, ...], ...]:
        """Return the workloads in their order, those of one file that follow each other in one."""
        return tuple(tuple(names) for _, names in groupby(self.workloads, key=self.file_of))

    def write(self, path: Path) -> None:
        """Write the request for the child to read."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


def function_module(workload: str) -> str:
    """Return the module that a workload's id names: that of its function."""
    return workload.partition(":")[0]


class RequestError(Exception):
    """A request that this version cannot read."""


def read_request(path: Path) -> ChildRequest:
    """Read a request written by `ChildRequest.write`.

    Raises RequestError for another version: agent and child must be the same perfledger.
    """
    fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if fields.get("version") != PROTOCOL_VERSION:
        msg = (
            f"request {path} has version {fields.get('version')!r} and this child reads "
            f"{PROTOCOL_VERSION}: start both from the same perfledger"
        )
        raise RequestError(msg)
    names = ("import_paths", "paths", "listed_files", "workloads", "unprofiled", "watched_sources")
    fields |= {name: tuple(fields[name]) for name in names}
    fields["params"] = {
        workload: {name: tuple(values) for name, values in chosen.items()}
        for workload, chosen in fields["params"].items()
    }
    fields["variants"] = {name: tuple(each) for name, each in fields["variants"].items()}
    fields["functions"] = {
        path: tuple((first, last) for first, last in lines)
        for path, lines in fields["functions"].items()
    }
    fields["command"] = Command(fields["command"])
    fields["suite"] = BenchmarkSuite(fields["suite"])
    fields["frameworks"] = tuple(map(Framework, fields["frameworks"]))
    fields["effort"] = MeasuringEffort(**fields["effort"])
    fields["statement"] = Statement(**fields["statement"])
    fields["packages"] = tuple(SourcePackage(**each) for each in fields["packages"])
    load: dict[str, Any] = fields["load"]
    lists = ("concurrency", "rates", "arrivals_s")
    load |= {name: tuple(load[name]) for name in lists}
    fields["load"] = Load(**load)
    return ChildRequest(**fields)
