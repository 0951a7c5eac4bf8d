"""What measuring leaves behind: plain values, no clock, no device, no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

Param = str | int | float | bool


class Side(StrEnum):
    """Which of the two revisions a run belongs to."""

    BASE = "base"
    HEAD = "head"


class Device(StrEnum):
    """Where a workload runs."""

    CPU = "cpu"
    CUDA = "cuda"
    TPU = "tpu"


class Framework(StrEnum):
    """Whose arrays a workload computes on; workloads of one framework share a process."""

    TORCH = "torch"
    JAX = "jax"
    HOST = "host"


class Why(StrEnum):
    """Why a workload has no measurement; each is a verdict of its own, never a green one."""

    MISSING = "missing"  # registered on one side only
    CHANGED = "changed"  # its unit of work is another one: the sides cannot be compared
    RAISED = "raised"
    HUNG = "hung"
    OUT_OF_MEMORY = "out of memory"
    KILLED = "killed"
    GARBAGE = "garbage"  # something else wrote on the harness's descriptor
    NO_DEVICE = "no device"
    WRONG_CODE = "wrong code"  # both sides would import the same files
    PYTHON = "python"  # no interpreter, or one that is too old
    THROTTLED = "throttled"
    BUDGET = "budget"  # time ran out before the first pair


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """A registered workload with its parameters filled in."""

    id: str  # module:function or module:function[param=value,...]
    module: str
    function: str
    params: Mapping[str, Param] = field(default_factory=dict[str, Param])
    unit: str = "steps"
    units_per_step: float = 1.0
    device: str = "auto"  # auto, cpu, cuda or tpu
    framework: Framework = Framework.HOST


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One process's samples of one workload's metrics, as they were read.

    Nothing is averaged and nothing is dropped: `warmups_s` are kept apart, `left_out` counts by
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
    device: Device | None = None  # what it ran on; None: the machine's own
    devices: int = 1  # how many of them a step computes on
    turns: tuple[int, ...] = ()  # steps in each turn; turn i of both sides were made side by side
    clock_mhz: float | None = None  # of the device's processors meanwhile, median
    slowed: Mapping[str, float] = field(default_factory=dict[str, float])  # by what → share, 0 to 1

    def __post_init__(self) -> None:
        if not self.samples or not all(self.samples.values()):
            msg = f"run of {self.workload!r} has a metric without samples"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A workload that could not be measured on one side, and why in words."""

    workload: str
    side: Side
    why: Why
    detail: str
    pair: int = 0
    log_tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The fingerprint of the machine and device that runs were made on. Unknown is None or ""."""

    device: Device
    model: str  # as the device names itself: "NVIDIA H100 80GB HBM3", "Intel(R) Xeon(R) ..."
    count: int = 1
    uuid: str = ""
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
    def device_class(self) -> str:
        """Return what makes two machines comparable: device kind, model and count."""
        return f"{self.device}:{self.model}:{self.count}"

    def part_used_by(self, run: Run) -> Self:
        """Return as much of this machine as a run computed on.

        A workload for the CPU beside a GPU was measured on the CPU, and one that computes on a
        single GPU of eight says the same as on a machine with one.
        """
        if run.device is None:
            return self
        if run.device is self.device:
            return replace(self, count=run.devices)
        return replace(
            self,
            device=run.device,
            model=self.cpu_model if run.device is Device.CPU else "",
            count=run.devices,
            uuid="",
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
    """A commit that was measured."""

    sha: str  # 40 hex digits
    ref: str = ""  # as the user named it
    subject: str = ""
    is_dirty: bool = False  # a snapshot of uncommitted changes on top of HEAD
