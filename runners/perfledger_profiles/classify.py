"""Turn a profile into what its step is bound by, with the shares and how far to trust it."""

from collections.abc import Mapping, Sequence

from perfledger.profile import Profile
from perfledger_profiles.bottleneck import (
    Bottleneck,
    Classification,
    Confidence,
    Detail,
    Share,
)
from perfledger_profiles.communication_part import communication_detail
from perfledger_profiles.device_vote import Basis, DeviceVote, device_vote
from perfledger_profiles.hardware import Hardware
from perfledger_profiles.hardware_match import hardware_of
from perfledger_profiles.host_part import host_detail
from perfledger_profiles.step_shares import (
    MARKS,
    ON_DEVICE,
    is_on_cpu,
    median_shares,
    overheads,
)

# Above this ratio of the profiled to the unprofiled step the profiler itself is what is seen.
MAX_PERTURBATION = 1.1
# A median of two is their mean.
MIN_STEPS = 3
# Two shares that are nearer than this change places from one profile to the next.
MIN_LEAD = 0.05

_NOTHING = "no step and no kernel of the file has a time: figures alone tell no bottleneck"
_ON_CPU = "on a CPU nothing here tells compute from memory: its counters are not read"
_NO_STEPS = "the file marks no steps: all of it is taken as one"


def classify(
    profile: Profile,
    *,
    hardware: Hardware | None = None,
    perturbation: float | None = None,
    environment: Sequence[str] = (),
) -> Classification:
    """Return what a step is bound by: an overhead that is high, else the device itself.

    Of the exclusive shares of a step (median over the steps) the largest overhead is the label if
    it reaches its high mark. The first that does would be wrong: of 64 % host and 15 %
    communication it made communication. `perturbation` is the profiled over the unprofiled step;
    `environment` says in words what was wrong with the machine (throttled, shared), and leaves no
    word on the code. The facts about the device are those of what the profile states unless given.
    """
    shares = median_shares(profile)
    vote = _vote(profile, hardware or hardware_of(profile).hardware)
    if environment or not shares:
        return _without_word(shares, vote, environment)
    primary = _primary(shares, vote)
    is_estimate = primary not in MARKS and vote.basis in (None, Basis.FAMILY)
    doubts = _doubts(shares, primary, profile, perturbation=perturbation)
    return Classification(
        primary=primary,
        shares=_listed(shares, vote),
        confidence=_confidence(profile, doubts, is_estimate=is_estimate),
        detail=_detail(primary, profile, vote),
        secondary=_secondary(shares, primary),
        reasons=(*_evidence(shares, primary, vote), *doubts),
        is_estimate=is_estimate,
    )


def _without_word(
    shares: Mapping[Bottleneck, float], vote: DeviceVote, environment: Sequence[str]
) -> Classification:
    """Return that nothing can be said of the code: of a disturbed machine, or of no time at all."""
    if environment:
        primary, confidence = Bottleneck.ENVIRONMENT, Confidence.HIGH
    else:
        primary, confidence = Bottleneck.UNKNOWN, Confidence.LOW
    return Classification(
        primary=primary,
        shares=_listed(shares, vote),
        confidence=confidence,
        reasons=tuple(environment) or (_NOTHING,),
    )


def _vote(profile: Profile, hardware: Hardware | None) -> DeviceVote:
    if is_on_cpu(profile):
        return DeviceVote(
            bottleneck=Bottleneck.COMPUTE, share=0.0, detail=Detail.OPERATORS, reason=_ON_CPU
        )
    return device_vote(profile, hardware)


def _primary(shares: Mapping[Bottleneck, float], vote: DeviceVote) -> Bottleneck:
    largest, share = overheads(shares)[0]
    return largest if share >= MARKS[largest].high else vote.bottleneck


def _secondary(shares: Mapping[Bottleneck, float], primary: Bottleneck) -> tuple[Bottleneck, ...]:
    return tuple(
        name
        for name, share in overheads(shares)
        if share >= MARKS[name].moderate and name is not primary
    )


def _listed(shares: Mapping[Bottleneck, float], vote: DeviceVote) -> tuple[Share, ...]:
    """Return the shares, largest first; the device's by the name of what binds it there."""
    is_known = vote.bottleneck is not Bottleneck.UNKNOWN
    listed = [
        Share(
            bottleneck=name,
            share=share,
            is_high=share >= MARKS[name].high,
            is_moderate=share >= MARKS[name].moderate,
        )
        for name, share in overheads(shares)
    ]
    if ON_DEVICE in shares:
        listed.append(
            Share(
                bottleneck=vote.bottleneck if is_known else ON_DEVICE,
                share=shares[ON_DEVICE],
                is_high=False,
                is_moderate=False,
            )
        )
    return tuple(sorted(listed, key=lambda share: -share.share))


def _detail(primary: Bottleneck, profile: Profile, vote: DeviceVote) -> Detail:
    if primary is Bottleneck.HOST:
        return host_detail(profile)
    if primary is Bottleneck.COMMUNICATION:
        return communication_detail(profile)
    return vote.detail if primary is vote.bottleneck else Detail.NONE


def _evidence(
    shares: Mapping[Bottleneck, float], primary: Bottleneck, vote: DeviceVote
) -> tuple[str, ...]:
    largest, share = overheads(shares)[0]
    if share <= 0:
        return ("all of the step is the device's own work", vote.reason)
    mark = f"has {share:.2%} of the step (high from {MARKS[largest].high:.0%} on)"
    if primary in MARKS:
        return (f"{largest} {mark}",)
    return (f"no overhead is high: the largest, {largest}, {mark}", vote.reason)


def _doubts(
    shares: Mapping[Bottleneck, float],
    primary: Bottleneck,
    profile: Profile,
    *,
    perturbation: float | None,
) -> tuple[str, ...]:
    """Return what makes the label one that may be wrong."""
    doubts: list[str] = []
    if perturbation is not None and perturbation > MAX_PERTURBATION:
        doubts.append(f"the profiled step takes {perturbation:.2f} times the unprofiled one")
    if not profile.has_steps:
        doubts.append(_NO_STEPS)
    elif profile.steps < MIN_STEPS:
        doubts.append(f"the steps are too few to take a median of: {profile.steps}")
    ranked = sorted(shares.items(), key=lambda pair: -pair[1])
    pairs = [ranked[:2], overheads(shares)[:2]] if primary in MARKS else [ranked[:2]]
    for (first, most), (second, less) in pairs:
        doubt = f"{first} and {second} are within {MIN_LEAD * 100:.0f} points of each other"
        if most - less <= MIN_LEAD and doubt not in doubts:
            doubts.append(doubt)
    return tuple(doubts)


def _confidence(profile: Profile, doubts: Sequence[str], *, is_estimate: bool) -> Confidence:
    if doubts or is_estimate:
        return Confidence.LOW
    return Confidence.HIGH if profile.each_step else Confidence.MEDIUM
