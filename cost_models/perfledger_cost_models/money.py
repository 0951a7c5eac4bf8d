"""Figures from floating-point work into money as Decimal, and money into words for a note."""

from decimal import Decimal

CENTS_BELOW_USD = 100  # smaller amounts are said with their cents


def to_decimal(value: float) -> Decimal:
    """Return the shortest decimal that stands for `value`: money is Decimal at the boundary."""
    return Decimal(repr(float(value)))


def to_words(usd: Decimal) -> str:
    """Return an amount as a note says it: "+1,234", "\N{MINUS SIGN}0.50", "0"."""
    if not usd:
        return "0"
    sign = "\N{MINUS SIGN}" if usd < 0 else "+"
    return f"{sign}{abs(usd):,.{2 if abs(usd) < CENTS_BELOW_USD else 0}f}"
