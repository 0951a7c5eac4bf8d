"""Turn a classified profile into what to do about it, what could bring the most first."""

from perfledger.profile import Profile
from perfledger_profiles import device_advice, host_advice
from perfledger_profiles.advice import Case
from perfledger_profiles.bottleneck import Bottleneck, Classification, Recommendation
from perfledger_profiles.hardware import Hardware
from perfledger_profiles.hardware_match import hardware_of


def recommend(
    profile: Profile,
    classification: Classification,
    *,
    hardware: Hardware | None = None,
    memory_share: float | None = None,
) -> tuple[Recommendation, ...]:
    """Return the advice that something in the profile asks for; without a trigger there is none.

    Each has Amdahl's bound: the step without the share that it is about. The shares of two may be
    of the same time. `memory_share` is the peak memory over the device's, 0 to 1. On a machine that
    was throttled or shared there is nothing to say about the code. The facts about the device are
    those of what the profile states unless given.
    """
    if classification.primary is Bottleneck.ENVIRONMENT:
        return ()
    case = Case(
        profile=profile,
        classification=classification,
        hardware=hardware or hardware_of(profile).hardware,
        memory_share=memory_share,
    )
    rules = (*host_advice.RULES, *device_advice.RULES)
    found = [advice for rule in rules if (advice := rule(case)) is not None]
    return tuple(sorted(found, key=lambda advice: -advice.share))
