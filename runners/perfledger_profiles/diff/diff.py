"""Explains the difference between two profiles of a workload."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import fsum, hypot

from perfledger.profile import Bucket, Profile
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import Classification
from perfledger_profiles.diff.call_count_changes import with_call_count_changes
from perfledger_profiles.diff.cause import BucketChange, Cause, ChangeKind, StepTimeExplanation
from perfledger_profiles.diff.caveats import (
    MAX_REST_SHARE,
    DeviceStates,
    ProfileComparison,
    StepTimings,
    note_on,
)
from perfledger_profiles.diff.change_reason import reason_of
from perfledger_profiles.diff.compilation_change import new_compilations
from perfledger_profiles.diff.grouping import group_changes, longest_operation, name_of
from perfledger_profiles.diff.lines import longest_lines
from perfledger_profiles.diff.matching import match
from perfledger_profiles.diff.noise import NOISE_SHARE, ProfileNoise, typical_profile
from perfledger_profiles.diff.operation_change import MatchStage, OperationChange
from perfledger_profiles.diff.operations import operations_of, with_unlisted_kernels
from perfledger_profiles.diff.suggestions import suggestion
from perfledger_profiles.diff.uniform_slowdown import (
    difference_of_recordings,
    with_uniform_slowdown,
)
from perfledger_profiles.timeline.breakdown import OTHER_OPERATIONS

# The list ends when it explains enough (1 - MAX_REST_SHARE), or at this length.
MAX_CAUSES = 5

Classifier = Callable[[Profile], Classification]


def explain(
    base: Profile,
    head: Profile,
    *,
    repeats: Sequence[Profile] = (),
    timing: StepTimings | None = None,
    timing_error_seconds: float = 0.0,
    is_judged_slower: bool | None = None,
    devices: DeviceStates | None = None,
    reproduction: str = "",
    classifier: Classifier | None = None,
) -> StepTimeExplanation:
    """Return the causes of the change between two profiled steps, those in its direction first.

    base_step_seconds + the causes' deltas + rest_seconds = head_step_seconds, and likewise for the
    buckets. `repeats` are further windows of the same code on either side: with them the steps are
    typical ones, and each cause exceeds its error. `timing` is base's and head's step in seconds
    without a profiler; their difference is accurate to `timing_error_seconds`. `is_judged_slower`
    is the verdict on the step's time, if it changed: profiles that show the opposite explain
    nothing. `devices` is the device state on base and on head.
    """
    noise = ProfileNoise(
        base=(base, *(one for one in repeats if one.side is Side.BASE)),
        head=(head, *(one for one in repeats if one.side is Side.HEAD)),
    )
    base, head = typical_profile(noise.base), typical_profile(noise.head)
    changes = changes_of(base, head)
    floor_s = NOISE_SHARE * base.step_seconds
    noise = replace(noise, between_share=difference_of_recordings(changes, floor_s=floor_s))
    evidence = ProfileComparison(
        base=base,
        head=head,
        changes=changes,
        noise=noise,
        timing=timing,
        devices=devices,
        timing_error_seconds=timing_error_seconds,
        is_judged_slower=is_judged_slower,
    )
    is_explained = evidence.is_change and not evidence.is_contradicted
    listed = _changes_to_list(evidence) if is_explained else []
    causes = tuple(_cause(change, base, head, noise) for change in listed)
    rest_s = evidence.change_seconds - fsum(cause.delta_seconds for cause in causes)
    note = note_on(
        evidence, rest_s, is_clock_listed=any(c.stage is MatchStage.CLOCK for c in listed)
    )
    return StepTimeExplanation(
        workload=head.workload,
        base_step_seconds=base.step_seconds,
        head_step_seconds=head.step_seconds,
        causes=causes,
        rest_seconds=rest_s,
        is_attributable=not note,
        note=note,
        buckets=waterfall(base, head, noise),
        residual_seconds=evidence.residual_seconds,
        noise_seconds=noise.step_error_seconds if noise.is_known else None,
        base_device=devices[0] if devices is not None else None,
        head_device=devices[1] if devices is not None else None,
        base_bottleneck=classifier(base) if classifier is not None else None,
        head_bottleneck=classifier(head) if classifier is not None else None,
        compilations=new_compilations(
            base.compilations,
            head.compilations,
            has_more_windows=len(noise.head) > len(noise.base),
        ),
        reproduction=reproduction,
    )


def changes_of(base: Profile, head: Profile) -> tuple[OperationChange, ...]:
    """Return the matched operations of the two steps; summaries are matched by their kernels."""
    families = {kernel.name: kernel.family for side in (base, head) for kernel in side.kernels}
    changes = match(operations_of(base), operations_of(head), families=families)
    return with_unlisted_kernels(changes, base, head)


def waterfall(base: Profile, head: Profile, noise: ProfileNoise) -> tuple[BucketChange, ...]:
    """Return each bucket's change, in the order of Bucket; they sum to the step's change.

    Time of a step that belongs to no operation counts as OTHER, as in `Profile`.
    """
    before, after = _all_seconds(base), _all_seconds(head)
    return tuple(
        BucketChange(
            bucket=bucket,
            base_seconds=before[bucket],
            head_seconds=after[bucket],
            noise_seconds=noise.bucket_error_seconds(bucket),
        )
        for bucket in Bucket
    )


def _all_seconds(profile: Profile) -> dict[Bucket, float]:
    spent = dict.fromkeys(Bucket, 0.0)
    for operation in operations_of(profile):
        spent[operation.bucket] += operation.seconds
    spent[Bucket.OTHER] += profile.step_seconds - fsum(spent.values())
    return spent


def _changes_to_list(evidence: ProfileComparison) -> list[OperationChange]:
    """Select the changes to show: single operations, or groups if there are too many.

    If no grouping explains enough, the one that explains most is used.
    """
    step_s = max(evidence.base.step_seconds, evidence.head.step_seconds)
    matches = evidence.changes
    if evidence.base.is_host_known and evidence.head.is_host_known:
        matches = with_call_count_changes(matches)
    alike = with_uniform_slowdown(matches, floor_s=evidence.floor_seconds)
    best: tuple[float, list[OperationChange]] = (float("inf"), [])
    for changes in group_changes(alike, step_seconds=step_s):
        chosen, rest_s = _select(changes, evidence)
        if abs(rest_s) <= MAX_REST_SHARE * abs(evidence.change_seconds):
            return chosen
        best = min(best, (abs(rest_s), chosen), key=lambda one: one[0])
    return best[1]


def _select(
    changes: Sequence[OperationChange], evidence: ProfileComparison
) -> tuple[list[OperationChange], float]:
    """Select the fewest changes that explain enough, the one that explains most at each step.

    A change in the other direction is listed if the selection so far overshoots. Also return the
    part of the change that the selection leaves unexplained.
    """
    change_s = rest_s = evidence.change_seconds
    left = [change for change in changes if _is_worth_telling(change, evidence)]
    chosen: list[OperationChange] = []
    while len(chosen) < MAX_CAUSES and abs(rest_s) > MAX_REST_SHARE * abs(change_s):
        helpful = [change for change in left if change.delta_seconds * rest_s > 0]
        if not helpful:
            break
        largest = max(helpful, key=lambda change: abs(change.delta_seconds))
        left.remove(largest)
        chosen.append(largest)
        rest_s -= largest.delta_seconds
    chosen.sort(key=lambda c: (c.delta_seconds * change_s < 0, -abs(c.delta_seconds)))
    return _with_other_work_first(chosen, evidence.noise), rest_s


def _with_other_work_first(
    chosen: list[OperationChange], noise: ProfileNoise
) -> list[OperationChange]:
    """Move the longest change of the calls to the top if the first, of equal calls, may be shorter.

    Load lengthens equal calls, but adds none and gives none other inputs. The time around added
    calls is divided among them by an estimate, so only their own time counts here.
    """
    if not chosen or chosen[0].is_other_work:
        return chosen
    first = chosen[0]
    for other in chosen[1:]:
        if other.is_other_work and other.delta_seconds * first.delta_seconds > 0:
            error_s = hypot(_error_seconds(first, noise), _error_seconds(other, noise))
            own_s = other.delta_seconds - other.between_seconds
            if abs(first.delta_seconds) - abs(own_s) > error_s:
                return chosen
            return [other, *(one for one in chosen if one is not other)]
    return chosen


def _error_seconds(change: OperationChange, noise: ProfileNoise) -> float:
    """Return the error of a change: for equal calls, also what two processes differ by.

    A change of the clock consists of that.
    """
    is_between = change.is_same_work or not noise.is_known
    if change.stage is MatchStage.CLOCK or not is_between:
        noise = replace(noise, between_share=0.0)
    return noise.error_seconds(change.base, change.head)


def _is_worth_telling(change: OperationChange, evidence: ProfileComparison) -> bool:
    """Return whether a change exceeds the noise and mostly consists of named operations."""
    floor_s = max(_error_seconds(change, evidence.noise), NOISE_SHARE * evidence.base.step_seconds)
    return (
        abs(change.delta_seconds) > floor_s
        and longest_operation((*change.base, *change.head)).name != OTHER_OPERATIONS
    )


def _cause(change: OperationChange, base: Profile, head: Profile, noise: ProfileNoise) -> Cause:
    kind = change.kind
    name = change.label or name_of(change.head or change.base)
    main = longest_operation(change.head or change.base)
    reason, evidence = reason_of(change, base, head)
    return Cause(
        name=name,
        base_name=name_of(change.base) if kind is ChangeKind.REPLACED else name,
        kind=kind,
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
        lines=longest_lines(change.head),
        base_lines=longest_lines(change.base),
        error_seconds=_error_seconds(change, noise) if noise.is_known else None,
        reverted_step_seconds=max(0.0, head.step_seconds - change.delta_seconds),
    )
