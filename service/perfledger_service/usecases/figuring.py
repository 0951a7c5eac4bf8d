"""What a user says of a step, or a profiler file's step, in; its figures out."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from perfledger.profile import Profile, Reading
from perfledger_profiles.device_state import SM_CLOCK
from perfledger_profiles.hardware import Hardware, known_hardware, peak_flops
from perfledger_profiles.hardware_match import HardwareMatch, hardware_of, match_hardware
from perfledger_profiles.metrics import MetricError
from perfledger_profiles.step_figures import (
    StepFacts,
    StepFigure,
    Transformer,
    step_figures,
    transformer_flops,
)
from perfledger_service.errors import UsageError
from perfledger_service.pages.escape import clean
from perfledger_service.usecases.tracing import summarize
from perfledger_service.views import FiguresView

_SHARES = ("mfu", "hfu")
_IMPOSSIBLE = (
    "no device does more than its dense peak: the step's time, its FLOPs, --type or --devices is "
    "not what was measured"
)


def figures_of(
    facts: Callable[[float], StepFacts],
    *,
    file: Path | None,
    seconds: float | None,
    device: str,
    dtype: str,
    clock_hz: float | None = None,
) -> FiguresView:
    """Return a step's figures; `facts` turns its time into all that is known of it.

    The time is given or a profiler file's, as is the device. `clock_hz` is what a board computed at
    that its power limit holds back. Raises UsageError and NotFoundError.
    """
    if file is not None and seconds is None:
        timed = _profiled(file, device, clock_hz)
    elif file is None and seconds is not None:
        if not 0 < seconds < inf:
            msg = f"a step of {seconds:g} s is none: give --step in seconds, above 0"
            raise UsageError(msg)
        match = _named(device, clock_hz) if device else HardwareMatch(hardware=None)
        timed = _Timed(
            seconds=seconds, source="as given", hardware=match.hardware, notes=match.caveats
        )
    else:
        msg = "give the step's time: either --step SECONDS or a profiler file with steps"
        raise UsageError(msg)
    peak = None if timed.hardware is None else _peak(timed.hardware, dtype)
    try:
        given = facts(timed.seconds)
        found = step_figures(given, peak_flops_per_second=peak)
    except MetricError as error:
        raise UsageError(str(error)) from error
    return FiguresView(
        step_seconds=timed.seconds,
        source=timed.source,
        devices=given.devices,
        device=timed.hardware.key if timed.hardware else "",
        dtype=dtype,
        peak_flops_per_second=peak,
        figures=found,
        notes=(*timed.notes, *_doubts(timed.hardware, found)),
    )


def model_flops(
    *, flops: float | None, shape: Transformer | None, tokens: float | None
) -> float | None:
    """Return a step's model FLOPs, counted or a transformer's; None where neither was given.

    Raises UsageError for both, and for a shape without tokens.
    """
    if flops is not None and shape is not None:
        msg = "give either --flops or the shape of a transformer: both say what a step computes"
        raise UsageError(msg)
    if shape is None:
        return flops
    if tokens is None:
        msg = "a transformer's FLOPs are per token: give --items, the tokens of a step"
        raise UsageError(msg)
    try:
        return transformer_flops(shape, tokens=tokens)
    except MetricError as error:
        raise UsageError(str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timed:
    """A step's time, where it is from and on what it was taken."""

    seconds: float
    source: str
    hardware: Hardware | None
    notes: tuple[str, ...] = ()


def _doubts(hardware: Hardware | None, found: Sequence[StepFigure]) -> Iterator[str]:
    """Say why there is no MFU, or that what came out cannot be."""
    if hardware is None:
        yield "without a known device there is no peak, and no MFU: name one with --on"
    elif hardware.held_back:
        yield "for an MFU say with --clock at how many MHz it computed"
    if any(one.name in _SHARES and one.value > 1 for one in found):
        yield _IMPOSSIBLE


def _profiled(file: Path, device: str, clock_hz: float | None) -> _Timed:
    seen = summarize(file)
    if not seen.profile.has_steps or seen.profile.step_seconds <= 0:
        msg = f"{seen.name} has no steps to time: give --step SECONDS"
        raise UsageError(msg)
    match = _named(device, clock_hz) if device else _stated(seen.profile, clock_hz)
    slower = "a profiler's step is longer than one without it: --step takes the true one"
    reason = (match.reason,) if match.reason else ()
    return _Timed(
        seconds=seen.profile.step_seconds,
        source=seen.name,
        hardware=match.hardware,
        notes=(slower, *reason, *match.caveats),
    )


def _peak(hardware: Hardware, dtype: str) -> float | None:
    """Return the peak for a type, None for a device that does not reach it."""
    if peak_flops(replace(hardware, held_back=""), dtype) is None:
        known = ", ".join(hardware.peak_flops)
        msg = f"no dense peak of {hardware.key} is known for {dtype[:40]!r}: choose from {known}"
        raise UsageError(msg)
    return peak_flops(hardware, dtype)


def _stated(profile: Profile, clock_hz: float | None) -> HardwareMatch:
    """Return the facts about a profile's own device, at the clock that is given, else its own."""
    if clock_hz is None:
        return hardware_of(profile)
    reached = Reading(name=SM_CLOCK, value=clock_hz, unit="Hz", source="as given")
    return _capped(hardware_of(replace(profile, readings=(reached,))))


def _named(device: str, clock_hz: float | None) -> HardwareMatch:
    """Return the facts about a device by its key or its name, with what limits them.

    A key tells the memory too, which boards of one name may differ by.
    """
    keyed = [row for row in known_hardware() if row.key.lower() == device.lower()]
    name, memory = (keyed[0].names[0], keyed[0].memory_bytes) if keyed else (device, None)
    match = match_hardware(name, memory_bytes=memory, clock_hz=clock_hz)
    if match.hardware is None:
        if near := _named_alike(device):
            which = f"it may be {' or '.join(near)}: say which"
        else:
            known = ", ".join(row.key for row in known_hardware())
            which = f"{clean(match.reason, limit=200)}; choose from {known}"
        msg = f"no device is named {device[:80]!r}: {which}"
        raise UsageError(msg)
    return match if clock_hz is None else _capped(match)


def _capped(match: HardwareMatch) -> HardwareMatch:
    """Return a match that a clock says something of: other boards reach what the table has."""
    if match.hardware is not None and not match.is_power_capped:
        msg = f"--clock is for boards that their power limit holds back: not {match.hardware.key}"
        raise UsageError(msg)
    return match


def _named_alike(device: str) -> list[str]:
    """Return the keys of the devices whose key or names have all the words of a name."""
    words = re.findall(r"[a-z0-9]+", device.lower())
    return [
        row.key
        for row in known_hardware()
        if words and all(word in " ".join((row.key, *row.names)).lower() for word in words)
    ]
