"""Figures from floating-point work into money as Decimal."""

from decimal import Decimal


def to_decimal(value: float) -> Decimal:
    """Return the shortest decimal that stands for `value`: money is Decimal at the boundary."""
    return Decimal(repr(float(value)))
