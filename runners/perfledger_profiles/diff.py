"""Turn two profiles of a workload into an Explanation: which operations account for the change."""

from collections.abc import Callable, Sequence
from math import fsum

from perfledger.profile import Profile
from perfledger_profiles.bottleneck import Classification
from perfledger_profiles.breakdown import FOLDED
from perfledger_profiles.calling import with_calling
from perfledger_profiles.cause import Cause, Explanation, How
from perfledger_profiles.change import Change, Stage
from perfledger_profiles.doubt import MAX_REST_SHARE, DeviceStates, Evidence, Timing, note_on
from perfledger_profiles.drift import with_clock
from perfledger_profiles.grouping import coarser, longest, name_of
from perfledger_profiles.matching import match
from perfledger_profiles.noise import Noise
from perfledger_profiles.reason import reason_of
from perfledger_profiles.suggestions import suggestion
from perfledger_profiles.waterfall import waterfall
from perfledger_profiles.work import work_of

# The list ends where it explains enough (1 - MAX_REST_SHARE), and here.
MAX_CAUSES = 5

Classifier = Callable[[Profile], Classification]


def explain(
    base: Profile,
    head: Profile,
    *,
    noise: Noise | None = None,
    timing: Timing | None = None,
    timing_error_seconds: float = 0.0,
    devices: DeviceStates | None = None,
    reproduction: str = "",
    classifier: Classifier | None = None,
) -> Explanation:
    """Return the causes of the change between two profiled steps, those in its direction first.

    base_step_seconds + the causes' deltas + rest_seconds = head_step_seconds, and so do the
    buckets'. `noise` is what two profiles of the same code differ by, where that was learnt;
    `timing` is base's and head's step in seconds, measured without a profiler, and their difference
    may be off by `timing_error_seconds` either way; `devices` is what the device did meanwhile, on
    base and on head.
    """
    known = noise if noise is not None else Noise()
    evidence = Evidence(
        base=base,
        head=head,
        changes=changes_of(base, head),
        noise=known,
        timing=timing,
        devices=devices,
        timing_error_seconds=timing_error_seconds,
    )
    listed = _listed(evidence) if evidence.is_change else []
    causes = tuple(_cause(change, base, head) for change in listed)
    rest_s = evidence.change_seconds - fsum(cause.delta_seconds for cause in causes)
    note = note_on(evidence, rest_s, is_clock_listed=any(c.stage is Stage.CLOCK for c in listed))
    return Explanation(
        workload=head.workload,
        base_step_seconds=base.step_seconds,
        head_step_seconds=head.step_seconds,
        causes=causes,
        rest_seconds=rest_s,
        is_attributable=not note,
        note=note,
        buckets=waterfall(base, head, known),
        residual_seconds=evidence.residual_seconds,
        noise_seconds=known.step_seconds if known.pairs else None,
        base_device=devices[0] if devices is not None else None,
        head_device=devices[1] if devices is not None else None,
        base_bottleneck=classifier(base) if classifier is not None else None,
        head_bottleneck=classifier(head) if classifier is not None else None,
        reproduction=reproduction,
    )


def changes_of(base: Profile, head: Profile) -> tuple[Change, ...]:
    """Return what the two steps are made of, matched; summaries without steps by their kernels."""
    families = {kernel.name: kernel.family for side in (base, head) for kernel in side.kernels}
    return match(work_of(base), work_of(head), families=families)


def _listed(evidence: Evidence) -> list[Change]:
    """Choose the changes to show: single operations, or groups of them where those are too many.

    Where no grouping explains enough, the one that explains most.
    """
    step_s = max(evidence.base.step_seconds, evidence.head.step_seconds)
    called = with_calling(evidence.changes)
    alike = with_clock(called, floor_s=evidence.floor_seconds)
    best: tuple[float, list[Change]] = (float("inf"), [])
    for changes in coarser(alike, step_seconds=step_s):
        chosen, rest_s = _chosen(changes, evidence)
        if abs(rest_s) <= MAX_REST_SHARE * abs(evidence.change_seconds):
            return chosen
        best = min(best, (abs(rest_s), chosen), key=lambda one: one[0])
    return best[1]


def _chosen(changes: Sequence[Change], evidence: Evidence) -> tuple[list[Change], float]:
    """Choose the fewest changes that explain enough, each time the one that explains most.

    One in the other direction is listed when what was chosen so far overshoots. Also return what
    the chosen ones leave of the change.
    """
    change_s = rest_s = evidence.change_seconds
    left = [change for change in changes if _is_worth_telling(change, evidence)]
    chosen: list[Change] = []
    while len(chosen) < MAX_CAUSES and abs(rest_s) > MAX_REST_SHARE * abs(change_s):
        helpful = [change for change in left if change.delta_seconds * rest_s > 0]
        if not helpful:
            break
        largest = max(helpful, key=lambda change: abs(change.delta_seconds))
        left.remove(largest)
        chosen.append(largest)
        rest_s -= largest.delta_seconds
    chosen.sort(key=lambda c: (c.delta_seconds * change_s < 0, -abs(c.delta_seconds)))
    return chosen, rest_s


def _is_worth_telling(change: Change, evidence: Evidence) -> bool:
    """Tell whether a change is beyond the noise, and mostly of operations that one can look up."""
    operations = (*change.base, *change.head)
    floor_s = evidence.noise.group_floor_seconds(operations, evidence.base.step_seconds)
    return abs(change.delta_seconds) > floor_s and longest(operations).name != FOLDED


def _cause(change: Change, base: Profile, head: Profile) -> Cause:
    how = change.how
    name = change.label or name_of(change.head or change.base)
    main = longest(change.head or change.base)
    reason, evidence = reason_of(change, base, head)
    return Cause(
        name=name,
        base_name=name_of(change.base) if how is How.REPLACED else name,
        how=how,
        base_seconds=change.base_seconds,
        head_seconds=change.head_seconds,
        base_count=change.base_count,
        head_count=change.head_count,
        suggestion=suggestion(change, base, head),
        bucket=main.bucket,
        path="" if change.label else main.path,
        reason=reason,
        evidence=evidence,
        count_effect_seconds=change.count_effect_seconds,
        rate_effect_seconds=change.rate_effect_seconds,
        reverted_step_seconds=max(0.0, head.step_seconds - change.delta_seconds),
    )
