"""A number of pairs in, the looks that were taken at the growing data on the way there out.

Looking again and again finds a change that is not there: each look is a test. The looks are
therefore planned before the first pair, and `spending` says what each of them may spend. A look may
be late or be left out, as long as the clock and not the data chose it.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_baselines.rule import PlanError

# Two pairs have a spread, but with one degree of freedom: the 95 % interval is 12.7 standard errors
# to each side. With four pairs it is 3.2, and useful. A spread that is known from history needs no
# such wait: one pair is then enough.
FEWEST_PAIRS = 4
# Without a history the first planned look is one later. Where processes are in one of two states
# (clocks, say), four pairs can all fall the same way, and then look like a quiet change: .08 of
# families of 12 unchanged tests were called changed, and .05 with the fifth. A check whose time is
# up after four pairs looks at them all the same.
FIRST_LOOK = 5
# With a history it is at two pairs. One would be a test; but a history that is wrong would never
# know: what it called changed after one pair adds nothing to it. Of families of 12 unchanged tests
# with coarse readings .72 were called changed so, again and again by a few histories of five pairs
# that had agreed by chance. A second pair bears the first out, and each check adds to the history.
FIRST_LOOK_KNOWN = 2

# After every pair up to ten, then each about 1.15 times the one before: what is decided is known at
# once, and since neighbouring looks say nearly the same, a look more costs next to nothing.
PLANNED_LOOKS = (*range(1, 11), 12, 14, 16, 18, 20, 23, 26, 30, 35, 40)


@dataclass(frozen=True, slots=True)
class Looks:
    """The numbers of pairs at which was looked, increasing, and those that were planned."""

    taken: tuple[int, ...]
    planned: tuple[int, ...]

    @property
    def pairs(self) -> int:
        """Return the pairs of the last look: the verdict rests on it."""
        return self.taken[-1]


def default_looks(max_pairs: int, *, fewest: int = FIRST_LOOK) -> tuple[int, ...]:
    """Return the numbers of pairs to look at when at most `max_pairs` may be drawn.

    `fewest` is the first look: FIRST_LOOK_KNOWN where the spread of every series is known from its
    history. Raises PlanError for a plan that ends before there is a test.
    """
    least = min(fewest, FEWEST_PAIRS)
    if max_pairs < least:
        msg = f"max_pairs is {max_pairs}: a paired test needs at least {least}"
        raise PlanError(msg)
    return (*(pairs for pairs in PLANNED_LOOKS if fewest <= pairs < max_pairs), max_pairs)


def fewest_alone(planned: Sequence[int]) -> int:
    """Return from how many pairs on a test without a history is one, in a check planned so.

    A plan that begins below four pairs leans on histories. It looks at four on its way; a test that
    has none waits for the fifth there, as it would in a plan of its own.
    """
    if planned and planned[0] < FEWEST_PAIRS:
        return max(FEWEST_PAIRS, min(FIRST_LOOK, planned[-1]))
    return FEWEST_PAIRS


def looks_taken(planned: Sequence[int], pairs: int) -> Looks:
    """Return the looks up to and at `pairs` pairs; the last is the one the verdict rests on.

    Without a plan there is one look at all pairs. Pairs beyond the last planned look are not looked
    at. A check whose budget ended between two looks takes its last look there.
    """
    if not planned:
        return Looks((pairs,), (pairs,))
    seen = min(pairs, planned[-1])
    return Looks((*planned[: bisect_left(planned, seen)], seen), tuple(planned))
