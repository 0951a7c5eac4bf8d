"""What a check may cost in pairs, time and money in, whether it may go on out."""

import math
from dataclasses import dataclass
from decimal import Decimal


class BudgetError(ValueError):
    """A cap that caps nothing, or money without a price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The caps of one check; None caps nothing. Raises BudgetError.

    `usd_per_hour` is what an hour of the device costs: a cap in money needs it.
    """

    max_pairs: int | None = None  # of each workload
    max_seconds: float | None = None  # of the device, all workloads together
    max_usd: Decimal | None = None
    usd_per_hour: Decimal | None = None

    def __post_init__(self) -> None:
        for name in ("max_pairs", "max_seconds", "max_usd", "usd_per_hour"):
            value: int | float | Decimal | None = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                msg = f"{name} is {value}: give a number above zero, or leave it out"
                raise BudgetError(msg)
        if self.max_usd is not None and self.usd_per_hour is None:
            msg = f"max_usd is {self.max_usd} and no price is known: give usd_per_hour with it"
            raise BudgetError(msg)

    @property
    def seconds(self) -> float:
        """Return the device's seconds that time and money allow together; infinity without caps."""
        caps = [math.inf if self.max_seconds is None else self.max_seconds]
        if self.max_usd is not None and self.usd_per_hour is not None:
            caps.append(float(self.max_usd / self.usd_per_hour * 3600))
        return min(caps)

    def allows(self, *, pairs: int, seconds: float, next_seconds: float = 0.0) -> bool:
        """Return whether another pair may begin after so many pairs and so much time.

        `next_seconds` is what it will take, as far as one knows.
        """
        has_pairs = self.max_pairs is None or pairs < self.max_pairs
        return has_pairs and seconds + next_seconds <= self.seconds
