"""The range of what a device can cost an hour."""

from decimal import Decimal

# No device costs more or less: a price beyond these is a typing error, or the device is free.
MIN_USD_PER_HOUR, MAX_USD_PER_HOUR = Decimal("0.000001"), Decimal(1_000_000)


def is_device_price(usd_per_hour: Decimal) -> bool:
    """Return whether an amount of USD can be what a device costs an hour."""
    return usd_per_hour.is_finite() and MIN_USD_PER_HOUR <= usd_per_hour <= MAX_USD_PER_HOUR
