"""Samples the state of GPUs while a child measures on them, and adds it to the run."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median
from typing import Protocol

from perfledger.device_telemetry import DeviceTelemetry
from perfledger.measuring.core_use import PREPARED_ON_DEVICE
from perfledger.metrics import ENERGY_PER_STEP, SM_ACTIVE, STEP_TIME
from perfledger.records import Device, Failure, FailureReason, Run
from perfledger_profiles.hardware.efficiency_metrics import (
    MetricError,
    energy_per_step_joules,
)
from perfledger_runners.machine.nvml import HARD_THROTTLE, SLOWDOWNS, Gpu, GpuActivity, GpuState

# NVML requires more than 0.1 s between readings of SM activity.
READ_EVERY_S = 0.12
# The key in a run's left_out for readings at which the GPU was throttled.
THROTTLED_KEY = "throttled"
# Most throttled readings, as a share of all. One reading in five may be throttled: so few samples
# hardly move the judged estimate (Hodges-Lehmann), which breaks down at 29 %. Beyond this, the
# clock would be measured rather than the code.
MAX_THROTTLED_SHARE = 0.2
# Extra seconds of steps after each set-up: the first and the last reading may extend beyond their
# start or end, and a reading takes time too.
EDGE_SECONDS = 3 * READ_EVERY_S

UNKNOWN_ACTIVITY = GpuActivity()

# When measured steps began and ended, once for each set-up, in seconds since sampling began.
Spans = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySample:
    """One reading of one GPU; its activity is of the time since `since_s`."""

    since_s: float  # the previous reading, or the meter's start
    at_s: float  # both since sampling began; the same for GPUs read together
    state: GpuState
    activity: GpuActivity = UNKNOWN_ACTIVITY
    energy_joules: float | None = None  # the device's energy counter
    place: int = 0  # among the machine's devices
    name: str = ""  # the GPU's UUID


class Telemetry(Protocol):
    """A sampler of the device between the first and the last measured step of a workload."""

    def start(self) -> None:
        """Start sampling."""
        ...

    def stop(self) -> tuple[TelemetrySample, ...]:
        """Stop and return the readings since `start`, empty if not started."""
        ...


class NoTelemetry:
    """No telemetry, for the CPU, where reading would disturb the measurement."""

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> tuple[TelemetrySample, ...]:
        """Return nothing."""
        return ()


class GpuTelemetry:
    """A sampler of a GPU and those beside it on a thread of the agent, a few times a second."""

    def __init__(
        self,
        gpu: Gpu,
        *,
        clock: Callable[[], float] = time.monotonic,
        every_s: float = READ_EVERY_S,
        reads_energy: bool = False,
    ) -> None:
        self._gpus = (gpu, *gpu.more)
        self._clock = clock
        self._every_s = every_s
        self._reads_energy = reads_energy
        self._end = threading.Event()
        self.readings: list[TelemetrySample] = []
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def start(self) -> None:
        """Start sampling."""
        self.stop()
        self._end.clear()
        self.readings = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[TelemetrySample, ...]:
        """Stop and return the readings since `start`; raise the error that ended them early.

        Without readings, a GPU that heat slows down would not be noticed.
        """
        if self._thread is not None:
            self._end.set()
            self._thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error
        return tuple(self.readings)

    def _run(self) -> None:
        try:
            self._watch()
        except Exception as error:  # raised by stop()
            self._error = error

    def _watch(self) -> None:
        began = self._clock()
        names = [gpu.uuid for gpu in self._gpus]
        with ExitStack() as stack:
            meters = [gpu.activity_meter() for gpu in self._gpus]
            for meter in filter(None, meters):
                stack.enter_context(meter)
            read_s = self._clock() - began
            while not self._end.wait(self._every_s):
                activities = [meter.read() if meter else UNKNOWN_ACTIVITY for meter in meters]
                energies = [
                    gpu.energy_joules() if self._reads_energy else None for gpu in self._gpus
                ]
                since_s, read_s = read_s, self._clock() - began
                self.readings += [
                    TelemetrySample(
                        since_s=since_s,
                        at_s=read_s,
                        state=gpu.state(),
                        activity=activities[index],
                        energy_joules=energies[index],
                        place=index,
                        name=names[index],
                    )
                    for index, gpu in enumerate(self._gpus)
                ]


def with_telemetry(run: Run, readings: Sequence[TelemetrySample], *, spans_s: Spans) -> Run:
    """Return the run with the readings taken during its measured steps, which `spans_s` delimit.

    Between the spans the workload is set up again, which is not part of its steps: an activity
    counts only if it lies within one span. Readings of a GPU beside a run on the CPU, or of a GPU
    that the run does not use, do not count. The activity and the energy of steps with a preparation
    are unknown.

    With several devices the activity is their mean and the energy their sum, and both are unknown
    if one device's is. A step waits for the slowest device, whose clock and causes become the
    run's.
    """
    during = _during(run, readings, spans_s)
    is_prepared = _is_prepared(run)
    shares = () if is_prepared else _mean_shares(_within(during, spans_s), run.devices)
    devices = tuple(
        _device_telemetry(run, of_device, spans_s=spans_s)
        for of_device in _by_device(during).values()
    )
    readings_by_metric = {SM_ACTIVE.name: shares} if shares else {}
    joules = None if is_prepared else _total([each.energy_per_step for each in devices], run)
    if joules is not None:
        readings_by_metric[ENERGY_PER_STEP.name] = (joules,)
    slowed = len({each.at_s for each in during if each.state.reasons & HARD_THROTTLE})
    left_out = {THROTTLED_KEY: slowed} if slowed else {}
    causes = dict.fromkeys(words for each in devices for words in each.slowed)
    return replace(
        run,
        samples={**run.samples, **readings_by_metric},
        left_out={**run.left_out, **left_out},
        clock_mhz=min((each.clock_mhz for each in devices if each.clock_mhz), default=None),
        slowed={words: max(each.slowed.get(words, 0.0) for each in devices) for words in causes},
        telemetry=devices,
    )


def throttling_failure(
    run: Run, readings: Sequence[TelemetrySample], *, spans_s: Spans
) -> Failure | None:
    """Return a failure if a device's clock was lowered for reasons other than the workload.

    Up to MAX_THROTTLED_SHARE of the readings are tolerated; `with_telemetry` counts them. With
    several devices, the one throttled most often is named.
    """
    devices = _by_device(_during(run, readings, spans_s))
    throttled = {
        place: [each for each in of_device if each.state.reasons & HARD_THROTTLE]
        for place, of_device in devices.items()
    }
    worst = max(devices, key=lambda place: len(throttled[place]), default=None)
    if worst is None or len(throttled[worst]) <= MAX_THROTTLED_SHARE * len(devices[worst]):
        return None
    first, state = throttled[worst][0], throttled[worst][0].state
    facts = f"reasons {state.reasons:#x}, {state.clock_mhz} MHz, {state.temperature_c} °C"
    which = f"GPU {worst}{f' ({first.name})' * bool(first.name)}" if run.devices > 1 else "the GPU"
    return Failure(
        workload=run.workload,
        side=run.side,
        why=FailureReason.THROTTLED,
        pair=run.pair,
        detail=f"{which} was throttled in {len(throttled[worst])} of {len(devices[worst])} "
        f"readings ({facts}), so the clock and not the code would be measured: check cooling and "
        "power",
    )


def _device_telemetry(
    run: Run, readings: Sequence[TelemetrySample], *, spans_s: Spans
) -> DeviceTelemetry:
    """Return what one device's readings show; an activity counts if it lies within one span."""
    states = [each.state for each in readings]
    activities = [each.activity for each in _within(readings, spans_s)]
    clocks = [state.clock_mhz for state in states if state.clock_mhz]
    return DeviceTelemetry(
        place=readings[0].place,
        name=readings[0].name,
        readings=len(readings),
        throttled=sum(bool(state.reasons & HARD_THROTTLE) for state in states),
        slowed=_slowdown_shares(readings),
        clock_mhz=median(clocks) if clocks else None,
        power_w=_mean(state.power_w for state in states),
        energy_per_step=_energy_per_step(run, readings, spans_s),
        memory_bytes=max(
            (state.memory_bytes for state in states if state.memory_bytes is not None),
            default=None,
        ),
        pcie_bytes_per_s=_mean(each.pcie_bytes_per_s for each in activities),
        nvlink_bytes_per_s=_mean(each.nvlink_bytes_per_s for each in activities),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return fmean(known_values) if known_values else None


def _total(values: Sequence[float | None], run: Run) -> float | None:
    """Return the sum over all devices that the run used; None if one is unknown."""
    known_values = [value for value in values if value is not None]
    is_whole = len(known_values) == len(values) == run.devices
    return sum(known_values) if is_whole else None


def _mean_shares(readings: Sequence[TelemetrySample], devices: int) -> tuple[float, ...]:
    """Return the mean activity of the devices each time that all of them were read."""
    by_time: defaultdict[float, list[float]] = defaultdict(list)
    for each in readings:
        if each.activity.sm_active is not None:
            by_time[each.at_s].append(each.activity.sm_active)
    return tuple(fmean(shares) for shares in by_time.values() if len(shares) == devices)


def _by_device(readings: Sequence[TelemetrySample]) -> dict[int, list[TelemetrySample]]:
    by_device: defaultdict[int, list[TelemetrySample]] = defaultdict(list)
    for each in readings:
        by_device[each.place].append(each)
    return dict(by_device)


def _energy_per_step(run: Run, during: Sequence[TelemetrySample], spans_s: Spans) -> float | None:
    """Return the joules of one step on one device, from the power between readings of each span.

    None for a run that is too short.
    """
    joules, seconds = 0.0, 0.0
    for span in spans_s:
        counters = [
            (each.at_s, each.energy_joules)
            for each in during
            if _is_in(span, each.at_s) and each.energy_joules is not None
        ]
        for (begun_s, begin), (ended_s, end) in pairwise(counters):
            if end < begin:  # the driver was loaded again
                return None
            joules, seconds = joules + end - begin, seconds + ended_s - begun_s
    try:
        joules = energy_per_step_joules(
            joules,
            steps=seconds / fmean(run.samples[STEP_TIME.name]),
            seconds=seconds,
        )
    except MetricError:
        return None
    return joules or None  # a counter that does not move is broken


def _slowdown_shares(during: Sequence[TelemetrySample]) -> dict[str, float]:
    """Return the causes of a lowered clock, with their shares of the readings."""
    counts = Counter(
        words
        for each in during
        for words in {words for bit, words in SLOWDOWNS.items() if each.state.reasons & bit}
    )
    return {words: count / len(during) for words, count in counts.items()}


def _during(
    run: Run, readings: Sequence[TelemetrySample], spans_s: Spans
) -> tuple[TelemetrySample, ...]:
    """Return the readings during the steps, of the devices that the run used."""
    if run.device is not Device.CUDA:
        return ()
    places = run.device_places or range(run.devices)
    return tuple(
        each
        for each in readings
        if each.place in places and any(_is_in(span, each.at_s) for span in spans_s)
    )


def _within(readings: Sequence[TelemetrySample], spans_s: Spans) -> tuple[TelemetrySample, ...]:
    """Return the readings whose time since the previous one lies in one span."""
    return tuple(
        each
        for each in readings
        if any(_is_in(span, each.since_s) and _is_in(span, each.at_s) for span in spans_s)
    )


def _is_in(span: tuple[float, float], at_s: float) -> bool:
    return span[0] <= at_s <= span[1]


def _is_prepared(run: Run) -> bool:
    """Return whether each reading had a preparation, which the device's readings include."""
    return PREPARED_ON_DEVICE in run.left_out
