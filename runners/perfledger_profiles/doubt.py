"""Turn what a list of causes leaves open into a note that says so, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from perfledger.profile import Bucket, Profile
from perfledger_profiles.change import Change, Stage
from perfledger_profiles.device_state import DeviceState
from perfledger_profiles.drift import CLOCK_TOLERANCE, drift_of
from perfledger_profiles.names import is_operator_name
from perfledger_profiles.noise import MAX_DEVIATIONS, NOISE_SHARE, Noise

# With more than this unlisted, the list is not the reason for the change.
MAX_REST_SHARE = 0.2
# With more than this open, the profiles do not show the change that was measured.
MAX_OPEN_SHARE = 0.25

# What a profiler costs is known to be up to twice the step, and four times where operations take
# microseconds. Beyond this the profile is of something else than what was timed.
MAX_DILATION = 10.0

NOT_ATTRIBUTABLE = "not attributable from this profile"
PROFILE_AGAIN = "profile both sides again"

Timing = tuple[float, float]
DeviceStates = tuple[DeviceState, DeviceState]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Two profiles, their changes, and what else is known about the difference of their steps."""

    base: Profile
    head: Profile
    changes: Sequence[Change]
    noise: Noise
    timing: Timing | None
    devices: DeviceStates | None = None
    timing_error_seconds: float = 0.0  # by which the timed change may be off, either way

    @property
    def change_seconds(self) -> float:
        """Return how much longer the profiled step takes."""
        return self.head.step_seconds - self.base.step_seconds

    @property
    def floor_seconds(self) -> float:
        """Return the least change that is worth explaining."""
        return self.noise.floor_seconds(self.base.step_seconds)

    @property
    def is_change(self) -> bool:
        """Tell whether the steps differ by more than chance."""
        return abs(self.change_seconds) >= self.floor_seconds and self.change_seconds != 0

    @property
    def residual_seconds(self) -> float | None:
        """Return the change without a profiler less the profiled one; None if it was not timed."""
        if self.timing is None:
            return None
        return (self.timing[1] - self.timing[0]) - self.change_seconds


def note_on(evidence: Evidence, rest_s: float, *, is_clock_listed: bool = False) -> str:
    """Say why the causes do not account for the change, and what would; "" when they do.

    `rest_s` is what the listed causes leave of the profiled change; a device's own clock that is
    among them needs no note.
    """
    if not evidence.is_change:
        return _note_on_nothing(evidence)
    change_s = abs(evidence.change_seconds)
    noise_s = MAX_DEVIATIONS * evidence.noise.step_seconds
    if abs(rest_s) > MAX_REST_SHARE * change_s:
        return (
            f"{NOT_ATTRIBUTABLE}: {abs(rest_s) / change_s:.0%} of the change is spread over "
            "operations that are not listed"
        )
    drift, drift_s = _drift(evidence, is_clock_listed=is_clock_listed)
    unseen_s, exchanged_s = _unseen_seconds(evidence), _exchanged_seconds(evidence.changes)
    doubts = {
        drift: abs(drift_s),
        _note_on_unseen(unseen_s / change_s): unseen_s,
        _note_on_exchanged(exchanged_s / change_s): exchanged_s,
    }
    if fsum(doubts.values()) <= max(MAX_OPEN_SHARE * change_s, noise_s):
        return ""
    return f"{NOT_ATTRIBUTABLE}: {max(doubts, key=lambda note: doubts[note])}"


def _note_on_nothing(evidence: Evidence) -> str:
    if evidence.floor_seconds > NOISE_SHARE * evidence.base.step_seconds:
        return (
            "the profiled steps differ by no more than two profiles of the same code do: "
            "nothing to attribute"
        )
    return (
        f"the profiled steps differ by less than {NOISE_SHARE:.1%} of a step: nothing to attribute"
    )


def _drift(evidence: Evidence, *, is_clock_listed: bool) -> tuple[str, float]:
    """Return what the machine and not the code changed, in words and in seconds of a step."""
    clock_s = _clock_seconds(evidence)
    if clock_s * evidence.change_seconds > 0:
        share = min(clock_s / evidence.change_seconds, 1.0)
        return _note_on_clock(share, evidence), 0.0 if is_clock_listed else clock_s
    ratio, drift_s = drift_of(evidence.changes, floor_s=evidence.floor_seconds)
    return _note_on_drift(ratio), drift_s


def _clock_seconds(evidence: Evidence) -> float:
    """Return what another clock adds to a step that the device computes in; 0 if it is the same.

    What the device computes takes its cycles, at whatever clock; what memory bounds takes less.
    """
    if evidence.devices is None or evidence.base.device is None:
        return 0.0
    base, head = evidence.devices
    ratio = base.clock_hertz / head.clock_hertz
    if abs(ratio - 1) <= CLOCK_TOLERANCE:
        return 0.0
    return (ratio - 1) * evidence.base.bucket_seconds()[Bucket.COMPUTE]


def _note_on_clock(share: float, evidence: Evidence) -> str:
    how = "slower" if evidence.change_seconds > 0 else "faster"
    return (
        f"the device was {how}, not the code: its clock alone makes up to {share:.0%} of the "
        f"change: {PROFILE_AGAIN} with locked clocks"
    )


def _note_on_drift(ratio: float) -> str:
    return (
        f"the same work takes {ratio:.2f} times as long in most operations, so the machine, its "
        f"clock or the number of threads changed: {PROFILE_AGAIN} on an idle machine"
    )


def _note_on_unseen(share: float) -> str:
    return (
        f"without a profiler the step's change is another one, by {share:.0%} of the profiled "
        f"change: {PROFILE_AGAIN}, with more steps"
    )


def _note_on_exchanged(share: float) -> str:
    return (
        f"kernels that are new or gone and match nothing cancel out {share:.0%} of the change: "
        f"{PROFILE_AGAIN}, with input shapes recorded"
    )


def _unseen_seconds(evidence: Evidence) -> float:
    """Return how far the profiled change is from the timed one, without the profiler's own part.

    A profiler costs about the same for each call that it records, and a busier machine the same
    share of everything. Both are estimated from the two sides together and taken out; what remains
    of the one that fits better is what the profiles do not show. The timed change is an estimate
    too: what lies within its error is no disagreement.
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
    expected = (change_s - by_call_s * (calls[1] - calls[0]), change_s * (1 - share))
    unseen_s = min(abs((after - before) - without_s) for without_s in expected)
    return max(0.0, unseen_s - evidence.timing_error_seconds)


def _exchanged_seconds(changes: Sequence[Change]) -> float:
    """Return what new and gone kernels cancel out: the same work, perhaps, under other names.

    Operations whose names users call are not meant: they do not change their names.
    """
    alone = [
        change
        for change in changes
        if change.stage is Stage.ALONE
        and not any(is_operator_name(one.name) for one in (*change.base, *change.head))
    ]
    gone = fsum(change.base_seconds for change in alone)
    new = fsum(change.head_seconds for change in alone)
    return min(gone, new)
