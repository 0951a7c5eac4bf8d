"""Plans how many turns the next pair of a workload has: more, shorter pairs where processes differ.

A pair costs the start of two processes and its turns. Turns average what disturbs single steps, and
only pairs average what differs from process to process, such as the state of a core's branch
prediction. With the cost c of a pair without its turns, the cost t of a turn of both sides, and the
standard deviations T of a turn's difference and P of a pair's beyond it, the turns that spend time
best are sqrt(c / t) T / P (Kalibera & Jones, "Rigorous benchmarking in reasonable time", 2013).
Only spreads are used, never the change, so that no verdict depends on when pairs are shortened.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from perfledger.metrics import STEP_TIME
from perfledger.records import Run
from perfledger_baselines.estimation.interleaving import turn_differences
from perfledger_baselines.significance.spread_prior import MAD_TO_SD

# Up to 15 first turns in which a side has not settled are found if others follow (`change_point`).
FEWEST_TURNS = 20
# Standard deviation from pair to pair of unchanged code beyond that of its turns, a log ratio. On a
# quiet two-core machine it is .012 to .016 in 333 pairs, without those that differ by 6 % or more.
PAIR_SPREAD = 0.015


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """How long a pair's turns took, and how much their differences vary."""

    seconds: float  # of measured steps in a turn of one side, the mean
    measured_s: float  # of both sides in all turns
    spread: float  # standard deviation of log(head / base) of a turn


def turn_times(base: Run, head: Run) -> TurnTimes | None:
    """Return the times of the turns of interleaved runs; None if there are too few of them."""
    differences = turn_differences(base, head)
    if len(differences) < FEWEST_TURNS:
        return None
    middle = median(differences)
    measured_s = math.fsum(
        run.evidence.seconds_of(run.samples[STEP_TIME.name]) for run in (base, head)
    )
    return TurnTimes(
        seconds=measured_s / (len(base.turns) + len(head.turns)),
        measured_s=measured_s,
        spread=MAD_TO_SD * median(abs(each - middle) for each in differences),
    )


def pair_length(pairs: Sequence[TurnTimes], *, pair_s: float) -> int:
    """Return how many turns each side of the next pair takes at most.

    `pairs` are those so far, at least one, and `pair_s` is how long the last one took in all.
    """
    last = pairs[-1]
    start_s = max(0.0, pair_s - last.measured_s)
    spread = median(each.spread for each in pairs)
    turns = math.sqrt(start_s / (2 * last.seconds)) * spread / PAIR_SPREAD
    return max(FEWEST_TURNS, round(turns))
