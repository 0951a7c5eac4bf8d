"""Holds the result of matching: operations of two profiles that do the same work."""

from dataclasses import dataclass
from enum import StrEnum

from perfledger.profile import Operation
from perfledger_profiles.diff.cause import ChangeKind


class MatchStage(StrEnum):
    """The stage that matched operations, from the surest to the weakest."""

    INPUT = "input"  # both wait for input data
    SAME = "same"  # name, shapes and path
    ATTENTION = "attention"  # fused and unfused
    VARIANT = "variant"  # another kernel or operator at the same path, on the same shapes
    NAME = "name"  # with other shapes or at a different path
    FUSION = "fusion"  # fused or split by a compiler
    PATH = "path"  # new and gone inside one operator
    FAMILY = "family"  # kernels of one family
    CLOCK = "clock"  # all operations by the same ratio
    ALONE = "alone"  # new or gone


# Counts per step below this are not divided by: one call in a billion steps counts as none.
_MIN_COUNT = 1e-9
_ONE_WORK = frozenset({MatchStage.INPUT, MatchStage.SAME, MatchStage.NAME, MatchStage.CLOCK})


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationChange:
    """Operations of base and head that do the same work; one side may be empty."""

    base: tuple[Operation, ...]
    head: tuple[Operation, ...]
    stage: MatchStage = MatchStage.SAME
    label: str = ""  # what merged changes have in common
    between_seconds: float = 0.0  # the part of the delta that lies between calls

    @property
    def is_one_work(self) -> bool:
        """Return whether both sides are the same operation rather than a replacement."""
        return self.stage in _ONE_WORK

    @property
    def base_seconds(self) -> float:
        """Return base's exclusive seconds per step."""
        return sum(operation.seconds for operation in self.base)

    @property
    def head_seconds(self) -> float:
        """Return head's exclusive seconds per step."""
        return sum(operation.seconds for operation in self.head)

    @property
    def base_count(self) -> float:
        """Return base's calls per step."""
        return sum(operation.count for operation in self.base)

    @property
    def head_count(self) -> float:
        """Return head's calls per step."""
        return sum(operation.count for operation in self.head)

    @property
    def delta_seconds(self) -> float:
        """Return how many seconds the change adds to a step."""
        return self.head_seconds - self.base_seconds

    @property
    def count_effect_seconds(self) -> float:
        """Return the cost of the changed number of calls: (n' - n)(t + t')/2.

        For n calls of t seconds each. A side without calls takes t from the other side, so new and
        gone operations are count effects. Time around the calls is a count effect too.
        """
        before_s = self.base_seconds + min(0.0, self.between_seconds)
        after_s = self.head_seconds - max(0.0, self.between_seconds)
        seconds_per_call = [
            seconds / count
            for seconds, count in ((before_s, self.base_count), (after_s, self.head_count))
            if count >= _MIN_COUNT
        ]
        count_effect = (
            (self.head_count - self.base_count) * sum(seconds_per_call) / len(seconds_per_call)
            if seconds_per_call
            else 0.0
        )
        return count_effect + self.between_seconds

    @property
    def rate_effect_seconds(self) -> float:
        """Return the cost of longer or shorter calls: (t' - t)(n + n')/2, the remainder.

        The two effects sum exactly to the change, without a cross term.
        """
        return self.delta_seconds - self.count_effect_seconds

    @property
    def is_same_work(self) -> bool:
        """Return whether both sides run the same operations, with equal path, shapes and count."""
        return (
            self.stage is MatchStage.SAME
            and not self.label
            and bool(self.base)
            and self.base_count == self.head_count
        )

    @property
    def is_other_work(self) -> bool:
        """Return whether the calls differ in name, path, shapes or number, which load cannot do."""
        before, after = (
            sorted((one.name, one.path, one.shapes, one.count) for one in side)
            for side in (self.base, self.head)
        )
        return before != after

    @property
    def kind(self) -> ChangeKind:
        """Return the kind of change; between count and rate, the larger effect wins.

        Uncounted time, such as the time outside operations, is neither new nor gone.
        """
        if not self.base:
            return ChangeKind.NEW
        if not self.head:
            return ChangeKind.GONE
        if not self.is_one_work:
            return ChangeKind.REPLACED
        if not (self.base_count and self.head_count):
            return ChangeKind.RATE
        by_count, by_rate = abs(self.count_effect_seconds), abs(self.rate_effect_seconds)
        return ChangeKind.COUNT if by_count > by_rate else ChangeKind.RATE
