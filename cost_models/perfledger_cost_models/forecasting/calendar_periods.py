"""Numbers calendar months or weeks, with their first days and lengths."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from perfledger.time_units import DAYS_PER_WEEK, MONTHS_PER_YEAR


class PeriodLength(StrEnum):
    """The length of a period."""

    MONTH = "month"
    WEEK = "week"  # from Monday, as in ISO 8601

    @property
    def season(self) -> int:
        """Return the number of periods in a year."""
        match self:
            case PeriodLength.MONTH:
                return MONTHS_PER_YEAR
            case PeriodLength.WEEK:
                return 52


@dataclass(frozen=True, slots=True)
class PeriodCalendar:
    """Periods of one length; number 0 starts on `first`."""

    step: PeriodLength
    first: date

    def start(self, number: int) -> date:
        """Return the first day of a period; earlier periods have negative numbers."""
        match self.step:
            case PeriodLength.WEEK:
                return self.first + timedelta(days=DAYS_PER_WEEK * number)
            case PeriodLength.MONTH:
                months = MONTHS_PER_YEAR * self.first.year + self.first.month - 1 + number
                return date(months // MONTHS_PER_YEAR, months % MONTHS_PER_YEAR + 1, 1)

    def days(self, number: int) -> int:
        """Return the number of days of a period."""
        return (self.start(number + 1) - self.start(number)).days

    def seconds(self, number: int) -> float:
        """Return the start of a period in seconds since 1970, UTC."""
        return datetime.combine(self.start(number), datetime.min.time(), UTC).timestamp()


def calendar_of(step: PeriodLength, day: date) -> PeriodCalendar:
    """Return the periods counted from the one that contains a day."""
    match step:
        case PeriodLength.WEEK:
            return PeriodCalendar(step, day - timedelta(days=day.weekday()))
        case PeriodLength.MONTH:
            return PeriodCalendar(step, day.replace(day=1))
