"""Units of a job log's time and memory, of work and of money, as whole numbers or words."""

from perfledger.time_units import SECONDS_PER_DAY, SECONDS_PER_HOUR

# Job logs count whole milliseconds, and thousandths of a device (WHOLE_DEVICE) times milliseconds.
MS_PER_SECOND = 1000
MS_PER_HOUR = MS_PER_SECOND * SECONDS_PER_HOUR
MS_PER_DAY = MS_PER_SECOND * SECONDS_PER_DAY
MILLI_MS_PER_HOUR = 1000 * MS_PER_HOUR

MEBI = 2**20  # bytes of a MiB

# Units of work, tokens or requests that a price is stated for; whole, as they multiply with money
# in Decimal.
THOUSAND = 1_000
MILLION = 1_000_000

USD = "USD"  # ISO 4217; every price is converted to it before it is compared or added
