"""A quarter's name, such as 2026Q4, into its days."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

MONTHS = 3
# Years that a review can be of; another is a slip of the pen.
FIRST_YEAR, LAST_YEAR = 2000, 2099

_NAME = re.compile(r"([0-9]{4})Q([1-4])")


class QuarterError(ValueError):
    """A name that is no quarter's."""


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


def quarter_of(name: str) -> Quarter:
    """Return the quarter of a name like 2026Q4; raises QuarterError."""
    found = _NAME.fullmatch(name.strip().upper())
    if found is None or not FIRST_YEAR <= int(found[1]) <= LAST_YEAR:
        msg = f"{name[:40]!r} is no quarter: write it as 2026Q4"
        raise QuarterError(msg)
    return Quarter(int(found[1]), int(found[2]))
