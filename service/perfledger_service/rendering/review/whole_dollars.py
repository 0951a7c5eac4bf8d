"""Rounds the amounts of a review to whole USD so that what is shown adds up.

A forecast with cents would suggest a false precision. A total is rounded, and its shown parts are
rounded so that they sum to it; a difference of two shown amounts is that of the shown ones. So a
reader's calculator agrees with the page, and no amount is further than 1 USD from its own.
"""

from collections.abc import Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

_USD = Decimal(1)


def nearest_dollar(usd: Decimal) -> Decimal:
    """Return an amount in whole USD, rounded half to even; never -0."""
    return usd.quantize(_USD, rounding=ROUND_HALF_EVEN) + 0


def whole_difference(left: Decimal, right: Decimal) -> Decimal:
    """Return `left` less `right`, as both are shown."""
    return nearest_dollar(left) - nearest_dollar(right)


def whole_parts(parts: Sequence[Decimal]) -> tuple[Decimal, ...]:
    """Return parts in whole USD that sum to their rounded total.

    By largest remainder (Hamilton's method): all are rounded down, and the missing dollars go to
    those that lost most; of equal ones to the first.
    """
    floors = [usd.quantize(_USD, rounding=ROUND_FLOOR) for usd in parts]
    missing = int(nearest_dollar(sum(parts, Decimal(0))) - sum(floors, Decimal(0)))
    order = sorted(range(len(parts)), key=lambda place: floors[place] - parts[place])
    raised = set(order[:missing])
    return tuple(floor + (place in raised) for place, floor in enumerate(floors))
