"""Words why a number of devices is recommended, and how commitments perform."""

from dataclasses import dataclass
from decimal import Decimal

from perfledger.rounding import integer
from perfledger_cost_models.procurement.commitment_sweep import CommitmentSweep
from perfledger_cost_models.procurement.cost_model import YEARS, SizeBasis
from perfledger_cost_models.quote import price_origin
from perfledger_cost_models.review.document import (
    CommitmentMetrics,
    MarketRemark,
    Review,
    UnknownFigure,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.review.rows import whole_usd
from perfledger_service.rendering.review.whole_dollars import whole_difference

_MAX_SOURCE = 500  # characters of a price's source
_MAX_SIZES = 7  # rows of the table; the chart and the workbook have all sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRow:
    """One size of the swept option."""

    devices: str
    npv: str
    npv_mean: str
    beyond_best: str  # difference of the means
    tone: str  # "chosen" for the plan's size, "best" for the cheapest, else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepText:
    """The sweep of one option, as shown."""

    option: str
    rows: tuple[SweepRow, ...]
    sentences: tuple[str, ...]


def swept(review: Review) -> CommitmentSweep | None:
    """Return the sweep of the recommended option, or else of the cheapest option with a size."""
    by_key = {each.option.key: each for each in review.sweeps}
    keys = (review.decision.recommendation, review.decision.best_mean)
    chosen = next((by_key[key] for key in keys if key in by_key), None)
    return chosen or min(review.sweeps, key=lambda each: each.best.npv_mean, default=None)


def sweep_text(review: Review) -> SweepText | None:
    """Return the sizes around the best and the chosen one; None if no option has a size."""
    sweep = swept(review)
    if sweep is None:
        return None
    best = sweep.best
    shown_sizes = sorted(
        sweep.sizes, key=lambda one: (one.devices not in {0, sweep.option.devices}, one.npv_mean)
    )[:_MAX_SIZES]
    rows = tuple(
        SweepRow(
            devices=f"{one.devices:,}" if one.devices else "0: as today",
            npv=whole_usd(one.npv),
            npv_mean=whole_usd(one.npv_mean),
            beyond_best=whole_usd(whole_difference(one.npv_mean, best.npv_mean)),
            tone="best" if one is best else "chosen" if one.devices == sweep.option.devices else "",
        )
        for one in sorted(shown_sizes, key=lambda one: one.devices)
    )
    return SweepText(
        option=clean(sweep.option.name), rows=rows, sentences=(_best(sweep), *_ladder(review))
    )


def other_size_sentence(review: Review) -> str:
    """Return why the recommended option does not have the cheapest size, "" if it does."""
    sweep = next(
        (each for each in review.sweeps if each.option.key == review.decision.recommendation), None
    )
    if sweep is None or sweep.best.devices == sweep.option.devices:
        return ""
    return _best(sweep)


def metrics_rows(metrics: CommitmentMetrics | UnknownFigure) -> list[dict[str, str]] | None:
    """Return coverage, utilization and effective savings rate with their arithmetic."""
    if isinstance(metrics, UnknownFigure):
        return None
    prices = "; ".join(
        f"{number_format.cents(price.usd_per_hour)} an hour of {clean(price.sku)}, "
        f"{price_origin(price.region, price.as_of, is_read_date=price.is_read_date)}, "
        f"{clean(price.source, limit=_MAX_SOURCE)}"
        for price in metrics.prices
    )
    cents = number_format.cents
    no_usage = f"the bill has no usage of {metrics.accelerator}"
    return [
        {
            "name": "coverage",
            "value": _share(metrics.coverage),
            "basis": f"{integer(metrics.committed_hours)} of {integer(metrics.hours)} "
            f"{metrics.accelerator} hours were covered by commitments"
            if metrics.hours
            else no_usage,
        },
        {
            "name": "commitment utilization",
            "value": _share(metrics.utilization),
            "basis": f"{cents(metrics.committed_usd)} used of "
            f"{cents(metrics.committed_usd + metrics.unused_usd)} USD committed"
            if metrics.utilization is not None
            else f"the bill has no commitments of {metrics.accelerator}",
        },
        {
            "name": "effective savings rate",
            "value": _share(metrics.savings_rate),
            "basis": f"1 - {cents(metrics.effective_usd)} / {cents(metrics.on_demand_usd)} USD: "
            f"effective cost with unused commitments, over the same hours at today's on-demand "
            f"prices ({prices})"
            if metrics.savings_rate is not None
            else no_usage,
        },
    ]


def dear_commitment_sentence(metrics: CommitmentMetrics | UnknownFigure) -> str:
    """Return that the bill's commitments cost more than on-demand hours; "" if they do not."""
    if isinstance(metrics, UnknownFigure) or not (metrics.committed_hours and metrics.hours):
        return ""
    committed = metrics.committed_usd / metrics.committed_hours
    on_demand = metrics.on_demand_usd / metrics.hours
    if committed <= on_demand:
        return ""
    cents = number_format.cents
    return (
        f"An hour of {clean(metrics.accelerator)} under a commitment cost {cents(committed)} USD, "
        f"more than {cents(on_demand)}, the mean of the bill's hours at today's on-demand prices."
    )


def market_sentence(remark: MarketRemark) -> str:
    """Return by how much a commitment is above today's market."""
    cents = number_format.cents
    above = remark.usd_per_hour > remark.on_demand_usd
    on_demand = (
        f" and even on demand ({cents(remark.on_demand_usd)})"
        if above and remark.market_usd < remark.on_demand_usd
        else ""
    )
    return (
        f"Above market: {clean(remark.name)} costs {cents(remark.usd_per_hour)} USD for every "
        f"hour of a device, more than {clean(remark.market)} today ({cents(remark.market_usd)})"
        f"{on_demand}. "
        f"Until {remark.until} the difference from {clean(remark.market)} adds up to "
        f"{whole_usd(remark.usd_above)} USD; ask the provider for an exchange, and do not renew it "
        "at this price."
    )


def _best(sweep: CommitmentSweep) -> str:
    best, chosen = sweep.best, sweep.option.devices
    name = clean(sweep.option.name)
    planned_cost = next(one for one in sweep.sizes if one.devices == chosen)
    loss = whole_difference(planned_cost.npv_mean, best.npv_mean)
    likely_loss = whole_difference(planned_cost.npv, best.npv)
    if best.devices == 0:
        basis = sweep.option.size_basis
        origin = f"from {basis}" if basis is SizeBasis.PLANNED else str(basis)
        return (
            f"On average no size of {name} costs less than today's option; the options have "
            f"{chosen:,}, {origin}."
        )
    text = f"On average {best.devices:,} devices of {name} cost least"
    if best.devices == chosen:
        return f"{text} over {YEARS} years, which is the number in the options."
    likely = "more" if likely_loss >= 0 else "less"
    return (
        f"{text}; the options have {chosen:,}, as the plan says. Over {YEARS} years {chosen:,} "
        f"cost {whole_usd(loss)} USD more on average, and {whole_usd(abs(likely_loss))} USD "
        f"{likely} at the most likely inputs. To choose {best.devices:,}, set devices = "
        f"{best.devices} in the plan."
    )


def _ladder(review: Review) -> tuple[str, ...]:
    ladder = review.ladder
    if ladder is None:
        return ()
    long_devices = f"{ladder.long_devices:,} devices of {clean(ladder.long.name)}"
    if not any(ladder.short_devices):
        nothing = (
            f"Laddered terms gain nothing: beside {long_devices} for all {YEARS} years, no number "
            f"of {clean(ladder.short.name)} in any year costs less."
        )
        return (nothing,)
    short = ", ".join(
        f"{devices:,} in year {year}" for year, devices in enumerate(ladder.short_devices, start=1)
    )
    best = min(
        (one for sweep in review.sweeps for one in sweep.sizes), key=lambda one: one.npv_mean
    )
    saving = whole_difference(best.npv_mean, ladder.npv_mean)
    against = (
        f"{whole_usd(saving)} USD less than the best number of devices of any one option"
        if saving > 0
        else f"{whole_usd(-saving)} USD more than the best number of devices of any one option: "
        "not worth it"
    )
    words = (
        f"Laddered terms: {long_devices} for all {YEARS} years plus, of "
        f"{clean(ladder.short.name)}, {short} cost "
        f"{whole_usd(ladder.npv_mean)} USD on average, {against}."
    )
    cheaper = whole_difference(ladder.npv_mean, review.choice.npv_mean)
    if saving > 0 and cheaper > 0:
        words += f" {clean(review.choice.option.name)} costs {whole_usd(cheaper)} USD less still."
    return (words,)


def _share(share: Decimal | None) -> str:
    return "unknown" if share is None else number_format.share(float(share))
