"""Writes the note on what a list of causes leaves unexplained, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from perfledger.profile import TORCH_PROFILER, Bucket, Operation, Profile
from perfledger.rounding import decimals, digits, integer, percentage
from perfledger_profiles.bottleneck.step_shares import is_sum_of_kernels
from perfledger_profiles.diff.noise import NOISE_SHARE, ProfileNoise
from perfledger_profiles.diff.operation_change import MatchStage, OperationChange
from perfledger_profiles.diff.stable_names import is_operator_name
from perfledger_profiles.diff.uniform_slowdown import (
    CLOCK_TOLERANCE,
    drift_of,
    least_common_ratio,
    opposing_seconds,
)
from perfledger_profiles.hardware.device_state import DeviceState
from perfledger_profiles.timeline.collective_sizes import MESSAGE_BYTES
from perfledger_profiles.xla.host_events import XLA_RUNTIME

# With a larger unlisted share, the list does not explain the change.
MAX_REST_SHARE = 0.2
# With a larger open share, the profiles do not show the measured change.
MAX_OPEN_SHARE = 0.25

# A profiler can make a step twice as long, and four times if operations take microseconds. Beyond
# this, the profile does not represent the timed step.
MAX_DILATION = 10.0

# At twelve runnable tasks per core, unchanged operations became faster by 2.4 times the change of
# the step, and others slower by more.
MAX_OPPOSING_SHARE = 2.25

# Share of a message; a smaller difference does not make its collective slower.
MAX_MESSAGE_STEP = 0.05

# A larger share of a change is a multiple: nobody reads 191,135 %.
TIMES_FROM = 2.0
_WHOLE_FROM = 10.0  # of multiples, as of percentages

NOT_ATTRIBUTABLE = "not attributable from this profile"
PROFILE_AGAIN = "profile both sides again"

LENGTHS = (
    "neither file marks steps, and the recordings are about equally long, which says nothing about "
    "the speed of the code: compare the kernels, or record steps"
)

UNKNOWN_ERROR = (
    "by how much two recordings of the same code differ is unknown: neither file marks steps, and "
    "they have too few operations in common; record several steps, or the base several times"
)

StepTimings = tuple[float, float]
DeviceStates = tuple[DeviceState, DeviceState]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileComparison:
    """Two profiles, their changes, and further evidence on the difference of their steps."""

    base: Profile
    head: Profile
    changes: Sequence[OperationChange]
    noise: ProfileNoise
    timing: StepTimings | None
    devices: DeviceStates | None = None
    timing_error_seconds: float = 0.0  # half-width of the timed change's uncertainty
    is_judged_slower: bool | None = None  # None unless the step's time was judged to have changed

    @property
    def change_seconds(self) -> float:
        """Return the change of the profiled step."""
        return self.head.step_seconds - self.base.step_seconds

    @property
    def floor_seconds(self) -> float:
        """Return the smallest change that is worth explaining."""
        return self.noise.floor_seconds(self.base.step_seconds)

    @property
    def is_change(self) -> bool:
        """Return whether the steps differ by more than chance."""
        return abs(self.change_seconds) >= self.floor_seconds and self.change_seconds != 0

    @property
    def is_contradicted(self) -> bool:
        """Return whether the step changed in the other direction without a profiler."""
        is_slower = self.change_seconds > 0
        if self.is_judged_slower is not None:
            return self.is_judged_slower is not is_slower
        timed_s = 0.0 if self.timing is None else self.timing[1] - self.timing[0]
        return abs(timed_s) > self.timing_error_seconds and (timed_s > 0) is not is_slower

    @property
    def residual_seconds(self) -> float | None:
        """Return the change without a profiler minus the profiled one, None if not timed."""
        if self.timing is None:
            return None
        return (self.timing[1] - self.timing[0]) - self.change_seconds


def note_on(evidence: ProfileComparison, rest_s: float, *, is_clock_listed: bool = False) -> str:
    """Return why the causes do not account for the change, and what to do; "" if they do.

    `rest_s` is the part of the profiled change that the listed causes leave; a listed change of the
    device's clock needs no note.
    """
    if not evidence.is_change:
        return _note_on_nothing(evidence)
    if evidence.is_contradicted:
        return _note_on_contradiction(evidence)
    change_s = abs(evidence.change_seconds)
    noise_s = evidence.noise.step_error_seconds
    if abs(rest_s) > MAX_REST_SHARE * change_s:
        if rest_s == evidence.change_seconds and evidence.noise.between_share > 0:
            return _note_on_recordings(evidence)
        return (
            f"{NOT_ATTRIBUTABLE}: {_part_of('the change', abs(rest_s) / change_s)} is spread over "
            "operations that are not listed"
        )
    drift, drift_s = _drift(evidence, is_clock_listed=is_clock_listed)
    unseen_s, exchanged_s = _unseen_seconds(evidence), _exchanged_seconds(evidence.changes)
    idle_s, opposing_s = _unknown_idle_seconds(evidence), _opposing_seconds(evidence)
    wait_s, collectives_s = _runtime_wait_seconds(evidence), _collective_seconds(evidence)
    doubts = {
        drift: abs(drift_s),
        _note_on_unseen(unseen_s / change_s): unseen_s,
        _note_on_exchanged(exchanged_s / change_s, evidence): exchanged_s,
        _note_on_idle(idle_s / change_s): idle_s,
        _note_on_opposing(opposing_s / change_s): opposing_s,
        _note_on_wait(wait_s / change_s): wait_s,
        _note_on_collectives(collectives_s / change_s): collectives_s,
    }
    if fsum(doubts.values()) > max(MAX_OPEN_SHARE * change_s, noise_s):
        return f"{NOT_ATTRIBUTABLE}: {max(doubts, key=lambda note: doubts[note])}"
    return f"{NOT_ATTRIBUTABLE}: {UNKNOWN_ERROR}" if _is_error_unknown(evidence) else ""


def are_recordings(base: Profile, head: Profile) -> bool:
    """Return whether two timelines without steps are compared from their first work to their last.

    Their lengths depend on what was recorded, and so do the differences.
    """
    sides = (base, head)
    return not any(side.has_steps or is_sum_of_kernels(side) for side in sides)


def _part_of(change: str, share: float) -> str:
    """Return a share of a change in words: "53 % of the change", "1,911 times the change"."""
    if share < TIMES_FROM:
        return f"{percentage(share)} of {change}"
    return f"{digits(share, 2) if share < _WHOLE_FROM else integer(share)} times {change}"


def _is_error_unknown(evidence: ProfileComparison) -> bool:
    """Return whether neither steps, nor windows, nor common operations show how much is chance."""
    is_estimated = evidence.noise.is_known or evidence.noise.between_share > 0
    return are_recordings(evidence.base, evidence.head) and not is_estimated


def _note_on_nothing(evidence: ProfileComparison) -> str:
    base_s = evidence.base.step_seconds
    if are_recordings(evidence.base, evidence.head):
        return LENGTHS
    if evidence.floor_seconds > NOISE_SHARE * base_s:
        noise = f" (± {percentage(evidence.floor_seconds / base_s)} of a step)" if base_s else ""
        return (
            "too noisy to attribute: the profiled steps differ by no more than two profiles of the "
            f"same code{noise}"
        )
    return (
        f"the profiled steps differ by less than {percentage(NOISE_SHARE)} of a step: nothing to "
        "attribute"
    )


def _drift(evidence: ProfileComparison, *, is_clock_listed: bool) -> tuple[str, float]:
    """Return the note and the seconds per step for a change of the machine instead of the code."""
    clock_s = _clock_seconds(evidence)
    if clock_s * evidence.change_seconds > 0:
        share = min(clock_s / evidence.change_seconds, 1.0)
        return _note_on_clock(share, evidence), 0.0 if is_clock_listed else clock_s
    ratio, drift_s = drift_of(evidence.changes, floor_s=evidence.floor_seconds)
    if not drift_s and not evidence.noise.is_known:
        ratio, drift_s = least_common_ratio(evidence.changes, floor_s=evidence.floor_seconds)
    return _note_on_drift(ratio, evidence.changes), drift_s


def _clock_seconds(evidence: ProfileComparison) -> float:
    """Return the seconds that a different device clock adds to a step; 0 if the clock is the same.

    This is an upper bound: compute scales with the clock, memory-bound work less.
    """
    if evidence.devices is None or evidence.base.device is None:
        return 0.0
    base, head = evidence.devices
    ratio = base.clock_hertz / head.clock_hertz
    if abs(ratio - 1) <= CLOCK_TOLERANCE:
        return 0.0
    return (ratio - 1) * evidence.base.bucket_seconds()[Bucket.COMPUTE]


def _note_on_clock(share: float, evidence: ProfileComparison) -> str:
    speed = "slower" if evidence.change_seconds > 0 else "faster"
    return (
        f"the device was {speed}, not the code; its clock explains up to {percentage(share)} of "
        f"the change: {PROFILE_AGAIN} with locked clocks"
    )


def _note_on_drift(ratio: float, changes: Sequence[OperationChange]) -> str:
    """Return the note; without shapes, other inputs look like another machine."""
    takes = f"most operations take {decimals(ratio, 2)} times as long"
    machine = "the machine, its clock or the number of threads changed"
    if any(one.shapes for change in changes for one in change.base):
        return f"{takes} for the same work, so {machine}: {PROFILE_AGAIN} on an idle machine"
    return (
        f"{takes}: their inputs changed, whose shapes neither file has, or {machine}; "
        f"{PROFILE_AGAIN} on an idle machine, with input shapes if the profiler can record them"
    )


def _note_on_opposing(share: float) -> str:
    return (
        "the same work takes longer in some operations and less time in others, by "
        f"{_part_of('the change', share)}: {PROFILE_AGAIN} on an idle machine"
    )


def _note_on_wait(share: float) -> str:
    return (
        "the time in which the host waits for XLA while none of its operations runs differs by "
        f"{_part_of('the change', share)}, as beside other programs: {PROFILE_AGAIN} on an idle "
        "machine"
    )


def _note_on_collectives(share: float) -> str:
    return (
        f"{_part_of('the change', share)} is in collectives that are called as before: they last "
        "until the last rank joins, so another rank may be slower; compare the profiles of all "
        "ranks on both sides"
    )


def _note_on_contradiction(evidence: ProfileComparison) -> str:
    direction = "slower" if evidence.change_seconds > 0 else "faster"
    return (
        f"{NOT_ATTRIBUTABLE}: the profiled step is {direction}, the opposite of what was measured "
        f"without a profiler: {PROFILE_AGAIN} on an idle machine"
    )


def _note_on_recordings(evidence: ProfileComparison) -> str:
    """Return why nothing is listed: the machine changed, or the recordings differ by chance."""
    drift, drift_s = _drift(evidence, is_clock_listed=False)
    if drift_s:
        return f"{NOT_ATTRIBUTABLE}: {drift}"
    sides, remedy = "two recordings", ", the base several times"
    if evidence.noise.is_known:
        sides, remedy = "sides' processes", " on an idle machine"
    return (
        f"{NOT_ATTRIBUTABLE}: the same work differs by up to "
        f"{percentage(evidence.noise.between_share)} between the {sides}, and no operation by "
        f"more: {PROFILE_AGAIN}{remedy}"
    )


def _note_on_unseen(share: float) -> str:
    return (
        f"the change without a profiler differs by {_part_of('the profiled change', share)}: "
        f"{PROFILE_AGAIN}, with more steps"
    )


def _note_on_exchanged(share: float, evidence: ProfileComparison) -> str:
    """Return the note with what would match kernels; only torch.profiler records input shapes."""
    has_operators = TORCH_PROFILER in (evidence.base.tool, evidence.head.tool)
    remedy = f"{PROFILE_AGAIN}, with input shapes recorded"
    if not has_operators:
        remedy = "if they are the same under other names, give them the same names on both sides"
    return (
        "new and removed kernels without a match cancel out "
        f"{_part_of('the change', share)}: {remedy}"
    )


def _note_on_idle(share: float) -> str:
    return (
        f"{_part_of('the change', share)} is time without work on the device, whose reason was "
        "not recorded, and recordings without steps may differ in their length: compare the "
        "kernels, or record the host's calls and steps too"
    )


def _unknown_idle_seconds(evidence: ProfileComparison) -> float:
    """Return the change of idle time if neither file has steps or shows what the host does."""
    sides = (evidence.base, evidence.head)
    if any(side.has_steps or side.is_host_known for side in sides):
        return 0.0
    before, after = (side.bucket_seconds()[Bucket.OTHER] for side in sides)
    return abs(after - before)


def _unseen_seconds(evidence: ProfileComparison) -> float:
    """Return the disagreement of the profiled and the timed change, without the profiler's cost.

    A profiler costs about the same per recorded call, and a busier machine makes everything longer
    by the same share. Both models are fitted to the two sides together, and the smaller
    disagreement is the part that the profiles do not show. In the first, the cost of the calls is
    subtracted from the profiled change; in the second, the timed change is scaled up as much as the
    profiled steps are longer. A difference within the timed change's error is no disagreement.
    """
    if evidence.timing is None:
        return 0.0
    before, after = evidence.timing
    sides = (evidence.base, evidence.head)
    change_s = evidence.change_seconds
    pairs = tuple(zip(sides, (before, after), strict=True))
    if any(timed <= 0 or side.step_seconds > MAX_DILATION * timed for side, timed in pairs):
        return abs(change_s)
    extra = [side.step_seconds - timed for side, timed in pairs]
    calls = [sum(operation.count for operation in side.operations) for side in sides]
    by_call_s = max(0.0, fsum(extra)) / sum(calls) if sum(calls) > 0 else 0.0
    share = max(0.0, fsum(extra)) / (evidence.base.step_seconds + evidence.head.step_seconds)
    error_s = evidence.timing_error_seconds
    by_call = abs(after - before - change_s + by_call_s * (calls[1] - calls[0])) - error_s
    by_share = (abs(after - before - change_s * (1 - share)) - error_s) / (1 - share)
    return max(0.0, min(by_call, by_share))


def _runtime_wait_seconds(evidence: ProfileComparison) -> float:
    """Return by how much the wait for XLA on the CPU changed: no operation is the cause of it."""
    before, after = (
        fsum(one.seconds for one in side.operations if one.name == XLA_RUNTIME)
        for side in (evidence.base, evidence.head)
    )
    return abs(after - before)


def _collective_seconds(evidence: ProfileComparison) -> float:
    """Return how much of the change is in collectives with the same calls and messages.

    Each waits for the last rank to join (as in NCCL and Gloo), and one rank's profile does not show
    how much of its time that is. Zero if the median message changed, which explains longer calls.
    """
    base, head = (side.reading(MESSAGE_BYTES) for side in (evidence.base, evidence.head))
    if (
        base is not None
        and head is not None
        and abs(head - base) > MAX_MESSAGE_STEP * max(base, head)
    ):
        return 0.0
    same = (
        change.delta_seconds
        for change in evidence.changes
        if change.is_same_work and all(_is_collective(one) for one in change.head)
    )
    is_slower = evidence.change_seconds > 0
    return max(0.0, fsum(same) if is_slower else -fsum(same))


def _is_collective(operation: Operation) -> bool:
    return operation.bucket is Bucket.COMMUNICATION


def _opposing_seconds(evidence: ProfileComparison) -> float:
    """Return the time by which the same work changed the other way, 0 if that may be the code's.

    A change of the code may cost here and save there. If unchanged work alone moves far more time
    in the other direction than the whole step changed by, the order of the causes is chance.
    """
    change_s = evidence.change_seconds
    opposing_s = opposing_seconds(evidence.changes, change_seconds=change_s)
    return opposing_s if opposing_s > MAX_OPPOSING_SHARE * abs(change_s) else 0.0


def _exchanged_seconds(changes: Sequence[OperationChange]) -> float:
    """Return the time by which new and gone kernels cancel out; they may be the same work renamed.

    Operations that users call by name are excluded, because their names do not change.
    """
    alone = [
        change
        for change in changes
        if change.stage is MatchStage.ALONE
        and not any(is_operator_name(one.name) for one in (*change.base, *change.head))
    ]
    gone = fsum(change.base_seconds for change in alone)
    new = fsum(change.head_seconds for change in alone)
    return min(gone, new)
