"""Reads GPU facts and state from NVIDIA's management library; unavailable values are None.

The library is an optional extra and untyped: it is used only here, as `Any`.
"""

import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Self

from perfledger_profiles.hardware.device_state import POWER_CAP

VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
MAX_DIGITS = 4  # of a GPU's number in CUDA_VISIBLE_DEVICES
CLOCK_SM = 1  # NVML_CLOCK_SM
TEMPERATURE_GPU = 0  # NVML_TEMPERATURE_GPU
THRESHOLD_SLOWDOWN = 1  # NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
# Bits of nvmlDeviceGetCurrentClocksEventReasons (NVML API reference, "clocks event reasons").
CLOCKS_SET = 0x2  # set by the user: application clocks or locked clocks
# Hardware, heat by software and hardware, power brake. Not 0x4, the software's power cap, which is
# usual at full load and the same for both sides.
HARD_THROTTLE = 0x8 | 0x20 | 0x40 | 0x80
# Causes of a lowered clock, as text.
SLOWDOWNS: Mapping[int, str] = {
    0x4: POWER_CAP,
    0x8: "a slowdown of the board",
    0x20: "heat",
    0x40: "heat",
    0x80: "the power supply's brake",
}
GPM_VERSION = 1  # NVML_GPM_METRICS_GET_VERSION
GPM_SM_UTIL = 2  # NVML_GPM_METRIC_SM_UTIL: share of time with a warp resident, mean over SMs, in %
# NVML_GPM_METRIC_PCIE_TX_PER_SEC and _RX_, NVLINK_TOTAL_RX_PER_SEC and _TX_ of all links: MiB/s.
GPM_PCIE, GPM_NVLINK = (20, 21), (60, 61)
GPM_METRICS = (GPM_SM_UTIL, *GPM_PCIE, *GPM_NVLINK)
MIB = 2**20
MAX_TRAFFIC = 1e14  # bytes per second: a hundred times the fastest links; NVML's sentinels are more


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFacts:
    """The facts and settings of a GPU; unknown is "" or None."""

    model: str
    uuid: str
    more_uuids: tuple[str, ...]  # of the workloads' other GPUs
    parent_uuid: str  # of the GPU that a MIG slice belongs to
    driver: str
    cuda: str
    memory_bytes: int | None
    max_clock_mhz: float | None
    is_clock_locked: bool | None  # NVML reports it only while it lowers the clock: True or None
    power_cap_w: float | None
    has_ecc: bool | None
    is_mig: bool | None
    is_persistent: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCondition:
    """What may disturb a measurement on a GPU at one moment; None is unknown."""

    processes: int | None  # computing on it, of any user; a container may not see any
    active_share: float | None  # share of the last moments with a kernel on it
    reasons: int | None  # for its current clock: bits, as above
    temperature_c: float | None
    slowdown_c: float | None  # the temperature that lowers its clock
    power_cap_w: float | None
    default_power_cap_w: float | None
    default_clock_mhz: float | None
    is_persistent: bool | None
    is_mig: bool | None
    has_ecc: bool | None
    will_have_ecc: bool | None  # after the next restart
    bus_id: str  # of its slot, as in /sys/bus/pci


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuState:
    """The state of a GPU at one moment."""

    reasons: int  # for its current clock: bits, as above
    clock_mhz: float | None
    power_w: float | None
    temperature_c: float | None
    memory_bytes: float | None = None  # in use, by all processes


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuActivity:
    """What a GPU did since the previous reading; None is unknown."""

    sm_active: float | None = None  # share of time with a warp resident, 0 to 1
    pcie_bytes_per_s: float | None = None  # both ways
    nvlink_bytes_per_s: float | None = None  # of all links, both ways


def load_nvml() -> Any | None:  # noqa: ANN401 - untyped library, fenced in here
    """Return the initialised library, None without it or without an NVIDIA driver."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    return nvml


class Gpu:
    """One GPU; every query may be unsupported, depending on device and driver."""

    def __init__(self, nvml: Any, handle: Any, *, more: tuple[Self, ...] = ()) -> None:  # noqa: ANN401 - see load_nvml
        self._nvml = nvml
        self.handle = handle
        self.more = more  # the others that the workloads may use, in their order

    @property
    def uuid(self) -> str:
        """Return its id, "" if unknown."""
        return self._ask("nvmlDeviceGetUUID") or ""

    def facts(self, *, visible: Iterable[str] = ()) -> GpuFacts:
        """Return the facts that do not change during a check.

        `visible` are the ids of all GPUs that the workloads may use.
        """
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        condition = self.condition()
        uuid = self.uuid
        return GpuFacts(
            model=self._ask("nvmlDeviceGetName") or "",
            uuid=uuid,
            more_uuids=tuple(each for each in visible if each != uuid),
            parent_uuid=self._parent_uuid(),
            driver=_call(self._nvml, "nvmlSystemGetDriverVersion") or "",
            cuda=_cuda(_call(self._nvml, "nvmlSystemGetCudaDriverVersion")),
            memory_bytes=None if memory is None else int(memory.total),
            max_clock_mhz=self._ask("nvmlDeviceGetMaxClockInfo", CLOCK_SM),
            is_clock_locked=True if (condition.reasons or 0) & CLOCKS_SET else None,
            power_cap_w=condition.power_cap_w,
            has_ecc=condition.has_ecc,
            is_mig=condition.is_mig,
            is_persistent=condition.is_persistent,
        )

    def condition(self) -> GpuCondition:
        """Return what may disturb a measurement now."""
        processes = self._ask("nvmlDeviceGetComputeRunningProcesses")
        utilization = self._ask("nvmlDeviceGetUtilizationRates")
        ecc = self._ask("nvmlDeviceGetEccMode")  # [current, pending], as are MIG's
        mig = self._ask("nvmlDeviceGetMigMode")
        persistence = self._ask("nvmlDeviceGetPersistenceMode")
        pci = self._ask("nvmlDeviceGetPciInfo")
        return GpuCondition(
            processes=None if processes is None else len(processes),
            active_share=None if utilization is None else utilization.gpu / 100,
            reasons=self._reasons(),
            temperature_c=self._ask("nvmlDeviceGetTemperature", TEMPERATURE_GPU),
            slowdown_c=self._ask("nvmlDeviceGetTemperatureThreshold", THRESHOLD_SLOWDOWN),
            power_cap_w=_thousandth(self._ask("nvmlDeviceGetPowerManagementLimit")),
            default_power_cap_w=_thousandth(self._ask("nvmlDeviceGetPowerManagementDefaultLimit")),
            default_clock_mhz=self._ask("nvmlDeviceGetDefaultApplicationsClock", CLOCK_SM),
            is_persistent=None if persistence is None else bool(persistence),
            is_mig=None if mig is None else bool(mig[0]),
            has_ecc=None if ecc is None else bool(ecc[0]),
            will_have_ecc=None if ecc is None else bool(ecc[1]),
            bus_id="" if pci is None else _bus_id(pci.busId),
        )

    def state(self) -> GpuState:
        """Return the current state; a reading takes tens of microseconds."""
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        return GpuState(
            reasons=self._reasons() or 0,
            clock_mhz=self._ask("nvmlDeviceGetClockInfo", CLOCK_SM),
            power_w=_thousandth(self._ask("nvmlDeviceGetPowerUsage")),
            temperature_c=self._ask("nvmlDeviceGetTemperature", TEMPERATURE_GPU),
            memory_bytes=None if memory is None else float(memory.used),
        )

    def energy_joules(self) -> float | None:
        """Return its energy since the driver was loaded (Volta and newer; not for MIG)."""
        return _thousandth(self._ask("nvmlDeviceGetTotalEnergyConsumption"))

    def activity_meter(self) -> "ActivityMeter | None":
        """Return a meter of SM activity and traffic, None before Hopper."""
        support = self._ask("nvmlGpmQueryDeviceSupport")
        if support is None or not support.isSupportedDevice:
            return None
        return ActivityMeter(self._nvml, self.handle)

    def _parent_uuid(self) -> str:
        """Return the id of the GPU that this MIG slice belongs to, "" for a whole GPU."""
        if not self._ask("nvmlDeviceIsMigDeviceHandle"):
            return ""
        parent = self._ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle")
        return "" if parent is None else _call(self._nvml, "nvmlDeviceGetUUID", parent) or ""

    def _reasons(self) -> int | None:
        """Return the bits of its clock's reasons."""
        reasons: int | None = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if reasons is None:  # drivers before 535 have only the former name
            reasons = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        return reasons

    def _ask(self, question: str, *arguments: int) -> Any:  # noqa: ANN401 - see load_nvml
        return _call(self._nvml, question, self.handle, *arguments)


class ActivityMeter:
    """A meter of SM activity, averaged over SMs, and of traffic between readings.

    As a context manager it holds two buffers of the driver. NVML requires more than 100 ms between
    two readings (API reference, nvmlGpmMetricsGet).
    """

    def __init__(self, nvml: Any, handle: Any) -> None:  # noqa: ANN401 - see load_nvml
        self._nvml = nvml
        self._handle = handle
        self._before: Any = None
        self._after: Any = None

    def __enter__(self) -> Self:
        self._before = _call(self._nvml, "nvmlGpmSampleAlloc")
        self._after = _call(self._nvml, "nvmlGpmSampleAlloc")
        self._sample(self._before)
        return self

    def __exit__(self, *error: object) -> None:
        for buffer in (self._before, self._after):
            if buffer is not None:
                _call(self._nvml, "nvmlGpmSampleFree", buffer)

    def read(self) -> GpuActivity:
        """Return the activity since the previous reading."""
        if not self._sample(self._after):
            return GpuActivity()
        request = self._nvml.c_nvmlGpmMetricsGet_t()
        request.version, request.numMetrics = GPM_VERSION, len(GPM_METRICS)
        request.sample1, request.sample2 = self._before, self._after
        for index, metric in enumerate(GPM_METRICS):
            request.metrics[index].metricId = metric
        answer = _call(self._nvml, "nvmlGpmMetricsGet", request)
        self._before, self._after = self._after, self._before
        if answer is None:
            return GpuActivity()
        values = {
            metric: float(answer.metrics[index].value)
            for index, metric in enumerate(GPM_METRICS)
            if answer.metrics[index].nvmlReturn == 0
        }
        share = values.get(GPM_SM_UTIL, math.nan) / 100
        return GpuActivity(
            sm_active=share if 0 <= share <= 1 else None,
            pcie_bytes_per_s=_traffic(values, GPM_PCIE),
            nvlink_bytes_per_s=_traffic(values, GPM_NVLINK),
        )

    def _sample(self, buffer: Any) -> bool:  # noqa: ANN401 - see load_nvml
        if buffer is None:
            return False
        return _call(self._nvml, "nvmlGpmSampleGet", self._handle, buffer) is not None


def find_gpu(
    nvml: Any,  # noqa: ANN401 - see load_nvml
    *,
    uuid: str,
    more_uuids: Sequence[str] = (),
    environment: Mapping[str, str],
) -> Gpu | None:
    """Return the GPU with this UUID, else the first one that the workloads may use.

    It comes with the others, in the order of `more_uuids` if they are known: the framework's order,
    which may number GPUs by speed and not by slot. A framework reports the id of a MIG slice as
    that of a GPU.
    """
    visible = environment.get(VISIBLE_DEVICES, "").partition(",")[0].strip()
    slice_uuid = uuid.replace("GPU-", "MIG-", 1) if uuid else ""
    for name in (visible if visible.startswith("MIG-") else "", uuid, slice_uuid):
        handle = _call(nvml, "nvmlDeviceGetHandleByUUID", name) if name else None
        if handle is not None:
            return _with_others(nvml, handle, more_uuids, environment)
    handle = _visible_handle(nvml, visible or "0") or _visible_handle(nvml, "0")
    return None if handle is None else _with_others(nvml, handle, more_uuids, environment)


def _with_others(
    nvml: Any,  # noqa: ANN401 - see load_nvml
    handle: Any,  # noqa: ANN401 - see load_nvml
    more_uuids: Sequence[str],
    environment: Mapping[str, str],
) -> Gpu:
    """Return a GPU with the others that workloads may use; a slice has no others."""
    first = Gpu(nvml, handle)
    if _call(nvml, "nvmlDeviceIsMigDeviceHandle", handle):
        return first
    gpus = (each for each in visible_gpus(nvml, environment) if each.uuid != first.uuid)
    if more_uuids:
        handles = (_call(nvml, "nvmlDeviceGetHandleByUUID", uuid) for uuid in more_uuids)
        gpus = (Gpu(nvml, each) for each in takewhile(lambda one: one is not None, handles))
    return Gpu(nvml, handle, more=tuple(gpus))


def visible_uuids(nvml: Any, environment: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ANN401 - see load_nvml
    """Return the ids of the GPUs that workloads may use, in their order."""
    return tuple(filter(None, (each.uuid for each in visible_gpus(nvml, environment))))


def visible_gpus(nvml: Any, environment: Mapping[str, str]) -> tuple[Gpu, ...]:  # noqa: ANN401 - see load_nvml
    """Return the GPUs that workloads may use, in their order.

    CUDA ignores everything after the first name that it does not know.
    """
    visible = environment.get(VISIBLE_DEVICES, "").strip()
    count = _call(nvml, "nvmlDeviceGetCount") or 0
    names = visible.split(",") if visible else map(str, range(count))
    handles = (_visible_handle(nvml, name.strip()) for name in names)
    return tuple(Gpu(nvml, each) for each in takewhile(lambda handle: handle is not None, handles))


def _visible_handle(nvml: Any, name: str) -> Any:  # noqa: ANN401 - see load_nvml
    """Return the GPU named by an entry of CUDA_VISIBLE_DEVICES: a number or UUID prefix."""
    if name.startswith(("GPU-", "MIG-")):
        return _call(nvml, "nvmlDeviceGetHandleByUUID", _whole_uuid(nvml, name))
    is_number = name.isascii() and name.isdecimal() and len(name) <= MAX_DIGITS
    return _call(nvml, "nvmlDeviceGetHandleByIndex", int(name)) if is_number else None


def _whole_uuid(nvml: Any, start: str) -> str:  # noqa: ANN401 - see load_nvml
    """Return the UUID of the only GPU whose UUID starts with `start`, else `start` itself."""
    places = range(_call(nvml, "nvmlDeviceGetCount") or 0)
    devices = (_call(nvml, "nvmlDeviceGetHandleByIndex", place) for place in places)
    uuids = (_call(nvml, "nvmlDeviceGetUUID", each) for each in devices if each is not None)
    matches = [uuid for uuid in uuids if uuid and uuid.startswith(start)]
    return matches[0] if len(matches) == 1 else start


def _call(nvml: Any, name: str, *arguments: Any) -> Any:  # noqa: ANN401 - see load_nvml
    """Call the library; return None if the device, driver or version does not support it."""
    function = getattr(nvml, name, None)
    if function is None:
        return None
    try:
        return function(*arguments)
    except (nvml.NVMLError, UnicodeEncodeError):  # it encodes names, which may not be UTF-8
        return None


def _traffic(values: Mapping[int, float], metrics: Iterable[int]) -> float | None:
    """Return the sum of rates in MiB/s as bytes per second; None if one is unknown."""
    total = sum(values.get(metric, math.nan) for metric in metrics) * MIB
    return total if 0 <= total <= MAX_TRAFFIC else None


def _cuda(version: int | None) -> str:
    """Return NVML's version 12040 as "12.4"."""
    return f"{version // 1000}.{version % 1000 // 10}" if version else ""


def _thousandth(value: int | None) -> float | None:
    """Return milliwatts as watts, or millijoules as joules."""
    return None if value is None else value / 1000


def _bus_id(text: str | bytes) -> str:
    """Return NVML's "00000000:65:00.0" as "0000:65:00.0"."""
    name = text.decode("ascii", errors="replace") if isinstance(text, bytes) else text
    return name.lower()[-len("0000:00:00.0") :]
