"""Draws which side runs first in each pair."""

import random

from perfledger.records import Side

SIDES = (Side.BASE, Side.HEAD)


def pair_order(seed: int, pairs: int) -> tuple[Side, ...]:
    """Return which side runs first in each pair; of two pairs, each side is first in one.

    Which of the two comes first is random, so that a drift of the machine affects both sides
    equally and a side's position cannot be predicted.
    """
    draw = random.Random(seed)  # noqa: S311 - a repeatable order, not a secret
    order: list[Side] = []
    while len(order) < pairs:
        order += draw.sample(SIDES, 2)
    return tuple(order[:pairs])
