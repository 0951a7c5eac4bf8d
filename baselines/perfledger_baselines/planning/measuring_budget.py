"""Holds the budget of a check, in time and money, and the seconds that it allows."""

import math
from dataclasses import dataclass
from decimal import Decimal

from perfledger.time_units import SECONDS_PER_HOUR


class MeasuringBudgetError(ValueError):
    """A cap that is not positive, or a cap in money without a price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuringBudget:
    """The caps of one check; None means no cap. Raises MeasuringBudgetError.

    `usd_per_hour` is the price of an hour of the machine; a cap in money requires it.
    """

    max_seconds: float | None = None  # of the machine, for all workloads together
    max_usd: Decimal | None = None
    usd_per_hour: Decimal | None = None

    def __post_init__(self) -> None:
        for name in ("max_seconds", "max_usd", "usd_per_hour"):
            value: float | Decimal | None = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                msg = f"{name} is {value}: use a number above 0, or leave it out"
                raise MeasuringBudgetError(msg)
        if self.max_usd is not None and self.usd_per_hour is None:
            msg = f"max_usd is {self.max_usd} without a price: give usd_per_hour as well"
            raise MeasuringBudgetError(msg)

    @property
    def seconds(self) -> float:
        """Return the machine time in seconds that both caps allow; infinity without caps."""
        caps = [math.inf if self.max_seconds is None else self.max_seconds]
        if self.max_usd is not None and self.usd_per_hour is not None:
            caps.append(float(self.max_usd / self.usd_per_hour * SECONDS_PER_HOUR))
        return min(caps)
