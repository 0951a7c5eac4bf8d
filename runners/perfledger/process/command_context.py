"""Holds a request with its channel, and sets up the steps of its workloads."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from inspect import iscoroutinefunction, isgeneratorfunction
from pathlib import Path
from typing import Self, cast

from perfledger.failure_reason import UnmeasurableError
from perfledger.measuring.rank_clock import RankClock
from perfledger.measuring.rank_link import LOOPBACK, RankLink, shared_port
from perfledger.measuring.turn_core import current_core, move_to_core
from perfledger.meters.choice import choose_meter
from perfledger.meters.device import DeviceMeter
from perfledger.meters.jax_clock import join_processes, load_jax
from perfledger.process.discovery import ImportFailure, source_files
from perfledger.process.forks.obstacle import OpenState, StartSettings
from perfledger.process.forks.process_end import ProcessEnd
from perfledger.process.loaded_packages import PackageRecorder
from perfledger.process.message_channel import MessageChannel
from perfledger.process.module_origin import misplaced_module
from perfledger.protocol import ChildRequest, Command, MessageType
from perfledger.records import Device, FailureReason, Framework, WorkloadSpec
from perfledger.variants.choice import transform_step
from perfledger.variants.transformed_step import FunctionCall, TransformedStep
from perfledger.workload import AnyStep, PreparedStep, Step, Workload

Fields = Mapping[str, object]  # of a message


@dataclass(frozen=True, slots=True)
class BoundWorkload:
    """A workload at one point of its parameter grid.

    If the step exists only inside a test, `within` runs the test and calls its argument there with
    the workload that returns the step.
    """

    workload: Workload
    spec: WorkloadSpec
    within: Callable[[Callable[[Self], Fields]], Fields] | None = None

    @property
    def as_written(self) -> Self:
        """Return the workload without a variant."""
        return replace(self, spec=replace(self.spec, variant=""))

    def run(self, task: Callable[[Self], Fields]) -> Fields:
        """Return what `task` returns for this workload."""
        return task(self) if self.within is None else self.within(task)


@dataclass(frozen=True, slots=True)
class LeftOutBenchmark:
    """A benchmark of another tool that is not measured, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedWorkloads:
    """The workloads of a suite, the paths that cannot be imported, and what is left out.

    `notes` are sentences on options of another tool's benchmarks that do not apply.
    """

    workloads: tuple[BoundWorkload, ...] = ()
    broken: tuple[ImportFailure, ...] = ()
    left_out: tuple[LeftOutBenchmark, ...] = ()
    notes: tuple[str, ...] = ()


def ignored_note(tool: str, counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return a note on another tool's options that do not apply, with how often each is set."""
    if not counts:
        return ()
    options = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
    return (f"ignored options of {tool}, by the benchmarks that have them: {options}",)


# Returns the workloads of these modules; of all modules if the set is empty.
WorkloadCollector = Callable[[frozenset[str]], CollectedWorkloads]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """A request, the folders of its files, and the channel for answers."""

    request: ChildRequest
    channel: MessageChannel
    root: Path
    roots: tuple[Path, ...]
    recorder: PackageRecorder
    end: ProcessEnd
    link: RankLink | None = None  # to the other ranks of a launched workload
    began: float = 0.0  # by time.monotonic()
    open_before: OpenState = field(default_factory=OpenState)  # before the user's code was imported
    # The same for settings, in the fork of one file: the frameworks are imported there already.
    settings_before: StartSettings | None = None
    workloads: tuple[str, ...] = ()  # those of the request that this process runs; empty: all
    listed_files: dict[Path, tuple[Path, ...]] = field(
        default_factory=dict[Path, tuple[Path, ...]], repr=False
    )

    def source_files(self, top: Path) -> tuple[Path, ...]:
        """Return the Python files at or below a path; they are listed once, also for forks.

        Listing 300 files takes 40 ms, and each of them is imported in its own fork.
        """
        if top not in self.listed_files:
            self.listed_files[top] = tuple(source_files(top))
        return self.listed_files[top]

    def report_import(self, path: str) -> None:
        """Report, while workloads are listed, which file is imported next."""
        if self.request.command is Command.LIST:
            self.channel.send(MessageType.IMPORTING, {"path": path})

    @property
    def is_forking(self) -> bool:
        """Return whether each workload runs in a fork; ranks are separate processes anyway."""
        return self.request.is_forking and self.link is None

    def index_of(self, workload: str) -> int:
        """Return a workload's index in the request, the same in the fork of its file."""
        return (self.request.workloads or self.workloads).index(workload)


def join_framework(context: CommandContext, frameworks: Collection[Framework]) -> None:
    """Tell JAX about the other ranks, before anything asks it for its devices."""
    link = context.link
    if link is not None and Framework.JAX in frameworks:
        coordinator = f"{LOOPBACK}:{shared_port(link)}"
        join_processes(load_jax(), coordinator=coordinator, ranks=link.ranks, rank=link.rank)


def meter_of(context: CommandContext, bound: BoundWorkload) -> tuple[Device, DeviceMeter]:
    """Return the device of a workload and its meter, with a clock common to all ranks.

    Raises UnmeasurableError unless there are as many ranks as the workload has devices.
    """
    link, spec = context.link, bound.spec
    if link is None:
        return choose_meter(spec, requested=context.request.device)
    if link.ranks != spec.devices:
        detail = (
            f"`launch` started {link.ranks} ranks and the workload has devices={spec.devices}: "
            "write {devices} in the command, such as torchrun --nproc-per-node={devices}"
        )
        raise UnmeasurableError(FailureReason.NO_DEVICE, detail)
    return choose_meter(
        spec, requested=context.request.device, around=lambda clock: RankClock(clock, link)
    )


def trace_folder(context: CommandContext) -> Path:
    """Create and return the folder for traces; every rank after the first has its own."""
    folder = Path(context.request.trace_folder).resolve()
    if context.link is not None and context.link.rank > 0:
        folder /= f"rank-{context.link.rank}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def turn_of(context: CommandContext, name: str) -> Callable[[], None]:
    """Return a function that waits for this workload's turn, if the sides take turns."""

    def turn() -> None:
        if context.request.is_interleaved:
            context.channel.send(MessageType.TURN, {"workload": name, "core": current_core()})
            core = context.channel.wait()
            if core is not None:
                move_to_core(core)

    return turn


def set_up_step(
    context: CommandContext,
    bound: BoundWorkload,
    device: Device,
    meter: DeviceMeter,
    *,
    teardowns: ExitStack,
) -> AnyStep:
    """Call the workload's function, check that it is the right code, and return its step.

    The step is transformed if the workload has a variant. Its teardown is added to `teardowns`.
    """
    return set_up_variant(context, bound, device, meter, teardowns=teardowns).step


def set_up_variant(
    context: CommandContext,
    bound: BoundWorkload,
    device: Device,
    meter: DeviceMeter,
    *,
    teardowns: ExitStack,
) -> TransformedStep:
    """Do the same as `set_up_step`, and return the step with what verifies its variant."""
    meter.reset_peak()
    arguments = bound.workload.arguments(bound.spec, str(device))
    returned = bound.workload.function(**arguments)
    context.channel.leave_if_forked()
    step = returned if isinstance(returned, PreparedStep) else _step(bound, returned)
    if bound.workload.teardown is not None:
        teardowns.callback(bound.workload.teardown, _subject(step))
    wrong = misplaced_module(
        sys.modules, root=context.root, repository=Path(context.request.repository)
    )
    if wrong:
        raise UnmeasurableError(FailureReason.WRONG_CODE, wrong)
    transformed = transform_step(bound.spec, step, device)
    teardowns.callback(transformed.close)
    return transformed


def _step(bound: BoundWorkload, returned: object) -> Step:
    """Return the step from what a set-up returned: a step, or a function and its inputs."""
    step = _call_of(returned) or returned
    run = step.function if isinstance(step, FunctionCall) else step
    if not callable(run) or iscoroutinefunction(run) or isgeneratorfunction(run):
        msg = (
            f"{bound.workload.key} returned {run!r:.100}: return the step, a plain function "
            "without arguments that does its work when called, or a function and a tuple of inputs"
        )
        raise TypeError(msg)
    return cast("Step", step)


def _call_of(returned: object) -> FunctionCall | None:
    """Return the call of a function and its inputs; None for anything else."""
    if not isinstance(returned, tuple):
        return None
    parts = cast("tuple[object, ...]", returned)
    if len(parts) != 2 or not callable(parts[0]):  # noqa: PLR2004 - a function, and its inputs
        return None
    if not isinstance(parts[1], list | tuple):
        return None
    return FunctionCall(parts[0], tuple(cast("Sequence[object]", parts[1])))


def _subject(step: AnyStep) -> object:
    """Return what the workload's teardown receives."""
    return step.function if isinstance(step, FunctionCall) else step
