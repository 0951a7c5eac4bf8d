"""A number of pairs in, the looks that were taken on the way there and their share of alpha out.

Looking at growing data again and again finds a change that is not there: each look is a test. The
looks are therefore planned, and share alpha between them in proportion to the pairs that are new
at each: of K planned pairs, look j at k_j pairs may spend alpha * (k_j - k_{j-1}) / K. A look's
p-value divided by its share (its weight) can be compared with alpha itself, and so can the smallest
of them:

    P(some p_j / w_j <= u)  <=  sum of P(p_j <= u * w_j)  <=  u * sum of w_j  =  u    for every u.

That is Bonferroni's bound. It asks nothing of how the looks depend on each other, holds for the
minimum over any of the looks, and holds whatever made the measuring stop at one of them; being a
p-value for every u, the minimum may go on into Holm's procedure. The price against bounds that know
the dependence (O'Brien & Fleming, Lan & DeMets 1983) is some power at the last look.

A check that runs out of time between two looks takes one last look at the pairs it has, with the
weight of the smallest planned look that is not smaller, which it will never take. The sum above
then has the same terms, as long as the clock and not the data chose the moment.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from perfledger_baselines.rule import PlanError

# Two pairs have a spread, but with one degree of freedom: the 95 % interval is 12.7 standard errors
# to each side, and 64 at a fifth of alpha. With four pairs these are 3.2 and 5.8, and useful.
FEWEST_PAIRS = 4

# Each about 1.35 times the one before: often enough to stop early, too few to cost much alpha.
PLANNED_LOOKS = (4, 6, 8, 11, 15, 20, 28, 40)


@dataclass(frozen=True, slots=True)
class Look:
    """A test of the first so many pairs, with its share of alpha."""

    pairs: int
    weight: float


def default_looks(max_pairs: int) -> tuple[int, ...]:
    """Return the numbers of pairs to look at when at most `max_pairs` may be drawn.

    Raises PlanError for fewer than four: no variance can be told from so few.
    """
    if max_pairs < FEWEST_PAIRS:
        msg = f"max_pairs is {max_pairs}: a paired test needs at least {FEWEST_PAIRS}"
        raise PlanError(msg)
    return (*(pairs for pairs in PLANNED_LOOKS if pairs < max_pairs), max_pairs)


def looks_taken(looks: Sequence[int], pairs: int) -> tuple[Look, ...]:
    """Return the looks up to and at `pairs` pairs; the last is the one the verdict rests on.

    `looks` increase. Without any there is one look at all pairs, with all of alpha. Pairs beyond
    the last planned look are not looked at.
    """
    if not looks:
        return (Look(pairs, 1.0),)
    planned = [
        Look(later, (later - earlier) / looks[-1]) for earlier, later in pairwise((0, *looks))
    ]
    following = bisect_left(looks, pairs)
    last = [Look(pairs, look.weight) for look in planned[following : following + 1]]
    return (*planned[:following], *last)
