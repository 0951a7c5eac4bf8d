"""Holds the records of a measurement: runs, failures, machine, revisions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

from perfledger.compile_record import CompileRecord
from perfledger.device_telemetry import DeviceTelemetry
from perfledger.package_code import LoadedPackage
from perfledger.step_evidence import StepEvidence

Param = str | int | float | bool
# Enough to distinguish the commits of the largest repositories, and short enough for a table.
SHORT_SHA_DIGITS = 12
_NOT_HEXADECIMAL = re.compile(r"[^0-9a-fA-F]")


class Side(StrEnum):
    """The revision that a run belongs to."""

    BASE = "base"
    HEAD = "head"

    @property
    def facing(self) -> "Side":
        """Return the other side."""
        return Side.HEAD if self is Side.BASE else Side.BASE


class Device(StrEnum):
    """The device that a workload runs on."""

    CPU = "cpu"
    CUDA = "cuda"
    TPU = "tpu"
    IMPORTED = "imported"  # another tool's history, which names its machine but not its device


class Framework(StrEnum):
    """The framework whose arrays a workload uses; all forks of one process use the same one."""

    TORCH = "torch"
    JAX = "jax"
    HOST = "host"


class FailureReason(StrEnum):
    """The reason why a workload has no measurement; each is a separate verdict, never a pass."""

    MISSING = "missing"  # registered on one side only
    CHANGED = "changed"  # another unit of work: the sides are not comparable
    RAISED = "raised"
    HUNG = "hung"
    OUT_OF_MEMORY = "out of memory"
    KILLED = "killed"
    GARBAGE = "garbage"  # something else wrote on the harness's descriptor
    NO_DEVICE = "no device"
    OTHER_DEVICE = "other device"  # on head than on base
    WRONG_CODE = "wrong code"  # what ran is not the revision's own code
    BUILD = "build"  # the configured build failed
    PYTHON = "python"  # no interpreter, or too old
    THROTTLED = "throttled"
    BUDGET = "budget"  # time ran out before the first pair
    UNPROVEN = "unproven work"  # it is unknown whether head still does the work
    DIFFERENT = "different result"  # by the workload's own check
    SKIPPED = "skipped"  # by its own set-up
    NOT_AVAILABLE = "not available"  # the variant: it lacks something here, or cannot be made
    PACKAGES = "other packages"  # the sides' environments differ, and not by the change
    IN_USE = "in use"  # it needs what only one process can have, such as a port


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """A registered workload at one point of its parameter grid."""

    id: str  # module:function or module:function[param=value,...]
    module: str
    function: str
    params: Mapping[str, Param] = field(default_factory=dict[str, Param])
    unit: str = "steps"
    units_per_step: float = 1.0
    device: str = "auto"  # auto, cpu, cuda or tpu
    framework: Framework = Framework.HOST
    timeout: float | None = None  # seconds in one process; None: as configured
    tags: tuple[str, ...] = ()
    margin: float | None = None  # relative; None: as configured
    metrics: tuple[str, ...] = ()  # names of those that judge it; empty: all usual ones
    devices: int = 1  # that a step should compute on
    launch: str = ""  # command that starts a process per device; "": the default for `devices`
    variant: str = ""  # what its step is transformed into; "": the step as written


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreTimes:
    """How a step used the cores, in seconds per step: one reading per turn, or one in all.

    `elapsed_s` is wall time, of which the step's thread spent `queued_s` in a run queue; helpers
    are all other threads and the child processes. While the thread was asleep it may have waited
    for helpers that were in run queues, at most `helper_waits_s`; whether any waited for
    `unseen_waits_s` of that nobody saw. Empty if the kernel does not report this. `cores` are those
    that threads of the process might use after the last step.
    """

    elapsed_s: tuple[float, ...] = ()
    queued_s: tuple[float, ...] = ()
    helpers_s: tuple[float, ...] = ()  # CPU time
    helper_waits_s: tuple[float, ...] = ()  # empty in older bundles: unknown
    unseen_waits_s: tuple[float, ...] = ()  # empty if all helpers were seen
    cores: int = 0  # 0 in older bundles: unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReadings:
    """The memory in use after given numbers of measured steps of the first set-up."""

    steps: tuple[int, ...] = ()  # rising
    in_use_bytes: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One process's samples of one workload's metrics, unprocessed.

    Nothing is averaged and nothing is dropped: `warmups_s` are separate, and `left_out` counts by
    reason the samples that the judge should not use. `samples` maps a metric's name to its
    readings: one per step for step_time_p50 (seconds), often a single one for the others.
    """

    workload: str
    side: Side
    pair: int  # 0-based
    position: int  # 0: first of its pair, 1: second
    process: int  # number of the child process within the check
    started_at: str  # UTC, ISO 8601
    samples: Mapping[str, tuple[float, ...]]
    warmups_s: tuple[float, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    device: Device | None = None  # that it ran on; None: the machine's own
    devices: int = 1  # that a step computes on
    device_places: tuple[int, ...] = ()  # among the machine's devices; (): the first ones
    turns: tuple[int, ...] = ()  # steps per turn; turn i of both sides ran side by side
    # Of a launched workload: each rank's seconds per step; the largest are its step times.
    rank_times_s: tuple[tuple[float, ...], ...] = ()
    core_times: CoreTimes = CoreTimes()
    # Of the device's processors during the run: the median, and if there are several devices, the
    # slowest one's.
    clock_mhz: float | None = None
    slowed: Mapping[str, float] = field(default_factory=dict[str, float])  # cause → share, 0 to 1
    telemetry: tuple[DeviceTelemetry, ...] = ()  # of each device that was read
    packages: tuple[LoadedPackage, ...] = ()  # the repository's own, as the process loaded them
    evidence: StepEvidence = field(default_factory=StepEvidence)  # that the step does its work
    memory: MemoryReadings = MemoryReadings()
    compiled: CompileRecord | None = None  # by torch.compile or JAX; None: unknown

    def __post_init__(self) -> None:
        if not self.samples or not all(self.samples.values()):
            msg = f"run of {self.workload!r} has a metric without samples"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A workload that could not be measured on one side, with the reason and details."""

    workload: str
    side: Side
    why: FailureReason
    detail: str
    pair: int = 0
    log_tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The fingerprint of the machine and device of runs; unknown is None or ""."""

    device: Device
    model: str  # the device's own name: "NVIDIA H100 80GB HBM3", "Intel(R) Xeon(R) ..."
    count: int = 1
    uuid: str = ""  # of the device; if several, of the first
    more_uuids: tuple[str, ...] = ()  # of the other usable ones, in their order
    parent_uuid: str = ""  # of the GPU that a MIG slice is a part of
    host: str = ""  # unique to the host, and unchanged by updates; "": unknown
    memory_bytes: int | None = None
    driver: str = ""
    runtime: str = ""  # CUDA, or libtpu
    clock_mhz: float | None = None
    is_clock_locked: bool | None = None
    power_cap_w: float | None = None
    has_ecc: bool | None = None
    mig: str = ""
    topology: str = ""
    cpu_model: str = ""
    cores: int = 1
    governor: str = ""
    kernel: str = ""
    python: str = ""
    frameworks: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def machine_class(self) -> str:
        """Return the class of comparable machines: device kind, model and count."""
        return f"{self.device}:{self.model}:{self.count}"

    @property
    def device_name(self) -> str:
        """Return the id of the device, or of the first one, else its model and its host."""
        if self.uuid:
            return self.uuid
        if self.is_identified:
            return f"{self.model} of host {self.host}"
        host = f" on {self.cpu_model}" if self.cpu_model not in {"", self.model} else ""
        unknown = "device" if self.device is Device.CUDA else "host"
        return f"{self.model}{host}, {self.cores} cores, unknown {unknown}"

    @property
    def device_names(self) -> tuple[str, ...]:
        """Return the known names of its devices: at most `count`."""
        uuids = (self.uuid, *self.more_uuids[: self.count - 1])
        return tuple(dict.fromkeys(filter(None, uuids))) or (self.device_name,)

    @property
    def occupied_names(self) -> tuple[str, ...]:
        """Return the names of its devices, and of the GPU that a MIG slice shares with others."""
        return tuple(dict.fromkeys(filter(None, (*self.device_names, self.parent_uuid))))

    @property
    def is_identified(self) -> bool:
        """Return whether its device can be distinguished from all others of its model.

        A host has one set of processors and of TPUs, and may have several GPUs.
        """
        return bool(self.uuid) or (bool(self.host) and self.device is not Device.CUDA)

    def part_used_by(self, run: Run) -> Self:
        """Return the part of this machine that a run used.

        A CPU workload on a GPU machine was measured on the CPU, and a run on one GPU of eight is
        comparable with one on a machine with a single GPU.
        """
        if run.device is None:
            return self
        return self.part(run.device, run.devices, places=run.device_places)

    def part(self, device: Device, devices: int, *, places: Sequence[int] = ()) -> Self:
        """Return the part with `devices` devices of a kind: those at `places`, or the first."""
        if device is self.device:
            uuids = (self.uuid, *self.more_uuids)
            chosen = [uuids[at] for at in places or range(devices) if at < len(uuids)]
            uuid, *more_uuids = chosen or ("",)  # "": not known
            return replace(self, count=devices, uuid=uuid, more_uuids=tuple(more_uuids))
        return replace(
            self,
            device=device,
            model=self.cpu_model if device is Device.CPU else "",
            count=devices,
            uuid="",
            more_uuids=(),
            parent_uuid="",
            memory_bytes=None,
            driver="",
            runtime="",
            clock_mhz=None,
            is_clock_locked=None,
            power_cap_w=None,
            has_ecc=None,
            mig="",
            topology="",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A measured commit."""

    sha: str  # 40 hex digits
    ref: str = ""  # the user's name for it
    subject: str = ""
    is_dirty: bool = False  # a snapshot of uncommitted changes on top of HEAD
    depth: int | None = None  # first-parent ancestors; None if unknown, as in a shallow clone
    committed_at: str = ""  # UTC, ISO 8601; "" if unknown


def short_sha(sha: str) -> str:
    """Return the start of a commit's hash, as people read it: hexadecimal digits only."""
    return _NOT_HEXADECIMAL.sub("", sha)[:SHORT_SHA_DIGITS]


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryReading:
    """The rates of one built-in workload on one device, one rate per process."""

    name: str  # with its parameters, such as "matmul[dtype=float32,size=8192]"
    framework: Framework
    unit: str  # of a rate, per second: FLOP, B, tokens or samples
    rates: tuple[float, ...]
    expected_per_second: float | None = None  # the rate that the device should reach; None: unknown


class FindingLevel(StrEnum):
    """The severity of a finding about a machine for a measurement."""

    BUSY = "busy"  # other work runs right now: results are uncertain
    NOISY = "noisy"  # a setting or a neighbour that adds noise
    UNKNOWN = "unknown"  # it could not be read, which does not prove it is fine
    FINE = "fine"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFinding:
    """A finding about a machine's fitness for measuring."""

    name: str  # what was examined, such as "governor"
    level: FindingLevel
    detail: str  # what was found, in words
    advice: str = ""  # what would help, such as a command
