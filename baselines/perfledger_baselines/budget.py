"""What a check may cost in time and money in, for how long it may measure out."""

import math
from dataclasses import dataclass
from decimal import Decimal


class BudgetError(ValueError):
    """A cap that caps nothing, or money without a price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The caps of one check; None caps nothing. Raises BudgetError.

    `usd_per_hour` is what an hour of the machine costs: a cap in money needs it.
    """

    max_seconds: float | None = None  # of the machine, all workloads together
    max_usd: Decimal | None = None
    usd_per_hour: Decimal | None = None

    def __post_init__(self) -> None:
        for name in ("max_seconds", "max_usd", "usd_per_hour"):
            value: float | Decimal | None = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                msg = f"{name} is {value}: give a number above zero, or leave it out"
                raise BudgetError(msg)
        if self.max_usd is not None and self.usd_per_hour is None:
            msg = f"max_usd is {self.max_usd} and no price is known: give usd_per_hour with it"
            raise BudgetError(msg)

    @property
    def seconds(self) -> float:
        """Return the machine's seconds that time and money allow; infinity without caps."""
        caps = [math.inf if self.max_seconds is None else self.max_seconds]
        if self.max_usd is not None and self.usd_per_hour is not None:
            caps.append(float(self.max_usd / self.usd_per_hour * 3600))
        return min(caps)
