"""What a user says of a step, or a profiler file's step, in; its figures out."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path

from perfledger_profiles.hardware import Hardware, known_hardware, peak_flops
from perfledger_profiles.hardware_match import HardwareMatch, hardware_of, match_hardware
from perfledger_profiles.metrics import MetricError
from perfledger_profiles.step_figures import (
    StepFacts,
    Transformer,
    step_figures,
    transformer_flops,
)
from perfledger_service.errors import UsageError
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
) -> FiguresView:
    """Return a step's figures; `facts` turns its time into all that is known of it.

    The time is given or a profiler file's, as is the device. Raises UsageError and NotFoundError.
    """
    if file is not None and seconds is None:
        timed = _profiled(file, device)
    elif file is None and seconds is not None:
        if not 0 < seconds < inf:
            msg = f"a step of {seconds:g} s is none: give --step in seconds, above 0"
            raise UsageError(msg)
        match = _named(device) if device else HardwareMatch(hardware=None)
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
    unknown = "without a known device there is no peak, and no MFU: name one with --on"
    notes = timed.notes if timed.hardware else (*timed.notes, unknown)
    if any(figure.name in _SHARES and figure.value > 1 for figure in found):
        notes = (*notes, _IMPOSSIBLE)
    return FiguresView(
        step_seconds=timed.seconds,
        source=timed.source,
        devices=given.devices,
        device=timed.hardware.key if timed.hardware else "",
        dtype=dtype,
        peak_flops_per_second=peak,
        figures=found,
        notes=notes,
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


def _profiled(file: Path, device: str) -> _Timed:
    seen = summarize(file)
    if not seen.profile.has_steps or seen.profile.step_seconds <= 0:
        msg = f"{seen.name} has no steps to time: give --step SECONDS"
        raise UsageError(msg)
    match = _named(device) if device else hardware_of(seen.profile.device)
    slower = "a profiler's step is longer than one without it: --step takes the true one"
    reason = (match.reason,) if match.reason else ()
    return _Timed(
        seconds=seen.profile.step_seconds,
        source=seen.name,
        hardware=match.hardware,
        notes=(slower, *reason, *match.caveats),
    )


def _peak(hardware: Hardware, dtype: str) -> float:
    peak = peak_flops(hardware, dtype)
    if peak is None:
        known = ", ".join(hardware.peak_flops)
        msg = f"no dense peak of {hardware.key} is known for {dtype[:40]!r}: choose from {known}"
        raise UsageError(msg)
    return peak


def _named(device: str) -> HardwareMatch:
    """Return the facts about a device by its key or its name, with what limits them.

    A key tells the memory too, which boards of one name may differ by.
    """
    keyed = [row for row in known_hardware() if row.key.lower() == device.lower()]
    if keyed:
        match = match_hardware(keyed[0].names[0], memory_bytes=keyed[0].memory_bytes)
    else:
        match = match_hardware(device)
    if match.hardware is None:
        known = ", ".join(row.key for row in known_hardware())
        msg = f"no device is named {device[:80]!r}: choose from {known}"
        raise UsageError(msg)
    return match
