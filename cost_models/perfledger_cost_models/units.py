"""Units of a job log's time, of work and of money; they multiply with money in Decimal."""

from perfledger.time_units import SECONDS_PER_DAY, SECONDS_PER_HOUR

# Job logs count whole milliseconds, and thousandths of a device (WHOLE_DEVICE) times milliseconds.
MS_PER_HOUR = 1000 * SECONDS_PER_HOUR
MS_PER_DAY = 1000 * SECONDS_PER_DAY
MILLI_MS_PER_HOUR = 1000 * MS_PER_HOUR

MILLION = 1_000_000  # units of work, tokens or requests that a price is stated for

USD = "USD"  # ISO 4217; every price is converted to it before it is compared or added
