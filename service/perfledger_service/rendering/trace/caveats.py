"""Words the caveats of an explanation: device state, unexplained change and noise."""

from collections.abc import Iterator

from perfledger_profiles.diff.cause import StepTimeExplanation
from perfledger_profiles.diff.uniform_slowdown import CLOCK_TOLERANCE
from perfledger_profiles.hardware.device_state import POWER_CAP, DeviceState
from perfledger_service.rendering.layout import number_format

_NOT_THE_CODE = "that is the device, not the code"
_CAPPED = "code that uses more power reaches the cap sooner"


def caveats(explanation: StepTimeExplanation, *, is_undecided: bool = False) -> str:
    """Return the change in the device, the change without a profiler, and the profiles' noise.

    `is_undecided` if the step time without a profiler was too noisy to be judged.
    """
    residual = _residual(explanation, is_undecided=is_undecided)
    return " ".join((*_clocks(explanation), *residual, *_noise(explanation)))


def _clocks(explanation: StepTimeExplanation) -> Iterator[str]:
    base, head = explanation.base_device, explanation.head_device
    if base is None or head is None:
        return
    ratio = head.clock_hertz / base.clock_hertz
    if abs(ratio - 1) > CLOCK_TOLERANCE:
        is_capped = POWER_CAP in (head if ratio < 1 else base).slowed_by
        yield (
            f"The device ran at {_clock(base)} on base and at {_clock(head)} on head "
            f"({number_format.percent(ratio - 1)}): {_CAPPED if is_capped else _NOT_THE_CODE}."
        )


def _clock(device: DeviceState) -> str:
    slowdown = f", slowed by {' and '.join(device.slowed_by)}," if device.slowed_by else ""
    return f"{number_format.hertz(device.clock_hertz)}{slowdown}"


def _residual(explanation: StepTimeExplanation, *, is_undecided: bool) -> Iterator[str]:
    left = explanation.residual_seconds
    if left is None:
        return
    profiled_s = explanation.head_step_seconds - explanation.base_step_seconds
    timed, profiles, unexplained = map(
        number_format.signed_seconds, (profiled_s + left, profiled_s, left)
    )
    if is_undecided:
        yield (
            f"Without a profiler the step differs by {timed}, which may be noise alone; the "
            f"profiles differ by {profiles}."
        )
        return
    yield (
        f"Without a profiler the step changed by {timed}; the profiles differ by {profiles}, so "
        f"{unexplained} of the change is not explained."
    )


def _noise(explanation: StepTimeExplanation) -> Iterator[str]:
    if explanation.noise_seconds is not None:
        error = number_format.seconds(explanation.noise_seconds)
        yield f"The difference of the profiled steps is accurate to ±{error} (95 %)."
