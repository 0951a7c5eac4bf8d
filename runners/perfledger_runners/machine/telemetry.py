"""Samples a GPU's state while a child measures on it, and adds it to the run."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median
from typing import Protocol

from perfledger.measuring.core_use import PREPARED_ON_DEVICE
from perfledger.metrics import ENERGY_PER_STEP, SM_ACTIVE, STEP_TIME
from perfledger.records import Device, Failure, FailureReason, Run
from perfledger_profiles.hardware.efficiency_metrics import (
    MetricError,
    energy_per_step_joules,
)
from perfledger_runners.machine.nvml import HARD_THROTTLE, SLOWDOWNS, Gpu, GpuState

# NVML requires more than 0.1 s between readings of SM activity.
READ_EVERY_S = 0.12
# The key in a run's left_out for readings at which the GPU was throttled.
THROTTLED_KEY = "throttled"
# One reading in five may be throttled: the judged estimate (Hodges-Lehmann) hardly moves for so few
# of its samples, and breaks down at 29 %. Beyond this the clock is measured.
MAX_THROTTLED_SHARE = 0.2
# Of the steps after a set-up the first and the last reading may lie across their begin or end, and
# reading takes time too.
EDGE_SECONDS = 3 * READ_EVERY_S

# When measured steps began and ended, once for each set-up, in seconds since sampling began.
Spans = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySample:
    """One reading of the GPU; `sm_active` is the share since `since_s`, 0 to 1."""

    since_s: float  # the previous reading, or the begin of the meter
    at_s: float  # both since sampling began
    state: GpuState
    sm_active: float | None = None
    energy_joules: float | None = None  # the device's energy counter


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
    """A sampler of one GPU on a thread of the agent, a few times a second."""

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
        self.readings: list[TelemetrySample] = []
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start sampling."""
        self.stop()
        self._end.clear()
        self.readings = []
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[TelemetrySample, ...]:
        """Stop and return the readings since `start`."""
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
            read_s = self._clock() - began
            while not self._end.wait(self._every_s):
                share = None if meter is None else meter.read()
                joules = self._gpu.energy_joules() if self._reads_energy else None
                since_s, read_s = read_s, self._clock() - began
                reading = TelemetrySample(
                    since_s=since_s,
                    at_s=read_s,
                    state=self._gpu.state(),
                    sm_active=share,
                    energy_joules=joules,
                )
                self.readings.append(reading)


def with_telemetry(run: Run, readings: Sequence[TelemetrySample], *, spans_s: Spans) -> Run:
    """Return the run with the readings taken during its measured steps, which `spans_s` delimit.

    Between the spans the workload is set up again, which is none of its steps: an activity counts
    if it is of one span alone. Nor do readings of a GPU beside a run on the CPU. The activity and
    the energy of steps that are prepared are unknown.
    """
    during = _during(run, readings, spans_s)
    steady = () if _is_prepared(run) else _within(during, spans_s)
    shares = tuple(each.sm_active for each in steady if each.sm_active is not None)
    slowed = sum(bool(each.state.reasons & HARD_THROTTLE) for each in during)
    readings_by_metric = {SM_ACTIVE.name: shares} if shares else {}
    joules = None if _is_prepared(run) else _energy_per_step(run, during, spans_s)
    if joules is not None:
        readings_by_metric[ENERGY_PER_STEP.name] = (joules,)
    left_out = {THROTTLED_KEY: slowed} if slowed else {}
    clocks = [each.state.clock_mhz for each in during if each.state.clock_mhz]
    return replace(
        run,
        samples={**run.samples, **readings_by_metric},
        left_out={**run.left_out, **left_out},
        clock_mhz=median(clocks) if clocks else None,
        slowed=_slowdown_shares(during),
    )


def throttling_failure(
    run: Run, readings: Sequence[TelemetrySample], *, spans_s: Spans
) -> Failure | None:
    """Return a failure if the clock was lowered for reasons other than the workload.

    Up to MAX_THROTTLED_SHARE of the readings are tolerated; `with_telemetry` counts them.
    """
    during = _during(run, readings, spans_s)
    bad = [each for each in during if each.state.reasons & HARD_THROTTLE]
    if len(bad) <= MAX_THROTTLED_SHARE * len(during):
        return None
    worst = bad[0].state
    facts = f"reasons {worst.reasons:#x}, {worst.clock_mhz} MHz, {worst.temperature_c} °C"
    return Failure(
        workload=run.workload,
        side=run.side,
        why=FailureReason.THROTTLED,
        pair=run.pair,
        detail=f"the GPU was throttled in {len(bad)} of {len(during)} readings ({facts}), so the "
        "clock and not the code would be measured: check cooling and power",
    )


def _energy_per_step(run: Run, during: Sequence[TelemetrySample], spans_s: Spans) -> float | None:
    """Return the joules of one step, from the power between the readings of each span.

    None for a run that is too short, and for a step on several devices, whose energy one counter
    does not cover.
    """
    if run.devices != 1:
        return None
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
            begin_joules=0.0,
            end_joules=joules,
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
    if run.device is not Device.CUDA:
        return ()
    return tuple(each for each in readings if any(_is_in(span, each.at_s) for span in spans_s))


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
    """Return whether something was prepared before each reading, which the device shows too."""
    return PREPARED_ON_DEVICE in run.left_out
