"""Units of time that all packages share, as whole numbers: they multiply with money in Decimal."""

SECONDS_PER_MINUTE = 60
MINUTES_PER_HOUR = 60
HOURS_PER_DAY = 24
DAYS_PER_WEEK = 7
HOURS_PER_WEEK = DAYS_PER_WEEK * HOURS_PER_DAY
SECONDS_PER_HOUR = SECONDS_PER_MINUTE * MINUTES_PER_HOUR
SECONDS_PER_DAY = SECONDS_PER_HOUR * HOURS_PER_DAY
SECONDS_PER_WEEK = SECONDS_PER_DAY * DAYS_PER_WEEK
MONTHS_PER_YEAR = 12
# Days of a year in all figures. A year is 365 days everywhere, never the mean year of 365.25 days
# and 8,766 hours: providers sell terms of one and three years at 8,760 hours each, and owned and
# forecast hours are compared with them. A leap year has 0.27 % more.
DAYS_PER_YEAR = 365
HOURS_PER_YEAR = DAYS_PER_YEAR * HOURS_PER_DAY
