"""Holds the types of money: Decimal, and Usd for floating-point results, and the cent."""

import math
from decimal import Decimal

CENT = Decimal("0.01")
# Significant digits of an amount below 10,000 USD: prices and estimates have no more.
MONEY_DIGITS = 6


class Usd(float):
    """An amount of US dollars that was computed with floating-point numbers.

    Writers treat it as money, like a Decimal; arithmetic returns a plain float.
    """

    __slots__ = ()


def to_decimal(value: float) -> Decimal:
    """Return the shortest decimal that represents `value`; money is Decimal at the boundary."""
    return Decimal(repr(float(value)))


def without_noise(value: float) -> Decimal:
    """Return an amount in cents, a small one with MONEY_DIGITS, without trailing zeros.

    The further digits of a float are noise of its sums. Raises ValueError for NaN and infinity.
    """
    if not math.isfinite(value):
        msg = f"{value} is not an amount of money"
        raise ValueError(msg)
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:.{max(2, MONEY_DIGITS - 1 - magnitude)}f}"
    return Decimal(text.rstrip("0").rstrip(".")) + 0  # without the sign of a zero
