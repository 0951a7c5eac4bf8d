"""A calendar's months or weeks, counted from one of them: their first days and lengths."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

MONTHS = 12
DAYS_A_WEEK = 7
SECONDS_A_DAY = 86_400


class Step(StrEnum):
    """How long a period is."""

    MONTH = "month"
    WEEK = "week"  # from Monday on, as ISO 8601 has it

    @property
    def season(self) -> int:
        """Return how many periods make a year."""
        match self:
            case Step.MONTH:
                return MONTHS
            case Step.WEEK:
                return 52


@dataclass(frozen=True, slots=True)
class Calendar:
    """Periods of one length; the one with number 0 begins on `first`."""

    step: Step
    first: date

    def start(self, number: int) -> date:
        """Return the first day of a period; those before the first have numbers below 0."""
        match self.step:
            case Step.WEEK:
                return self.first + timedelta(days=DAYS_A_WEEK * number)
            case Step.MONTH:
                months = MONTHS * self.first.year + self.first.month - 1 + number
                return date(months // MONTHS, months % MONTHS + 1, 1)

    def days(self, number: int) -> int:
        """Return how many days a period has."""
        return (self.start(number + 1) - self.start(number)).days

    def seconds(self, number: int) -> float:
        """Return when a period begins, in seconds since 1970, UTC."""
        return datetime.combine(self.start(number), datetime.min.time(), UTC).timestamp()


def calendar_of(step: Step, day: date) -> Calendar:
    """Return the periods counted from the one that a day lies in."""
    match step:
        case Step.WEEK:
            return Calendar(step, day - timedelta(days=day.weekday()))
        case Step.MONTH:
            return Calendar(step, day.replace(day=1))
