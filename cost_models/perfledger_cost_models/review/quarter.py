"""Converts a quarter's name, such as 2026Q4, to its days."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

MONTHS = 3
# Years that a review accepts; any other is a typing error.
FIRST_YEAR, LAST_YEAR = 2000, 2099

_NAME = re.compile(r"([0-9]{4})Q([1-4])")


class QuarterError(ValueError):
    """An error for an invalid name of a quarter."""


@dataclass(frozen=True, slots=True)
class Quarter:
    """A quarter of a calendar year."""

    year: int
    number: int  # 1 to 4

    @property
    def name(self) -> str:
        """Return the name: "2026Q4"."""
        return f"{self.year}Q{self.number}"

    @property
    def first(self) -> date:
        """Return the first day."""
        return date(self.year, MONTHS * (self.number - 1) + 1, 1)

    @property
    def last(self) -> date:
        """Return the last day."""
        return self.after.first - timedelta(days=1)

    @property
    def days(self) -> int:
        """Return how many days it has."""
        return (self.last - self.first).days + 1

    @property
    def after(self) -> "Quarter":
        """Return the next quarter."""
        return Quarter(self.year + self.number // 4, self.number % 4 + 1)

    @property
    def before(self) -> "Quarter":
        """Return the quarter before it."""
        return quarter_at(self.first - timedelta(days=1))


def quarter_at(day: date) -> Quarter:
    """Return the quarter of a day."""
    return Quarter(day.year, (day.month - 1) // MONTHS + 1)


def quarter_of(name: str) -> Quarter:
    """Return the quarter of a name like 2026Q4; raises QuarterError."""
    match = _NAME.fullmatch(name.strip().upper())
    if match is None or not FIRST_YEAR <= int(match[1]) <= LAST_YEAR:
        msg = f"{name[:40]!r} is not a quarter: write it as 2026Q4"
        raise QuarterError(msg)
    return Quarter(int(match[1]), int(match[2]))
