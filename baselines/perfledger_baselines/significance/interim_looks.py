"""Plans the interim looks at a check's pairs, and says which of them were completed.

Each look is a test, and repeated looks find changes that do not exist. Looks are therefore planned
before the first pair, and `alpha_spending` divides alpha among them. A look may be late or skipped,
as long as the clock decides that and not the data.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_baselines.significance.decision_rule import CheckPlanError

# Two pairs have a spread with one degree of freedom: the 95 % interval is 12.7 standard errors on
# each side. With four pairs it is a useful 3.2.
MIN_PAIRS = 4
# Without a history the first planned look is one later. If processes are in one of two states (of
# clocks, for example), four pairs can all fall the same way and look like a change without noise:
# .08 of families of 12 unchanged tests were called changed, and .05 with the fifth pair. A check
# whose time ends after four pairs looks at them anyway.
FIRST_LOOK = 5
# If the spread is known from history, two pairs are enough for a test. One is not, even if there
# was time for no more. A single pair has one order, so any drift looks like a change: on a steep
# ramp it called .29 of unchanged tests changed. A wrong history would also never be corrected, as a
# single pair adds nothing to it: of families of 12 unchanged tests with coarse readings .72 were
# repeatedly called changed, because of a few histories of five pairs that had agreed by chance.
MIN_PAIRS_WITH_HISTORY = 2

# After every pair up to ten, then each about 1.15 times the one before: a decision is known at
# once, and since neighbouring looks say nearly the same, another look costs almost nothing.
PLANNED_LOOKS = (*range(1, 11), 12, 14, 16, 18, 20, 23, 26, 30, 35, 40)

# Of the share of the pairs, by which looks spend alpha: `alpha_spending` says why the square root.
SPENDING_POWER = 0.5


@dataclass(frozen=True, slots=True)
class InterimLooks:
    """The numbers of pairs of the completed looks, increasing, and of the planned ones.

    By a share t of the planned pairs, alpha * t**`power` is spent.
    """

    completed: tuple[int, ...]
    planned: tuple[int, ...]
    power: float = SPENDING_POWER

    @property
    def pairs(self) -> int:
        """Return the pairs of the last look, on which the verdict is based."""
        return self.completed[-1]


def planned_looks(max_pairs: int, *, fewest: int = FIRST_LOOK) -> tuple[int, ...]:
    """Return the numbers of pairs to look at when at most `max_pairs` may be measured.

    `fewest` is the first look: MIN_PAIRS_WITH_HISTORY if every series has a history. Raises
    CheckPlanError for a plan that ends before a test is possible.
    """
    least = min(fewest, MIN_PAIRS)
    if max_pairs < least:
        msg = f"max_pairs is {max_pairs}: a paired test needs at least {least}"
        raise CheckPlanError(msg)
    return (*(pairs for pairs in PLANNED_LOOKS if fewest <= pairs < max_pairs), max_pairs)


def fewest_pairs(planned: Sequence[int], *, has_history: bool) -> int:
    """Return how many pairs a test needs in a check with these planned looks.

    A plan that begins below four pairs relies on histories. It also looks at four pairs; a test
    without a history waits there for the fifth, as it would in a plan of its own.
    """
    if has_history:
        return MIN_PAIRS_WITH_HISTORY
    if planned and planned[0] < MIN_PAIRS:
        return max(MIN_PAIRS, min(FIRST_LOOK, planned[-1]))
    return MIN_PAIRS


def looks_until(
    planned: Sequence[int], pairs: int, *, power: float = SPENDING_POWER
) -> InterimLooks:
    """Return the looks up to `pairs` pairs, inclusive; the verdict rests on the last one.

    Without a plan there is one look at all pairs. Pairs beyond the last planned look are ignored.
    A check whose budget ended between two looks has its last look there.
    """
    if not planned:
        return InterimLooks((pairs,), (pairs,), power)
    last = min(pairs, planned[-1])
    return InterimLooks((*planned[: bisect_left(planned, last)], last), tuple(planned), power)
