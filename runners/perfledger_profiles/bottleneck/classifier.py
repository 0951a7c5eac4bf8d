"""Classifies the bottleneck of a profile's step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from perfledger.profile import Profile
from perfledger.rounding import decimals, integer, percentage
from perfledger_profiles.bottleneck.classification import (
    Bottleneck,
    BottleneckConfidence,
    BottleneckDetail,
    BottleneckShare,
    Classification,
)
from perfledger_profiles.bottleneck.communication_bound import communication_detail
from perfledger_profiles.bottleneck.device_bound import DeviceVote, device_vote
from perfledger_profiles.bottleneck.host_bound import host_detail, host_seconds, is_capturing
from perfledger_profiles.bottleneck.step_shares import (
    BOTTLENECKS,
    ON_DEVICE,
    OVERHEAD_THRESHOLDS,
    is_on_cpu,
    is_sum_of_kernels,
    median_shares,
    overhead_shares,
    whole_name,
)
from perfledger_profiles.hardware.device_lookup import hardware_of
from perfledger_profiles.hardware.device_peaks import HardwareSpec
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS
from perfledger_profiles.timeline.trace import STACKS_RECORDED
from perfledger_profiles.xla.host_events import XLA_RUNTIME

# Above this ratio of the profiled to the unprofiled step, the profiler itself dominates.
MAX_PERTURBATION = 1.1
# With two steps, the median is their mean.
MIN_STEPS = 3
# Two shares closer than this may change places from one profile to the next.
MIN_LEAD = 0.05
# A share that leaves a fifth to all the others is the largest in other steps too.
DOMINANT_SHARE = 0.8

# With more of the host's time, a wait for XLA is what makes the host the largest share.
MOSTLY = 0.5
# Parts that sum to all of the kernels' time leave only rounding.
ROUNDING_SHARE = 1e-9
_NOTHING = "no step and no kernel of the file has a time: a bottleneck needs times"
_ON_CPU = (
    "on a CPU it is unknown whether computing or memory limits: that needs its hardware counters, "
    "as perf stat reads them"
)
_HOST_UNKNOWN = (
    "{} of the step has no work on the device, and the host's recorded calls do not show "
    "why: they cover too little of it, the file is cut off, another clock timed them, launched "
    "work was held up, or the host waits for an idle device"
)
_NO_HOST = (
    "{} of the step has no work on the device, and no host call was recorded in that time "
    "to show why: record both in one file"
)
_DEVICE_UNKNOWN = "the file has no device work, so neither its time nor what it waits for is known"
_NO_STEPS = "the file marks no steps: the time shown here counts as one"
_NO_TIMELINE = (
    "the kernels' times are added up: shares are of this sum, which shows neither idle time nor "
    "overlap"
)

_XLA_IDLE = (
    "for {} of the step the host waits for XLA while none of its operations runs: other programs "
    "lengthen that, and so does recording {} calls a step; a step without a profiler shows by how "
    "much"
)


def classify(
    profile: Profile,
    *,
    hardware: HardwareSpec | None = None,
    perturbation: float | None = None,
    environment: Sequence[str] = (),
) -> Classification:
    """Return the bottleneck of a step: a high overhead, else the device itself.

    The largest overhead by exclusive share (median over the steps) is the label if it reaches its
    high threshold. (Taking the first overhead that reaches it was wrong: with 64 % host and 15 %
    communication the label was communication.) `perturbation` is the profiled step over the
    unprofiled one. `environment` lists what was wrong with the machine (throttled, shared); if it
    is not empty, the label says nothing about the code. Without `hardware` the device is looked up
    from the profile.
    """
    shares = median_shares(profile)
    vote = _vote(profile, hardware or hardware_of(profile).hardware)
    if environment or not shares:
        return _no_classification(shares, vote, environment)
    primary = _primary(shares, vote, profile)
    doubts = _doubts(shares, primary, profile=profile, perturbation=perturbation)
    step_doubts = _step_doubts(profile)
    rows = _bottleneck_shares(shares, vote, is_host_known=profile.is_host_known)
    return Classification(
        primary=primary,
        shares=tuple(_known_rows(rows, profile)),
        confidence=_confidence(profile, shares, primary, doubts=doubts, step_doubts=step_doubts),
        detail=_detail(primary, profile, vote),
        secondary=_secondary(shares, primary, profile),
        reasons=(*_evidence(shares, primary, vote, profile), *doubts, *step_doubts),
        is_estimate=primary is Bottleneck.DEVICE,
    )


def _no_classification(
    shares: Mapping[Bottleneck, float], vote: DeviceVote, environment: Sequence[str]
) -> Classification:
    """Return a classification without a statement about the code: disturbed machine, or no time."""
    if environment:
        primary, confidence = Bottleneck.ENVIRONMENT, BottleneckConfidence.HIGH
    else:
        primary, confidence = Bottleneck.UNKNOWN, BottleneckConfidence.LOW
    return Classification(
        primary=primary,
        shares=_bottleneck_shares(shares, vote),
        confidence=confidence,
        reasons=tuple(environment) or (_NOTHING,),
    )


def _vote(profile: Profile, hardware: HardwareSpec | None) -> DeviceVote:
    if is_on_cpu(profile):
        return DeviceVote(
            bottleneck=Bottleneck.DEVICE, detail=BottleneckDetail.OPERATORS, reason=_ON_CPU
        )
    return device_vote(profile, hardware)


_CAPTURES = (
    "a graph of launches (CUDA or HIP) is captured here, once and without running its kernels: "
    "record a step that runs the graph"
)


def _primary(shares: Mapping[Bottleneck, float], vote: DeviceVote, profile: Profile) -> Bottleneck:
    largest, share = overhead_shares(shares)[0]
    if share < OVERHEAD_THRESHOLDS[largest].high:
        return vote.bottleneck
    is_known = _overhead(largest, is_host_known=profile.is_host_known) is not Bottleneck.UNKNOWN
    if not is_known and shares.get(ON_DEVICE, 0.0) > share:
        return vote.bottleneck  # the larger part, and the better known one
    return _overhead(largest, is_host_known=profile.is_host_known)


def _secondary(
    shares: Mapping[Bottleneck, float], primary: Bottleneck, profile: Profile
) -> tuple[Bottleneck, ...]:
    high = [
        _overhead(name, is_host_known=profile.is_host_known)
        for name, share in overhead_shares(shares)
        if share >= OVERHEAD_THRESHOLDS[name].moderate
    ]
    return tuple(name for name in high if name is not primary)


def _overhead(name: Bottleneck, *, is_host_known: bool) -> Bottleneck:
    """Return the name of an overhead; unrecorded host time has an unknown reason."""
    return Bottleneck.UNKNOWN if name is Bottleneck.HOST and not is_host_known else name


def _bottleneck_shares(
    shares: Mapping[Bottleneck, float], vote: DeviceVote, *, is_host_known: bool = True
) -> tuple[BottleneckShare, ...]:
    """Return the shares, largest first; the device's is divided by its kernels' bounds."""
    listed = [
        BottleneckShare(
            bottleneck=_overhead(name, is_host_known=is_host_known),
            share=share,
            is_high=share >= OVERHEAD_THRESHOLDS[name].high,
            is_moderate=share >= OVERHEAD_THRESHOLDS[name].moderate,
        )
        for name, share in overhead_shares(shares)
    ]
    if ON_DEVICE in shares:
        listed.extend(_device_shares(shares[ON_DEVICE], vote))
    return tuple(sorted(listed, key=lambda share: -share.share))


def _known_rows(rows: Sequence[BottleneckShare], profile: Profile) -> Iterator[BottleneckShare]:
    """Yield the shares that the file shows; a part that is not recorded has none rather than 0."""
    is_partial = is_sum_of_kernels(profile) or not _has_device_time(profile)
    for row in rows:
        is_bound = not is_partial and row.bottleneck is not Bottleneck.UNKNOWN
        if row.share > 0 or not is_partial:
            yield replace(row, is_of_step=is_bound)


def _has_device_time(profile: Profile) -> bool:
    """Return whether the file contains the work of the device that the host launches on."""
    if profile.is_host_known or any(kernel.seconds > 0 for kernel in profile.kernels):
        return True
    return any(BOTTLENECKS[operation.bucket] is ON_DEVICE for operation in profile.operations)


def _has_host_calls(profile: Profile) -> bool:
    """Return whether any host call owns part of the step's time."""
    return any(
        BOTTLENECKS[operation.bucket] is Bottleneck.HOST and operation.name != OUTSIDE_OPERATIONS
        for operation in profile.operations
    )


def _device_shares(share: float, vote: DeviceVote) -> Iterator[BottleneckShare]:
    """Yield the parts of the device's share of the step, with the remainder as DEVICE."""
    part_of = partial(BottleneckShare, is_high=False, is_moderate=False)
    for part in vote.parts:
        is_estimate = part.basis.is_estimate
        yield part_of(bottleneck=part.bottleneck, share=share * part.share, is_estimate=is_estimate)
    rest = max(1 - sum(part.share for part in vote.parts), 0.0)
    if rest > ROUNDING_SHARE:
        yield part_of(bottleneck=Bottleneck.DEVICE, share=share * rest)


def _detail(primary: Bottleneck, profile: Profile, vote: DeviceVote) -> BottleneckDetail:
    if primary is Bottleneck.HOST:
        return host_detail(profile)
    if primary is Bottleneck.COMMUNICATION:
        return communication_detail(profile)
    return vote.detail if primary is vote.bottleneck else BottleneckDetail.NONE


def _evidence(
    shares: Mapping[Bottleneck, float], primary: Bottleneck, vote: DeviceVote, profile: Profile
) -> tuple[str, ...]:
    largest, share = overhead_shares(shares)[0]
    name = _overhead(largest, is_host_known=profile.is_host_known)
    if share <= 0:
        all_work = (
            ()
            if is_sum_of_kernels(profile)
            else ("the device has work during the whole step: the host never keeps it waiting",)
        )
        return (*all_work, vote.reason)
    if name is Bottleneck.UNKNOWN and share >= OVERHEAD_THRESHOLDS[largest].high:
        if not _has_device_time(profile):
            return (_DEVICE_UNKNOWN,)
        reason = _HOST_UNKNOWN if _has_host_calls(profile) else _NO_HOST
        more = () if primary is Bottleneck.UNKNOWN else (vote.reason,)
        return (reason.format(percentage(share)), *more)
    high = percentage(OVERHEAD_THRESHOLDS[largest].high)
    mark = f"takes {decimals(100 * share, 2)} % of {whole_name(profile)} (high from {high} on)"
    if primary in OVERHEAD_THRESHOLDS:
        return (f"{largest} {mark}",)
    return (f"no overhead is high: the largest, {name}, {mark}", vote.reason)


def _doubts(
    shares: Mapping[Bottleneck, float],
    primary: Bottleneck,
    *,
    profile: Profile,
    perturbation: float | None,
) -> tuple[str, ...]:
    """Return the reasons why the label may be wrong, regardless of the number of steps."""
    doubts: list[str] = []
    if perturbation is not None and perturbation > MAX_PERTURBATION:
        ratio = decimals(perturbation, 2)
        doubts.append(f"the profiled step takes {ratio} times the unprofiled one")
    elif primary is Bottleneck.HOST and STACKS_RECORDED in profile.notes:
        doubts.append("recording every Python call slows the host, so its share is too large")
    xla_idle = _xla_idle(profile) if primary is Bottleneck.HOST else ""
    doubts += [_CAPTURES] if is_capturing(profile) else []
    doubts += [xla_idle] if xla_idle else []
    ranked = sorted(shares.items(), key=lambda pair: -pair[1])
    pairs = (
        [ranked[:2], overhead_shares(shares)[:2]]
        if primary in OVERHEAD_THRESHOLDS
        else [ranked[:2]]
    )
    for (first_name, most), (second_name, less) in pairs:
        first, second = (_share_name(name, profile) for name in (first_name, second_name))
        doubt = f"{first} and {second} are within {integer(100 * MIN_LEAD)} points of each other"
        if most - less <= MIN_LEAD and doubt not in doubts:
            doubts.append(doubt)
    return tuple(doubts)


def _xla_idle(profile: Profile) -> str:
    """Return the doubt about a step that mostly waits for XLA on the CPU; "" for others."""
    waits = sum(one.seconds for one in profile.operations if one.name == XLA_RUNTIME)
    if waits <= MOSTLY * sum(host_seconds(profile).values()):
        return ""
    calls = sum(one.count for one in profile.operations)
    return _XLA_IDLE.format(percentage(waits / profile.step_seconds), integer(calls))


def _share_name(name: Bottleneck, profile: Profile) -> str:
    is_unknown = _overhead(name, is_host_known=profile.is_host_known) is Bottleneck.UNKNOWN
    return "time without a known reason" if is_unknown else str(name)


def _step_doubts(profile: Profile) -> tuple[str, ...]:
    if is_sum_of_kernels(profile):
        return (_NO_TIMELINE,)
    if not profile.has_steps:
        return (_NO_STEPS,)
    if profile.steps < MIN_STEPS:
        return (f"too few steps for a median: {profile.steps}",)
    return ()


def _confidence(
    profile: Profile,
    shares: Mapping[Bottleneck, float],
    primary: Bottleneck,
    *,
    doubts: Sequence[str],
    step_doubts: Sequence[str],
) -> BottleneckConfidence:
    """Return the confidence; medium requires a repeat, and a share that dwarfs the others.

    Of one step, or of one recording without steps and repeats, nothing shows that the next is like
    it.
    """
    share = shares.get(primary, shares.get(ON_DEVICE, 0.0))
    is_repeated = len(profile.each_step) > 1 or profile.iterations >= MIN_STEPS
    is_unclear = bool(step_doubts) and (share < DOMINANT_SHARE or not is_repeated)
    largest, overhead = overhead_shares(shares)[0]
    is_idle_unknown = (
        _overhead(largest, is_host_known=profile.is_host_known) is Bottleneck.UNKNOWN
        and overhead >= OVERHEAD_THRESHOLDS[largest].high
    )
    if doubts or is_unclear or is_idle_unknown or primary is Bottleneck.UNKNOWN:
        return BottleneckConfidence.LOW
    if step_doubts:
        return BottleneckConfidence.MEDIUM
    return BottleneckConfidence.HIGH if profile.each_step else BottleneckConfidence.MEDIUM
