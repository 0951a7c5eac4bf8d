"""Parses and validates the messages of a child."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from perfledger.load import MAX_CONCURRENCY, MAX_REQUESTS, LoopKind
from perfledger.metrics import CPU_TIME, METRICS, STEP_TIME
from perfledger.package_code import MAX_PACKAGES
from perfledger.process.distributions import MAX_DISTRIBUTIONS
from perfledger.protocol import PROTOCOL_VERSION
from perfledger.records import (
    CoreTimes,
    Device,
    FailureReason,
    Framework,
    MemoryReadings,
    Param,
)
from perfledger.registration.argument_faults import (
    MAX_ID_LENGTH,
    MAX_LAUNCH_LENGTH,
    MAX_SET_UPS,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    MAX_TIMEOUT_S,
    MAX_WORKLOAD_DEVICES,
)
from perfledger.registration.variant_name import MAX_VARIANT_LENGTH
from perfledger_runners.children.compile_parser import CompiledPrograms
from perfledger_runners.children.evidence_parser import CountValue, EndCostFields, Evidence
from perfledger_runners.children.message_texts import (
    MAX_LISTED_DEVICES,
    TAG,
    VARIANT,
    DeviceFacts,
    Id,
    ShortText,
    Text,
)
from perfledger_runners.children.package_parser import PackageFiles
from perfledger_runners.children.reading_checks import (
    CLOCK_STEP_S,
    MAX_READING,
    are_places,
    are_possible,
    are_possible_memories,
    are_possible_requests,
    fit_together,
    is_possible,
    is_utc,
)
from perfledger_runners.children.window_files import MAX_WINDOWS, TracePath, WindowFiles
from perfledger_runners.safe_text import MAX_DETAIL, clean_text

MAX_LINE_BYTES = 2**22  # the times of 64 ranks in MAX_SAMPLES steps
MAX_CORE = 65_535  # its number: Linux supports 8,192
MAX_DEVICES = 100_000  # the largest clusters drive tens of thousands
MAX_COUNTS = 100  # FLOPs, bytes, operators and the like
MAX_BATCH = 2**31  # of a request; tensors index no more
MAX_LIMITS = 20  # sentences on what a count leaves out

PathText = Annotated[str, Meta(max_length=4096)]
Seconds = Annotated[float, Meta(ge=0)]
RequestTimes = Annotated[
    tuple[Annotated[float, Meta(gt=0, le=MAX_READING)], ...], Meta(max_length=MAX_REQUESTS)
]
# A ramp has fewer requests than the measured part.
RequestCount = Annotated[int, Meta(ge=0, le=2 * MAX_REQUESTS)]


class GarbageError(Exception):
    """Output on the child's descriptor that is not from the harness."""


class Message(Struct, frozen=True, kw_only=True, tag_field="event"):
    """The common fields of all messages."""

    version: Literal[2]  # PROTOCOL_VERSION


class RankMessage(Message, frozen=True, kw_only=True, tag="rank"):
    """The first message of a launched process: its place among the ranks."""

    rank: Annotated[int, Meta(ge=0)]
    ranks: Annotated[int, Meta(ge=1)]


class FactsMessage(Message, frozen=True, kw_only=True, tag="facts"):
    """The child's Python, frameworks, device, and distributions in use with their versions."""

    python: ShortText = ""
    frameworks: dict[ShortText, ShortText] = {}
    device: DeviceFacts = DeviceFacts()
    distributions: Annotated[dict[ShortText, ShortText], Meta(max_length=MAX_DISTRIBUTIONS)] = {}


class NoForkMessage(Message, frozen=True, kw_only=True, tag="no_fork"):
    """The reason why these workloads were not run: forks for them would not be independent.

    When workloads are listed, these are paths of files.
    """

    workloads: Annotated[tuple[Text, ...], Meta(min_length=1)]
    reason: Text


class WorkloadMessage(Message, frozen=True, kw_only=True, tag="workload"):
    """A registered workload, with the fields of a WorkloadSpec.

    `file` is the module of the file that registers it, at `path`, and `registrar` the module that
    does: the file's, or one that it imports.
    """

    id: Id
    module: Id
    function: Id
    params: dict[ShortText, Param] = {}
    unit: ShortText = "steps"
    units_per_step: Annotated[float, Meta(gt=0)] = 1.0
    device: Literal["auto", "cpu", "cuda", "tpu"] = "auto"
    framework: Framework = Framework.HOST
    timeout: Annotated[float, Meta(gt=0, le=MAX_TIMEOUT_S)] | None = None
    tags: Annotated[
        tuple[Annotated[str, Meta(max_length=MAX_TAG_LENGTH, pattern=TAG)], ...],
        Meta(max_length=MAX_TAGS),
    ] = ()
    margin: Annotated[float, Meta(gt=0, lt=1)] | None = None
    metrics: tuple[Literal["step_time_p50", "peak_memory", "cpu_time", "sm_active"], ...] = ()
    devices: Annotated[int, Meta(ge=1, le=MAX_WORKLOAD_DEVICES)] = 1
    launch: Annotated[str, Meta(max_length=MAX_LAUNCH_LENGTH)] = ""
    variant: Annotated[str, Meta(max_length=MAX_VARIANT_LENGTH, pattern=VARIANT)] = ""
    file: Annotated[str, Meta(max_length=MAX_ID_LENGTH)] = ""
    path: PathText = ""
    registrar: Annotated[str, Meta(max_length=MAX_ID_LENGTH)] = ""


class BrokenMessage(Message, frozen=True, kw_only=True, tag="broken"):
    """A file that cannot be imported, and the reason."""

    path: PathText
    detail: Text = ""
    reason: FailureReason = FailureReason.RAISED


class LeftOutMessage(Message, frozen=True, kw_only=True, tag="left_out"):
    """A benchmark of another tool that is not measured, and the reason."""

    name: Id
    reason: ShortText


class NoteMessage(Message, frozen=True, kw_only=True, tag="note"):
    """A note on options of another tool's benchmarks that do not apply."""

    text: Text


class ImportingMessage(Message, frozen=True, kw_only=True, tag="importing"):
    """The path of the file that is imported next."""

    path: PathText


class StartedMessage(Message, frozen=True, kw_only=True, tag="started"):
    """The start of a workload's set-up; its output starts after `log_bytes` of the log."""

    workload: Id
    log_bytes: Annotated[int, Meta(ge=0)] = 0


class SamplingMessage(Message, frozen=True, kw_only=True, tag="sampling"):
    """The end of a workload's warm-up and the start of its measured steps."""

    workload: Id


class CompilingMessage(Message, frozen=True, kw_only=True, tag="compiling"):
    """How many steps of a workload have ended and at least compiled, and for how long."""

    workload: Id
    steps: Annotated[int, Meta(ge=1)]
    compiling_steps: Annotated[int, Meta(ge=1)]
    seconds: Seconds  # since the workload's start
    compile_s: Seconds


class ReadyMessage(Message, frozen=True, kw_only=True, tag="ready"):
    """An interleaved child that waits before a workload's set-up, or with "" before its end."""

    workload: Annotated[str, Meta(max_length=MAX_ID_LENGTH)]


class TurnMessage(Message, frozen=True, kw_only=True, tag="turn"):
    """A workload that waits for its turn to run the next few steps, and the core it last used."""

    workload: Id
    core: Annotated[int, Meta(ge=0, le=MAX_CORE)] | None = None


class RunMessage(Message, frozen=True, kw_only=True, tag="run"):
    """A measured workload; `spans_s`: when its steps were measured, since `SamplingMessage`."""

    workload: Id
    started_at: ShortText
    samples: Annotated[dict[ShortText, tuple[float, ...]], Meta(min_length=1)]
    warmups_s: tuple[Seconds, ...] = ()
    spans_s: Annotated[tuple[tuple[Seconds, Seconds], ...], Meta(max_length=MAX_SET_UPS)] = ()
    left_out: dict[ShortText, Annotated[int, Meta(ge=0)]] = {}
    device: Device
    devices: Annotated[int, Meta(ge=1, le=MAX_DEVICES)] = 1
    device_places: Annotated[
        tuple[Annotated[int, Meta(ge=0, lt=MAX_DEVICES)], ...], Meta(max_length=MAX_LISTED_DEVICES)
    ] = ()
    turns: tuple[Annotated[int, Meta(ge=1)], ...] = ()
    rank_times_s: tuple[tuple[Annotated[float, Meta(ge=0, le=MAX_READING)], ...], ...] = ()
    core_times: CoreTimes = CoreTimes()
    packages: Annotated[tuple[PackageFiles, ...], Meta(max_length=MAX_PACKAGES)] = ()
    evidence: Evidence = Evidence()
    memory: MemoryReadings = MemoryReadings()
    compiled: CompiledPrograms | None = None


class WindowsMessage(Message, frozen=True, kw_only=True, tag="windows"):
    """What was profiled after a workload's run, which was reported before."""

    workload: Id
    windows: WindowFiles


class EndedMessage(Message, frozen=True, kw_only=True, tag="ended"):
    """The end of a measured workload's process, when its exit functions have run."""

    workload: Id
    end_cost: EndCostFields


class ProfiledMessage(Message, frozen=True, kw_only=True, tag="profiled"):
    """A profiled workload: the file `trace` of one window, and the files of the other windows.

    `shapes` is the file of a window that recorded shapes, "" if all of them did; `lines` is the
    file of the lines that call operations.
    """

    workload: Id
    tool: ShortText
    trace: TracePath
    repeats: Annotated[tuple[TracePath, ...], Meta(max_length=MAX_WINDOWS)] = ()
    shapes: TracePath = ""
    lines: TracePath = ""
    steps: Annotated[int, Meta(ge=0)] = 0
    step_seconds: Seconds = 0.0


class CountedMessage(Message, frozen=True, kw_only=True, tag="counted"):
    """The work of a workload's step, with the fields of a StepWork."""

    workload: Id
    counts: Annotated[tuple[CountValue, ...], Meta(max_length=MAX_COUNTS)] = ()
    limits: Annotated[tuple[Text, ...], Meta(max_length=MAX_LIMITS)] = ()
    program: ShortText = ""
    variant_remarks: Annotated[tuple[Text, ...], Meta(max_length=MAX_LIMITS)] = ()


class CalledMessage(Message, frozen=True, kw_only=True, tag="called"):
    """How many of the request's functions a workload's step calls."""

    workload: Id
    functions: Annotated[int, Meta(ge=0)]


class ServedMessage(Message, frozen=True, kw_only=True, tag="served"):
    """A finished point of a load, as a LoadResult; `peak_bytes` is the peak so far."""

    workload: Id
    mode: LoopKind
    concurrency: Annotated[int, Meta(ge=1, le=MAX_CONCURRENCY)] | None
    offered_per_second: Annotated[float, Meta(gt=0, le=MAX_READING)] | None
    latencies_s: RequestTimes
    services_s: RequestTimes
    seconds: Annotated[float, Meta(ge=CLOCK_STEP_S, le=MAX_READING)]
    answered: RequestCount
    unserved: RequestCount
    peak_bytes: Annotated[float, Meta(ge=0, le=MAX_READING)] | None


class LoadedMessage(Message, frozen=True, kw_only=True, tag="loaded"):
    """The end of a workload's load; `batch` is the number of items per request."""

    workload: Id
    batch: Annotated[int, Meta(ge=1, le=MAX_BATCH)]
    device: Device
    devices: Annotated[int, Meta(ge=1, le=MAX_DEVICES)]


class FailedMessage(Message, frozen=True, kw_only=True, tag="failed"):
    """A failed workload; `workload` is "" when none had started."""

    workload: Annotated[str, Meta(max_length=MAX_ID_LENGTH)]
    reason: FailureReason
    detail: Text = ""


class DoneMessage(Message, frozen=True, kw_only=True, tag="done"):
    """The end of the child's answers."""


AnyMessage = (
    FactsMessage
    | NoForkMessage
    | WorkloadMessage
    | BrokenMessage
    | LeftOutMessage
    | NoteMessage
    | ImportingMessage
    | CompilingMessage
    | ReadyMessage
    | StartedMessage
    | SamplingMessage
    | TurnMessage
    | RunMessage
    | WindowsMessage
    | EndedMessage
    | ProfiledMessage
    | CountedMessage
    | CalledMessage
    | ServedMessage
    | LoadedMessage
    | FailedMessage
    | DoneMessage
)
DECODER: msgspec.json.Decoder[AnyMessage] = msgspec.json.Decoder(AnyMessage)


def failed_message(workload: str, reason: FailureReason, detail: str) -> FailedMessage:
    """Return the failure that the agent reports in place of a dead child."""
    return FailedMessage(version=PROTOCOL_VERSION, workload=workload, reason=reason, detail=detail)


def decode_message(line: bytes) -> AnyMessage:
    """Return the message in a line; raise GarbageError."""
    try:
        message = DECODER.decode(line)
    except (msgspec.MsgspecError, ValueError) as error:
        line_start = clean_text(line[:80].decode(errors="replace"))
        msg = f"foreign output on perfledger's descriptor: {line_start!r} ({error})"
        raise GarbageError(msg) from error
    if isinstance(message, RunMessage):
        _check_run(message)
    if isinstance(message, ServedMessage):
        _check_served(message)
    if isinstance(message, FailedMessage | BrokenMessage):
        return msgspec.structs.replace(message, detail=clean_text(message.detail)[:MAX_DETAIL])
    return message


def _check_run(message: RunMessage) -> None:
    if not is_utc(message.started_at):
        msg = f"a run that started at {message.started_at!r}, which is not a UTC time"
        raise GarbageError(msg)
    _check_devices(message)
    for name, samples in message.samples.items():
        metric = METRICS.get(name)
        if metric is None or not is_possible(metric, samples):
            msg = f"a run with impossible readings of {name!r}: {samples[:3]}"
            raise GarbageError(msg)
    if not fit_together(message.rank_times_s, message.samples.get(STEP_TIME.name, ())):
        msg = "a run whose step times are not those of its slowest ranks"
        raise GarbageError(msg)
    readings = len(message.samples.get(CPU_TIME.name, ()))
    if not are_possible(message.core_times, readings=readings, turns=len(message.turns)):
        msg = "a run with impossible core times"
        raise GarbageError(msg)
    if not are_possible_memories(message.memory):
        msg = "a run with impossible readings of its memory"
        raise GarbageError(msg)


def _check_devices(message: RunMessage) -> None:
    if message.device is Device.IMPORTED:
        msg = f"a run on {message.device!r}, which is no device"
        raise GarbageError(msg)
    if not are_places(message.device_places, devices=message.devices):
        msg = f"a run on {message.devices} devices with {len(message.device_places)} places"
        raise GarbageError(msg)


def _check_served(message: ServedMessage) -> None:
    """Reject impossible results: an answer without a service time, or shorter than it."""
    latencies_s, is_closed = message.latencies_s, message.mode is LoopKind.CLOSED
    is_of_mode = is_closed == (message.concurrency is not None)
    is_of_mode &= is_closed == (message.offered_per_second is None)
    requests = (latencies_s, message.services_s)
    if not (is_of_mode and are_possible_requests(*requests, unserved=message.unserved)):
        msg = f"a point in {message.mode} loop with {len(latencies_s)} requests that are impossible"
        raise GarbageError(msg)
