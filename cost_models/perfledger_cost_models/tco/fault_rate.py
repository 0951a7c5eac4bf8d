"""Estimates fault rate, time between faults and yearly replacements from counted faults."""

from dataclasses import dataclass

from scipy.special import betainc, gammaincinv

from perfledger.rounding import for_programs, typed
from perfledger.time_units import DAYS_PER_YEAR, HOURS_PER_DAY

MAX_FAULTS = 10_000_000  # more is a typing error
MAX_DEVICE_DAYS = 1e12  # more is a typing error
MIN_DEVICE_DAYS = 1e-3  # a minute and a half of one device
MAX_DEVICES = 1_000_000_000
MAX_CONFIDENCE = 0.999999  # beyond it the ends are those of rounding
_JEFFREYS = 0.5  # the shape that a Poisson rate's Jeffreys prior adds to the count


class FaultCountError(ValueError):
    """An error for counts or times from which no rate can be estimated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateInterval:
    """A rate with its exact interval; without any fault `high` is an upper bound."""

    low: float
    rate: float
    high: float

    def times(self, factor: float) -> "RateInterval":
        """Return the rate in another unit."""
        return RateInterval(low=self.low * factor, rate=self.rate * factor, high=self.high * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEstimate:
    """What a count of faults implies for a fleet."""

    faults: int
    device_days: float  # observed
    devices: int  # of the fleet that the rate is applied to
    confidence: float
    per_device_day: RateInterval
    spares: int  # that suffice for a year with this confidence

    @property
    def per_year(self) -> RateInterval:
        """Return the expected faults of the fleet in a year."""
        return self.per_device_day.times(self.devices * DAYS_PER_YEAR)

    @property
    def hours_between(self) -> tuple[float, float | None, float | None]:
        """Return the mean hours between faults of the fleet: low, estimate and high.

        Without any fault only a lower bound is known, and the others are None.
        """
        fleet = self.per_device_day.times(self.devices / HOURS_PER_DAY)
        return (
            1 / fleet.high,
            1 / fleet.rate if fleet.rate else None,
            1 / fleet.low if fleet.low else None,
        )


def estimate_faults(
    faults: int, *, device_days: float, devices: int, confidence: float
) -> FaultEstimate:
    """Return the rate of faults that were counted over some device-days, for a fleet.

    The interval is the exact one of a Poisson count n over exposure T (Garwood 1936):
    chi2(a/2, 2n) / 2T to chi2(1 - a/2, 2n + 2) / 2T, where chi2(p, 2n) / 2 is the quantile of the
    gamma distribution of shape n. The spares of a year are the quantile of the
    negative binomial that a Poisson count has under the gamma posterior of the rate (Jeffreys
    prior): a single year varies more than the expected number. Raises FaultCountError.
    """
    if not 0 <= faults <= MAX_FAULTS:
        msg = f"{faults} faults: give a count from 0 to {MAX_FAULTS:,}"
        raise FaultCountError(msg)
    if not MIN_DEVICE_DAYS <= device_days <= MAX_DEVICE_DAYS:
        msg = (
            f"{for_programs(device_days)} device-days: give a number above 0, "
            f"{typed(MIN_DEVICE_DAYS)} at least, and up to {typed(MAX_DEVICE_DAYS)}"
        )
        raise FaultCountError(msg)
    _check_devices(devices)
    if not 0 < confidence <= MAX_CONFIDENCE:
        msg = (
            f"a confidence of {for_programs(confidence * 100)} %: give a percentage above 0 and "
            f"below 100, {typed(MAX_CONFIDENCE * 100)} at most"
        )
        raise FaultCountError(msg)
    tail = (1 - confidence) / 2
    low = float(gammaincinv(faults, tail)) if faults else 0.0
    high = float(gammaincinv(faults + 1, 1 - tail))
    exposure = devices * DAYS_PER_YEAR / device_days  # of a year, relative to what was observed
    return FaultEstimate(
        faults=faults,
        device_days=device_days,
        devices=devices,
        confidence=confidence,
        per_device_day=RateInterval(
            low=low / device_days, rate=faults / device_days, high=high / device_days
        ),
        spares=_count_quantile(faults + _JEFFREYS, 1 / (1 + exposure), confidence),
    )


def observed_device_days(devices: int, days: float) -> float:
    """Return the device-days of devices that were observed for some days.

    Raises FaultCountError for an impossible number of devices.
    """
    _check_devices(devices)
    return devices * days


def _check_devices(devices: int) -> None:
    if not 1 <= devices <= MAX_DEVICES:
        msg = f"{devices} devices: give a count from 1 to {MAX_DEVICES:,}"
        raise FaultCountError(msg)


def _count_quantile(shape: float, probability: float, confidence: float) -> int:
    """Return the least k with P(count <= k) >= confidence, of a negative binomial count."""
    low, high = -1, 1
    while betainc(shape, high + 1, probability) < confidence:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if betainc(shape, middle + 1, probability) < confidence:
            low = middle
        else:
            high = middle
    return high
