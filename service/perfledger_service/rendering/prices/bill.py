"""Presents the accelerator-hours of a bill by team, and its other costs."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction

from perfledger.rounding import decimals
from perfledger_cost_models.billing.bill_against_list import (
    MAX_AGREED_DIFFERENCE,
    PaidPrice,
    PriceKey,
    model_name,
    price_key,
    price_range,
    unsure_models,
    unsure_sentences,
)
from perfledger_cost_models.billing.cost_allocation import in_cents
from perfledger_cost_models.billing.focus import Bill, BilledUsage
from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_service.rendering.layout.document import (
    CellKind,
    Column,
    Document,
    attributes,
    display,
    fact,
    facts,
    figure,
    name,
    sentences,
    table,
    words,
)
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.number_format import cents

_UNCOUNTED = ("unlisted", "unknown_providers", "unread_units")
_MAX_SENTENCE = 600  # characters of one on rates, or on hours whose pricing model is in doubt
_AMOUNTS = ("unused_usd", "other_usd", "effective_usd", "billed_usd")


def bill_document(bill: Bill, *, comparisons: Sequence[PaidPrice] = ()) -> Document:
    """Return the use by team, the paid prices beside others, and the other costs of the bill."""
    unsure = unsure_models(comparisons)
    return Document(
        name="perfledger-bill",
        facts=attributes(bill, "start", "end", "rows", *_AMOUNTS, *_UNCOUNTED)
        | {"exchange_rates": [asdict(rates) for rates in bill.rates]},
        blocks=(
            table(_columns(unsure), bill.usage, key="usage"),
            table(_price_columns(unsure), comparisons, key="prices", in_csv=False),
            *sentences(_sentences(bill)),
            *sentences(clean(each, limit=_MAX_SENTENCE) for each in unsure_sentences(comparisons)),
        ),
    )


def _price_columns(unsure: Collection[PriceKey]) -> tuple[Column[PaidPrice], ...]:
    return (
        display("paid", lambda each: _option_of(price_key(each.paid), unsure), kind=CellKind.NAME),
        fact("provider", lambda each: each.paid.provider),
        fact("sku", lambda each: each.paid.sku),
        fact("region", lambda each: each.paid.region),
        fact("model", lambda each: each.paid.pricing_model),
        fact("may_be_capacity_block", lambda each: each.may_be_block),
        figure("usd_per_hour", "USD/h", lambda each: each.paid.usd_per_hour, cents),
        words("basis", "compared with", lambda each: each.basis),
        display("at USD/h", lambda each: price_range(each) or "-"),
        display("difference", _difference),
        fact("lowest_usd_per_hour", lambda each: each.lowest),
        fact("highest_usd_per_hour", lambda each: each.highest),
        fact("difference", lambda each: each.difference),
        fact("source", lambda each: each.source),
    )


def _option_of(key: PriceKey, unsure: Collection[PriceKey]) -> str:
    """Return the name of an option, with a question mark if its pricing model is in doubt."""
    provider, sku, region, _ = key
    return f"{provider}:{sku}/{model_name(key, unsure)}@{region}"


def _difference(comparison: PaidPrice) -> str:
    if comparison.difference is None:
        return "unknown"
    if abs(comparison.difference) <= MAX_AGREED_DIFFERENCE:
        return "none"
    sign = "+" if comparison.difference > 0 else "-"
    return f"{sign}{decimals(abs(100 * comparison.difference), 1)} %"


def _columns(unsure: Collection[PriceKey]) -> tuple[Column[BilledUsage], ...]:
    """Return the columns; `unsure` are the hours on demand that may be capacity blocks."""
    return (
        name("team", "team", lambda usage: usage.team),
        display("option", lambda usage: _option_of(price_key(usage), unsure), kind=CellKind.NAME),
        *facts("provider", "sku", "region", "model"),
        figure("instance_hours", "hours", lambda usage: usage.instance_hours, _tenths),
        figure("effective_usd", "USD", lambda usage: usage.effective_usd, cents),
        display("USD/h", _hourly),
        fact("billed_usd", lambda usage: usage.billed_usd),
    )


def _hourly(usage: BilledUsage) -> str:
    if not usage.instance_hours or not usage.effective_usd:
        return "-"
    return cents(usage.effective_usd / usage.instance_hours)


def _sentences(bill: Bill) -> Iterator[str]:
    used = sum((usage.effective_usd for usage in bill.usage), Decimal(0))
    parts = {"used": used, "unused": bill.unused_usd, "other": bill.other_usd}
    exact = {name: Fraction(usd) for name, usd in parts.items()}
    parts_usd = in_cents(exact, round(100 * sum(exact.values())))  # rounded so that they add up
    yield f"From {bill.start:%Y-%m-%d} to {bill.end:%Y-%m-%d}, {bill.rows:,} rows, effective cost:"
    yield f"{cents(parts_usd['used'])} USD for used accelerators"
    yield f"{cents(parts_usd['unused'])} USD for unused commitments to accelerators"
    yield f"{cents(parts_usd['other'])} USD for everything else"
    yield f"{cents(sum(parts_usd.values()))} USD in total; invoiced {cents(bill.billed_usd)} USD"
    yield from (clean(rates.sentence, limit=_MAX_SENTENCE) for rates in bill.rates)
    yield from _block_sentences(bill)
    if bill.unread_units:
        usd = sum(bill.unread_units.values(), Decimal(0))
        units = clean(", ".join(sorted(bill.unread_units)))
        yield (
            f"{cents(usd)} USD of everything else is for accelerators billed in units other than "
            f"time, so their hours are not counted: {units}"
        )
    if bill.unlisted:
        usd = sum(bill.unlisted.values(), Decimal(0))
        yield (
            f"{cents(usd)} USD of everything else is for instances whose accelerators the price "
            f"sheet does not list: {clean(', '.join(sorted(bill.unlisted)))}"
        )
    if bill.unknown_providers:
        usd = sum(bill.unknown_providers.values(), Decimal(0))
        yield (
            f"{cents(usd)} USD of everything else is charged by the hour by providers whose "
            "instances perfledger does not know, so their accelerators are not counted: "
            f"{clean(', '.join(sorted(bill.unknown_providers)))}"
        )


def _block_sentences(bill: Bill) -> Iterator[str]:
    """Yield what a capacity block's price leaves out: its fee is on the bill of its purchase."""
    blocks = [usage for usage in bill.usage if usage.model is PricingModel.CAPACITY_BLOCK]
    for sku in sorted({usage.sku for usage in blocks}):
        parts = [usage for usage in blocks if usage.sku == sku]
        hours = sum((usage.instance_hours for usage in parts), Decimal(0))
        usd = sum((usage.effective_usd for usage in parts), Decimal(0))
        if not usd:
            yield (
                f"{_tenths(hours)} hours of {clean(sku)} are of capacity blocks whose fee is on "
                "another bill: their price is unknown"
            )
        elif not hours:
            yield (
                f"{cents(usd)} USD are the fee of capacity blocks of {clean(sku)} without hours on "
                "this bill: their price is unknown"
            )
        else:
            yield (
                f"{clean(sku)} in capacity blocks: {cents(usd / hours)} USD an hour if the bill's "
                "fees are those of its hours, and of no earlier or later block"
            )


def _tenths(hours: Decimal) -> str:
    return decimals(hours, 1)
