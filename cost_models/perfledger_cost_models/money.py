"""Holds the cent, and converts floating-point results to Decimal money."""

from decimal import Decimal

CENT = Decimal("0.01")


def to_decimal(value: float) -> Decimal:
    """Return the shortest decimal that represents `value`; money is Decimal at the boundary."""
    return Decimal(repr(float(value)))
