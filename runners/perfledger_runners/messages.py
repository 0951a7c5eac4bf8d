"""A line that a child wrote in, a typed message of the protocol or a GarbageError out."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from perfledger.load import MAX_CONCURRENCY, MAX_REQUESTS, Mode
from perfledger.metrics import METRICS
from perfledger.protocol import Command
from perfledger.records import Device, Framework, Param, Why
from perfledger_runners.readings import MAX_READING, is_possible, is_utc
from perfledger_runners.text import MAX_DETAIL, clean

MAX_LINE_BYTES = 2**20
MAX_ID = 300
MAX_DEVICES = 100_000
MAX_COUNTS = 100
MAX_BATCH = 2**31
MAX_LIMITS = 20

CLOCK_STEP_S = 2e-9  # both times of a request are rounded to the nanosecond

NO_CONTROLS = r"\A[^\x00-\x1f\x7f]*\Z"

Id = Annotated[str, Meta(min_length=1, max_length=MAX_ID, pattern=NO_CONTROLS)]
Word = Annotated[str, Meta(max_length=MAX_ID, pattern=NO_CONTROLS)]
Text = Annotated[str, Meta(max_length=100_000)]
Seconds = Annotated[float, Meta(ge=0)]
RequestTimes = Annotated[
    tuple[Annotated[float, Meta(gt=0, le=MAX_READING)], ...], Meta(max_length=MAX_REQUESTS)
]

# A ramp's, which are not counted, are fewer than those that are.
RequestCount = Annotated[int, Meta(ge=0, le=2 * MAX_REQUESTS)]


class GarbageError(Exception):
    """Something on the child's descriptor is not what the harness would have said."""


class Message(Struct, frozen=True, kw_only=True, tag_field="event"):
    """What all messages have."""

    version: Literal[1]  # PROTOCOL_VERSION


class DeviceFacts(Struct, frozen=True, kw_only=True):
    """What torch or JAX says of the first device; unknown is "", 0 or None."""

    kind: Word = ""  # torch: "cuda"
    name: Word = ""
    uuid: Word = ""
    count: Annotated[int, Meta(ge=0)] = 0
    memory_bytes: Annotated[int, Meta(ge=0)] | None = None
    cuda: Word = ""
    platform: Word = ""  # JAX: "cpu", "gpu" or "tpu"
    device_kind: Word = ""
    device_count: Annotated[int, Meta(ge=0)] = 0
    error: Text = ""


class Facts(Message, frozen=True, kw_only=True, tag="facts"):
    """What the child is made of: its Python, its frameworks, its device."""

    python: Word = ""
    frameworks: dict[Word, Word] = {}
    device: DeviceFacts = DeviceFacts()


class Listed(Message, frozen=True, kw_only=True, tag="workload"):
    """A registered workload, as a WorkloadSpec has it."""

    id: Id
    module: Id
    function: Id
    params: dict[Word, Param] = {}
    unit: Word = "steps"
    units_per_step: Annotated[float, Meta(gt=0)] = 1.0
    device: Literal["auto", "cpu", "cuda", "tpu"] = "auto"
    framework: Framework = Framework.HOST


class Broken(Message, frozen=True, kw_only=True, tag="broken"):
    """A file that could not be imported, and why."""

    path: Annotated[str, Meta(max_length=4096)]
    detail: Text = ""
    why: Why = Why.RAISED


class Started(Message, frozen=True, kw_only=True, tag="started"):
    """A workload's set-up begins; its own output comes after the first `log_bytes` of the log."""

    workload: Id
    log_bytes: Annotated[int, Meta(ge=0)] = 0


class Sampling(Message, frozen=True, kw_only=True, tag="sampling"):
    """A workload is warm: its measured steps begin."""

    workload: Id


class Ready(Message, frozen=True, kw_only=True, tag="ready"):
    """A child that takes turns waits before it sets a workload up, or with "" before it ends."""

    workload: Annotated[str, Meta(max_length=MAX_ID)]


class Turn(Message, frozen=True, kw_only=True, tag="turn"):
    """A workload waits for its turn to take the next few steps."""

    workload: Id


class Ran(Message, frozen=True, kw_only=True, tag="run"):
    """A workload was measured; `settling_s` of its warm-ups came after `Sampling`."""

    workload: Id
    started_at: Word
    samples: Annotated[dict[Word, tuple[float, ...]], Meta(min_length=1)]
    warmups_s: tuple[Seconds, ...] = ()
    settling_s: Seconds = 0.0
    left_out: dict[Word, Annotated[int, Meta(ge=0)]] = {}
    device: Device
    devices: Annotated[int, Meta(ge=1, le=MAX_DEVICES)] = 1
    turns: tuple[Annotated[int, Meta(ge=1)], ...] = ()


class Profiled(Message, frozen=True, kw_only=True, tag="profiled"):
    """A workload was profiled into the file `trace`, and where that was short into `again` too."""

    workload: Id
    tool: Word
    trace: Annotated[str, Meta(max_length=4096)]
    again: Annotated[str, Meta(max_length=4096)] = ""
    steps: Annotated[int, Meta(ge=0)] = 0
    step_seconds: Seconds = 0.0


class CountOf(Struct, frozen=True, kw_only=True):
    """One figure about a step, as a Count has it."""

    name: Id
    unit: Word
    value: Annotated[float, Meta(ge=0, le=MAX_READING)]
    source: Word


class Counted(Message, frozen=True, kw_only=True, tag="counted"):
    """What one step of a workload asks for, as a Work has it."""

    workload: Id
    counts: Annotated[tuple[CountOf, ...], Meta(max_length=MAX_COUNTS)] = ()
    limits: Annotated[tuple[Text, ...], Meta(max_length=MAX_LIMITS)] = ()
    program: Word = ""


class PointServed(Message, frozen=True, kw_only=True, tag="served"):
    """One point of a load is done, as a Served has it; `peak_bytes` is the memory's so far."""

    workload: Id
    mode: Mode
    concurrency: Annotated[int, Meta(ge=1, le=MAX_CONCURRENCY)] | None
    offered_per_second: Annotated[float, Meta(gt=0, le=MAX_READING)] | None
    latencies_s: RequestTimes
    services_s: RequestTimes
    seconds: Annotated[float, Meta(ge=CLOCK_STEP_S, le=MAX_READING)]
    answered: RequestCount
    unserved: RequestCount
    peak_bytes: Annotated[float, Meta(ge=0, le=MAX_READING)] | None


class Loaded(Message, frozen=True, kw_only=True, tag="loaded"):
    """All points of a workload's load are done; `batch` is what one request held."""

    workload: Id
    batch: Annotated[int, Meta(ge=1, le=MAX_BATCH)]
    device: Device
    devices: Annotated[int, Meta(ge=1, le=MAX_DEVICES)]


class Failed(Message, frozen=True, kw_only=True, tag="failed"):
    """A workload could not be measured; `workload` is "" when none had begun."""

    workload: Annotated[str, Meta(max_length=MAX_ID)]
    why: Why
    detail: Text = ""


class Done(Message, frozen=True, kw_only=True, tag="done"):
    """All that was asked has been answered."""


Answer = (
    Facts
    | Listed
    | Broken
    | Ready
    | Started
    | Sampling
    | Turn
    | Ran
    | Profiled
    | Counted
    | PointServed
    | Loaded
    | Failed
    | Done
)
DECODER: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


def failed(workload: str, why: Why, detail: str) -> Failed:
    """Return the message that the agent says in the place of a child that cannot any more."""
    return Failed(version=1, workload=workload, why=why, detail=detail)


def decode(line: bytes) -> Answer:
    """Return the message that a line holds; raises GarbageError."""
    try:
        message = DECODER.decode(line)
    except (msgspec.MsgspecError, ValueError) as error:
        shown = clean(line[:80].decode(errors="replace"))
        msg = f"something else wrote on perfledger's descriptor: {shown!r} ({error})"
        raise GarbageError(msg) from error
    if isinstance(message, Ran):
        _check_run(message)
    if isinstance(message, PointServed):
        _check_served(message)
    if isinstance(message, Failed | Broken):
        return msgspec.structs.replace(message, detail=clean(message.detail)[:MAX_DETAIL])
    return message


def _check_run(message: Ran) -> None:
    if not is_utc(message.started_at):
        msg = f"a run that started at {message.started_at!r}, which is no UTC time"
        raise GarbageError(msg)
    for name, samples in message.samples.items():
        metric = METRICS.get(name)
        if metric is None or not is_possible(metric, samples):
            msg = f"a run with readings of {name!r} that no measurement has: {samples[:3]}"
            raise GarbageError(msg)


def _check_served(message: PointServed) -> None:
    """Refuse what no queue has: an answer without a service, or one that came before its end."""
    count = len(message.latencies_s)
    pairs = zip(message.latencies_s, message.services_s, strict=False)
    is_closed = message.mode is Mode.CLOSED
    if (
        count != len(message.services_s)
        or (count == 0 and message.unserved == 0)
        or is_closed != (message.concurrency is not None)
        or is_closed == (message.offered_per_second is not None)
        or any(latency < service - CLOCK_STEP_S for latency, service in pairs)
    ):
        msg = f"a point in {message.mode} loop with {count} requests that no server has"
        raise GarbageError(msg)


@dataclass(slots=True)
class Conversation:
    """What a child may say next: it knows what was asked and what was answered."""

    command: Command
    asked: frozenset[str]  # empty: any workload
    current: str = ""  # the last workload that was started
    settled: set[str] = field(default_factory=set[str])
    is_done: bool = False

    @property
    def is_in_workload(self) -> bool:
        """Whether a workload was started and has no result yet."""
        return self.current != "" and self.current not in self.settled

    def accept(self, line: bytes) -> Answer:
        """Return the line's message if it may come now; raises GarbageError."""
        message = decode(line)
        if self.is_done or not self._may_come(message):
            msg = f"the child said {type(message).__name__.lower()!r} out of turn"
            raise GarbageError(msg)
        match message:
            case Started():
                self.current = message.workload
            case Ran() | Profiled() | Counted() | Loaded() | Failed():
                self.settled.add(message.workload)
            case Done():
                self.is_done = True
            case Facts() | Listed() | Broken() | Ready() | Sampling() | Turn() | PointServed():
                pass
        return message

    def _may_come(self, message: Answer) -> bool:
        match message:
            case Facts():
                return self.current == ""
            case Listed() | Broken():
                return self.command is Command.LIST
            case Ready(workload="") | Done():
                return not self.is_in_workload
            case Ready() | Started():
                is_new = self._is_open(message.workload) and not self.is_in_workload
                return is_new and self.command is not Command.LIST
            case Sampling() | Turn() | Ran() | Profiled() | Counted() | PointServed() | Loaded():
                return self.is_in_workload and message.workload == self.current
            case Failed():
                return self._is_open(message.workload)

    def _is_open(self, workload: str) -> bool:
        return workload not in self.settled and (not self.asked or workload in self.asked)
