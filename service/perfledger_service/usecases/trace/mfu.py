"""Computes a step's efficiency metrics, from a given time or a profiler file."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from perfledger.profile import Profile, ProfileReading
from perfledger.rounding import for_programs
from perfledger_profiles.hardware.device_lookup import HardwareMatch, hardware_of, match_hardware
from perfledger_profiles.hardware.device_peaks import HardwareSpec, known_hardware, peak_flops
from perfledger_profiles.hardware.device_state import SM_CLOCK
from perfledger_profiles.hardware.step_metrics import (
    StepFacts,
    StepMetric,
    TransformerShape,
    step_metrics,
    transformer_flops,
)
from perfledger_service.errors import UsageError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.trace.summary import summarize
from perfledger_service.values.trace_views import StepMetricsView

_SHARES = ("mfu", "hfu")
_IMPOSSIBLE = (
    "no device exceeds its dense peak: check the step's time, its FLOPs, --dtype and --devices"
)


def compute_step_metrics(
    facts: Callable[[float], StepFacts],
    *,
    file: Path | None,
    seconds: float | None,
    device: str,
    dtype: str,
    clock_hz: float | None = None,
) -> StepMetricsView:
    """Return a step's metrics; `facts` returns the step's facts for its time.

    Time and device are either given or read from a profiler file. `clock_hz` is the actual clock of
    a power-limited board. Raises UsageError and NotFoundError.
    """
    if file is not None and seconds is None:
        timed = _timed_profile(file, device, clock_hz)
    elif file is None and seconds is not None:
        if not 0 < seconds < inf:
            msg = (
                f"--step-seconds {for_programs(seconds)}: give the time of a step in seconds, "
                "above 0"
            )
            raise UsageError(msg)
        match = _match_named_device(device, clock_hz) if device else HardwareMatch(hardware=None)
        timed = _TimedStep(
            seconds=seconds, source="as given", hardware=match.hardware, notes=match.caveats
        )
    else:
        msg = "give the step's time: either --step-seconds SECONDS or a profiler file with steps"
        raise UsageError(msg)
    peak = None if timed.hardware is None else _peak(timed.hardware, dtype)
    with translate_errors():
        step_facts = facts(timed.seconds)
        figures = step_metrics(step_facts, peak_flops_per_second=peak)
    return StepMetricsView(
        step_seconds=timed.seconds,
        source=timed.source,
        devices=step_facts.devices,
        device=timed.hardware.key if timed.hardware else "",
        dtype=dtype,
        peak_flops_per_second=peak,
        figures=figures,
        notes=(*timed.notes, *_doubts(timed.hardware, figures)),
    )


def model_flops(
    *, flops: float | None, shape: TransformerShape | None, tokens: float | None
) -> float | None:
    """Return a step's model FLOPs, given or of a transformer's shape; None without either.

    Raises UsageError for both, and for a shape without tokens.
    """
    if flops is not None and shape is not None:
        msg = (
            "give either --model-flops or the shape of a transformer: both say what a step computes"
        )
        raise UsageError(msg)
    if shape is None:
        return flops
    if tokens is None:
        msg = "a transformer's FLOPs are per token: give --units-per-step, the tokens of a step"
        raise UsageError(msg)
    with translate_errors():
        return transformer_flops(shape, tokens=tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TimedStep:
    """A step's time, its source and its hardware."""

    seconds: float
    source: str
    hardware: HardwareSpec | None
    notes: tuple[str, ...] = ()


def _doubts(hardware: HardwareSpec | None, figures: Sequence[StepMetric]) -> Iterator[str]:
    """Yield why there is no MFU, or why a figure is impossible."""
    if hardware is None:
        yield "without a known device there is no peak, and no MFU: name one with --accelerator"
    elif hardware.unreachable_reason:
        yield "for an MFU give its clock with --clock-mhz"
    if any(one.name in _SHARES and one.value > 1 for one in figures):
        yield _IMPOSSIBLE


def _timed_profile(file: Path, device: str, clock_hz: float | None) -> _TimedStep:
    view = summarize(file)
    if not view.profile.has_steps or view.profile.step_seconds <= 0:
        msg = f"{view.name} has no steps to time: give --step-seconds SECONDS"
        raise UsageError(msg)
    match = (
        _match_named_device(device, clock_hz)
        if device
        else _match_profiled_device(view.profile, clock_hz)
    )
    slower = (
        "a profiled step is longer than one without a profiler: give that one with --step-seconds"
    )
    reason = (match.reason,) if match.reason else ()
    return _TimedStep(
        seconds=view.profile.step_seconds,
        source=view.name,
        hardware=match.hardware,
        notes=(slower, *reason, *match.caveats),
    )


def _peak(hardware: HardwareSpec, dtype: str) -> float | None:
    """Return the peak for a data type, None for a device that does not support it."""
    if peak_flops(replace(hardware, unreachable_reason=""), dtype) is None:
        dtypes = ", ".join(hardware.peak_flops)
        msg = f"no dense peak of {hardware.key} is known for {dtype[:40]!r}: choose from {dtypes}"
        raise UsageError(msg)
    return peak_flops(hardware, dtype)


def _match_profiled_device(profile: Profile, clock_hz: float | None) -> HardwareMatch:
    """Return the hardware of a profile's device, at the given clock or its own."""
    if clock_hz is None:
        return hardware_of(profile)
    reached = ProfileReading(name=SM_CLOCK, value=clock_hz, unit="Hz", source="as given")
    return _check_clock_applies(hardware_of(replace(profile, readings=(reached,))))


def _match_named_device(device: str, clock_hz: float | None) -> HardwareMatch:
    """Return the hardware of a device by its key or its name.

    A key also determines the memory size, in which boards with the same name may differ.
    """
    keyed = [row for row in known_hardware() if row.key.lower() == device.lower()]
    name, memory = (keyed[0].names[0], keyed[0].memory_bytes) if keyed else (device, None)
    match = match_hardware(name, memory_bytes=memory, clock_hz=clock_hz)
    if match.hardware is None:
        if near := _similar_devices(device):
            which = f"it may be {' or '.join(near)}: choose one"
        else:
            keys = ", ".join(row.key for row in known_hardware())
            which = f"{clean(match.reason, limit=200)}; choose from {keys}"
        msg = f"no device is named {device[:80]!r}: {which}"
        raise UsageError(msg)
    return match if clock_hz is None else _check_clock_applies(match)


def _check_clock_applies(match: HardwareMatch) -> HardwareMatch:
    """Return the match; raise UsageError if its board is not power-limited."""
    if match.hardware is not None and not match.is_power_capped:
        msg = f"--clock-mhz is for boards slowed by their power limit, not for {match.hardware.key}"
        raise UsageError(msg)
    return match


def _similar_devices(device: str) -> list[str]:
    """Return the keys of devices whose key and names contain every word of a name."""
    words = re.findall(r"[a-z0-9]+", device.lower())
    return [
        row.key
        for row in known_hardware()
        if words and all(word in " ".join((row.key, *row.names)).lower() for word in words)
    ]
