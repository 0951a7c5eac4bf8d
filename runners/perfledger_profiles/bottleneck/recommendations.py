"""Recommends what to do about a classified profile."""

from perfledger.profile import Profile
from perfledger_profiles.bottleneck import copy_advice, device_advice, host_advice
from perfledger_profiles.bottleneck.advice import AdviceContext
from perfledger_profiles.bottleneck.classification import Bottleneck, Classification, Recommendation
from perfledger_profiles.hardware.device_lookup import hardware_of
from perfledger_profiles.hardware.device_peaks import HardwareSpec

# A smaller saving is shown as 0 %: such advice saves nothing.
MIN_SAVED_SHARE = 0.005


def recommendations(
    profile: Profile,
    classification: Classification,
    *,
    hardware: HardwareSpec | None = None,
    timed_seconds: float | None = None,
) -> tuple[Recommendation, ...]:
    """Return the advice whose triggers the profile shows, the largest saving first.

    Each has an estimate of the step time and the assumption behind it. The estimate starts from
    `timed_seconds`, the step time without a profiler, if that is known. Two shares may cover the
    same time. On a throttled or shared machine there is no advice on the code. Without `hardware`
    the device is looked up from the profile.
    """
    if classification.primary is Bottleneck.ENVIRONMENT:
        return ()
    case = AdviceContext(
        profile=profile,
        classification=classification,
        hardware=hardware or hardware_of(profile).hardware,
        timed_seconds=timed_seconds,
    )
    rules = (*host_advice.RULES, *copy_advice.RULES, *device_advice.RULES)
    advice = [item for rule in rules if (item := rule(case)) is not None]
    useful = [item for item in advice if item.saved_share >= MIN_SAVED_SHARE]
    return tuple(sorted(useful, key=lambda item: -item.saved_share))
