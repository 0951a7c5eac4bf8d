"""The value of matching: operations of two profiles that are the same work, and how we know."""

from dataclasses import dataclass
from enum import StrEnum

from perfledger.profile import Operation
from perfledger_profiles.cause import How


class Stage(StrEnum):
    """How operations were matched, from the surest to the weakest."""

    INPUT = "input"  # both are what the step waits for its data in
    SAME = "same"  # name, shapes and place
    ATTENTION = "attention"  # in one piece and in parts
    VARIANT = "variant"  # another kernel or operator at the same place, on the same shapes
    NAME = "name"  # with other shapes or at another place
    FUSION = "fusion"  # what a compiler put together or took apart
    PLACE = "place"  # what came and went inside one operator
    FAMILY = "family"  # kernels of one family
    CLOCK = "clock"  # everything, by one ratio
    ALONE = "alone"  # new or gone


# Calls per step, of a count that can be divided by: one call in a billion steps is none.
_MIN_COUNT = 1e-9
# Both sides are one thing, and not the one in place of the other.
_ONE_WORK = frozenset({Stage.INPUT, Stage.SAME, Stage.NAME, Stage.CLOCK})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Operations of the base and of the head that are the same work; one side may be empty."""

    base: tuple[Operation, ...]
    head: tuple[Operation, ...]
    stage: Stage = Stage.SAME
    label: str = ""  # what several changes have in common, where they were put together
    between_seconds: float = 0.0  # of its delta, what passes in Python around its calls

    @property
    def base_seconds(self) -> float:
        """Return the base's exclusive seconds per step."""
        return sum(operation.seconds for operation in self.base)

    @property
    def head_seconds(self) -> float:
        """Return the head's exclusive seconds per step."""
        return sum(operation.seconds for operation in self.head)

    @property
    def base_count(self) -> float:
        """Return the base's calls per step."""
        return sum(operation.count for operation in self.base)

    @property
    def head_count(self) -> float:
        """Return the head's calls per step."""
        return sum(operation.count for operation in self.head)

    @property
    def delta_seconds(self) -> float:
        """Return how much longer a step takes for it."""
        return self.head_seconds - self.base_seconds

    @property
    def count_effect_seconds(self) -> float:
        """Return what the other number of calls costs: (n' - n)(t + t')/2.

        With n calls of t seconds each; on a side without calls t is the other side's, so that what
        is new or gone is an effect of its count alone. So is what passes around its calls.
        """
        before_s = self.base_seconds + min(0.0, self.between_seconds)
        after_s = self.head_seconds - max(0.0, self.between_seconds)
        each = [
            seconds / count
            for seconds, count in ((before_s, self.base_count), (after_s, self.head_count))
            if count >= _MIN_COUNT
        ]
        called = (self.head_count - self.base_count) * sum(each) / len(each) if each else 0.0
        return called + self.between_seconds

    @property
    def rate_effect_seconds(self) -> float:
        """Return what longer or shorter calls cost: (t' - t)(n + n')/2, which is all the rest.

        The two effects sum to the change exactly, without a cross term.
        """
        return self.delta_seconds - self.count_effect_seconds

    @property
    def is_same_work(self) -> bool:
        """Tell whether it is the same operations at one place on the same shapes, as often."""
        return (
            self.stage is Stage.SAME
            and not self.label
            and bool(self.base)
            and self.base_count == self.head_count
        )

    @property
    def how(self) -> How:
        """Return in which way the time changed; between count and rate the larger effect decides.

        What is not counted, such as the time outside of operations, is neither new nor gone.
        """
        if not self.base:
            return How.NEW
        if not self.head:
            return How.GONE
        if self.stage not in _ONE_WORK:
            return How.REPLACED
        if not (self.base_count and self.head_count):
            return How.RATE
        by_count, by_rate = abs(self.count_effect_seconds), abs(self.rate_effect_seconds)
        return How.COUNT if by_count > by_rate else How.RATE
