"""Lists the outcome of the last review: budget against actual, and changed inputs."""

from dataclasses import dataclass
from decimal import Decimal

from perfledger_cost_models.billing.budget_variance import BudgetVariance
from perfledger_cost_models.review.document import PreviousDecision, UnknownFigure
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.review.rows import plain_number, whole_usd
from perfledger_service.rendering.review.whole_dollars import nearest_dollar


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousQuarterText:
    """Budget against actual, and the changed inputs, as shown."""

    variance: tuple[tuple[str, str], ...]
    changes: tuple[tuple[str, str, str], ...]


def previous_quarter_text(last: PreviousDecision | UnknownFigure) -> PreviousQuarterText | None:
    """Return the outcome of the last review, as shown; None without one."""
    if isinstance(last, UnknownFigure):
        return None
    variance = last.variance
    return PreviousQuarterText(
        variance=() if isinstance(variance, UnknownFigure) else _variance_rows(variance),
        changes=tuple(
            (words, plain_number(before), plain_number(now))
            for words, before, now in last.changed_inputs
        ),
    )


def _variance_rows(variance: BudgetVariance) -> tuple[tuple[str, str], ...]:
    """Return budget, causes and actual in whole USD that add up; the price takes the remainder."""
    budget, volume, actual, efficiency = (
        nearest_dollar(usd)
        for usd in (
            variance.budget_usd,
            variance.volume_usd,
            variance.actual_usd,
            variance.efficiency_usd or Decimal(0),
        )
    )
    speed = "code that got slower or faster"
    efficiency_row = (
        (f"{speed} (not measured: a part of the volume)", number_format.NOTHING)
        if variance.efficiency_usd is None
        else (speed, whole_usd(efficiency))
    )
    return (
        ("budget", whole_usd(budget)),
        ("volume: more or fewer hours", whole_usd(volume)),
        efficiency_row,
        ("price: USD an hour", whole_usd(actual - budget - volume - efficiency)),
        ("actual, from the bill", whole_usd(actual)),
    )
