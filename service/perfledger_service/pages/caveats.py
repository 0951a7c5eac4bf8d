"""Turns what an explanation leaves to other things than its causes into sentences."""

from collections.abc import Iterator

from perfledger_profiles.cause import Explanation
from perfledger_profiles.device_state import POWER_CAP, DeviceState
from perfledger_profiles.drift import CLOCK_TOLERANCE
from perfledger_service.pages import figures

_NOT_THE_CODE = "that is the device, not the code"
_CAPPED = "code that draws more power meets the cap sooner"


def caveats(explanation: Explanation) -> str:
    """Return what the device changed, what only a timer saw, and how loud the profiles are."""
    return " ".join((*_clocks(explanation), *_residual(explanation), *_noise(explanation)))


def _clocks(explanation: Explanation) -> Iterator[str]:
    base, head = explanation.base_device, explanation.head_device
    if base is None or head is None:
        return
    ratio = head.clock_hertz / base.clock_hertz
    if abs(ratio - 1) > CLOCK_TOLERANCE:
        is_capped = POWER_CAP in (head if ratio < 1 else base).slowed_by
        yield (
            f"The device ran at {_clock(base)} on base and at {_clock(head)} on head "
            f"({figures.percent(ratio - 1)}): {_CAPPED if is_capped else _NOT_THE_CODE}."
        )


def _clock(device: DeviceState) -> str:
    held = f", held down by {' and '.join(device.slowed_by)}," if device.slowed_by else ""
    return f"{figures.hertz(device.clock_hertz)}{held}"


def _residual(explanation: Explanation) -> Iterator[str]:
    left = explanation.residual_seconds
    if left is None:
        return
    profiled_s = explanation.head_step_seconds - explanation.base_step_seconds
    timed, profiled, other = map(figures.signed_seconds, (profiled_s + left, profiled_s, left))
    yield (
        f"Timed without a profiler the step changed by {timed}, and the profiles differ by "
        f"{profiled}: they do not show the other {other}."
    )


def _noise(explanation: Explanation) -> Iterator[str]:
    if explanation.noise_seconds is not None:
        differ = figures.seconds(explanation.noise_seconds)
        yield f"Two profiles of the same code differ by {differ} a step."
