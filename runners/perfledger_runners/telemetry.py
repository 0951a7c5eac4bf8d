"""A GPU in, what it did while a child was sampling on it out, and what that means for the run."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Protocol

from perfledger.metrics import ENERGY_PER_STEP, SM_ACTIVE, STEP_TIME
from perfledger.records import Device, Failure, Run, Why
from perfledger_profiles.metrics import (
    MIN_ENERGY_SECONDS,
    MetricError,
    energy_per_step_joules,
)
from perfledger_runners.nvml import HARD_THROTTLE, SLOWDOWNS, Gpu, GpuState

# NVML wants more than 0.1 s between two readings of SM activity; the shortest run samples 0.3 s.
READ_EVERY_S = 0.12
# What a run's left_out calls the readings at which the GPU was slowed down from outside.
THROTTLED = "throttled"
# One reading in five may be slowed: the location that a run is judged by (Hodges-Lehmann) is moved
# only a little by so few of its samples, and breaks down at 29 %. Beyond, the clock is measured.
MAX_THROTTLED_SHARE = 0.2
MIN_ENERGY_READINGS = 2
# How long steps are measured where their energy is asked for: the readings lie within, and must be
# MIN_ENERGY_SECONDS apart.
ENERGY_SECONDS = MIN_ENERGY_SECONDS + 4 * READ_EVERY_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One look at the GPU; `sm_active` is the share since the look before, 0 to 1."""

    at_s: float  # since the sampling began
    state: GpuState
    sm_active: float | None = None
    energy_joules: float | None = None  # the device's running counter


class Telemetry(Protocol):
    """Watches the device between the first and the last measured step of a workload."""

    def start(self) -> None:
        """Begin to read."""
        ...

    def stop(self) -> tuple[Reading, ...]:
        """Return what was read since `start`; nothing if it was not started."""
        ...


class NoTelemetry:
    """For the CPU: nothing is read, so that nothing disturbs what is measured."""

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> tuple[Reading, ...]:
        """Return nothing."""
        return ()


class GpuTelemetry:
    """Reads one GPU on a thread of the agent's, a few times a second."""

    def __init__(
        self,
        gpu: Gpu,
        *,
        clock: Callable[[], float] = time.monotonic,
        every_s: float = READ_EVERY_S,
        reads_energy: bool = False,
    ) -> None:
        self._gpu = gpu
        self._clock = clock
        self._every_s = every_s
        self._reads_energy = reads_energy
        self._end = threading.Event()
        self.readings: list[Reading] = []
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read."""
        self.stop()
        self._end.clear()
        self.readings = []
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[Reading, ...]:
        """Return what was read since `start`."""
        if self._thread is not None:
            self._end.set()
            self._thread.join()
            self._thread = None
        return tuple(self.readings)

    def _watch(self) -> None:
        began = self._clock()
        with ExitStack() as stack:
            meter = self._gpu.sm_meter()
            if meter is not None:
                stack.enter_context(meter)
            while not self._end.wait(self._every_s):
                share = None if meter is None else meter.read()
                joules = self._gpu.energy_joules() if self._reads_energy else None
                reading = Reading(
                    at_s=self._clock() - began,
                    state=self._gpu.state(),
                    sm_active=share,
                    energy_joules=joules,
                )
                self.readings.append(reading)


def with_readings(run: Run, readings: Sequence[Reading], *, settling_s: float = 0.0) -> Run:
    """Return the run with what was read while its steps were being measured.

    Its first `settling_s` turned out to be of the warm-up, and between its last step and the
    child's answer come other things (counting FLOPs): those readings do not count. Nor does what
    the GPU did beside a run on the CPU.
    """
    during = _during(run, readings, settling_s)
    shares = tuple(each.sm_active for each in during if each.sm_active is not None)
    slowed = sum(bool(each.state.reasons & HARD_THROTTLE) for each in during)
    told = {SM_ACTIVE.name: shares} if shares else {}
    joules = _energy_per_step(run, during)
    if joules is not None:
        told[ENERGY_PER_STEP.name] = (joules,)
    left_out = {THROTTLED: slowed} if slowed else {}
    clocks = [each.state.clock_mhz for each in during if each.state.clock_mhz]
    return replace(
        run,
        samples={**run.samples, **told},
        left_out={**run.left_out, **left_out},
        clock_mhz=median(clocks) if clocks else None,
        slowed=_slowed(during),
    )


def throttled(run: Run, readings: Sequence[Reading], *, settling_s: float = 0.0) -> Failure | None:
    """Return a failure if something held the clock down that is not the workload's own doing.

    Up to MAX_THROTTLED_SHARE of the readings may say so; `with_readings` counts them.
    """
    during = _during(run, readings, settling_s)
    bad = [each for each in during if each.state.reasons & HARD_THROTTLE]
    if len(bad) <= MAX_THROTTLED_SHARE * len(during):
        return None
    worst = bad[0].state
    facts = f"reasons {worst.reasons:#x}, {worst.clock_mhz} MHz, {worst.temperature_c} °C"
    return Failure(
        workload=run.workload,
        side=run.side,
        why=Why.THROTTLED,
        pair=run.pair,
        detail=f"the GPU was slowed down in {len(bad)} of {len(during)} readings ({facts}): "
        "the clock, not the code, would be measured; check cooling and power",
    )


def _energy_per_step(run: Run, during: Sequence[Reading]) -> float | None:
    """Return the joules of one step: the power between the first and the last reading, for a step.

    None without two readings of the counter or for a run too short for it; nor is one device's
    counter the energy of a step on several.
    """
    told = [(each.at_s, each.energy_joules) for each in during if each.energy_joules is not None]
    if len(told) < MIN_ENERGY_READINGS or run.devices != 1:
        return None
    (begun_s, begin), (ended_s, end) = told[0], told[-1]
    steps = (ended_s - begun_s) / fmean(run.samples[STEP_TIME.name])
    try:
        joules = energy_per_step_joules(
            begin_joules=begin, end_joules=end, steps=steps, seconds=ended_s - begun_s
        )
    except MetricError:
        return None
    return joules or None  # a counter that stands still tells nothing


def _slowed(during: Sequence[Reading]) -> dict[str, float]:
    """Return what held the clock down, with its share of the readings."""
    found = Counter(
        words
        for each in during
        for words in {words for bit, words in SLOWDOWNS.items() if each.state.reasons & bit}
    )
    return {words: count / len(during) for words, count in found.items()}


def _during(run: Run, readings: Sequence[Reading], settling_s: float) -> tuple[Reading, ...]:
    if run.device is not Device.CUDA:
        return ()
    end_s = settling_s + sum(run.samples[STEP_TIME.name])
    return tuple(each for each in readings if settling_s <= each.at_s <= end_s)
