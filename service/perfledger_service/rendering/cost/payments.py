"""Presents the payments of a commitment, month by month."""

from collections.abc import Iterator

from perfledger.rounding import exact
from perfledger_service.rendering.cost.compare import origin_of
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Document,
    attributes,
    figure,
    notes,
    sentences,
    table,
    title,
)
from perfledger_service.values.cost_views import PaymentView


def payments_document(view: PaymentView) -> Document:
    """Return the schedule with its sum."""
    schedule, names = view.schedule, (view.price.option,)
    cents = number_format.cents
    return Document(
        name="perfledger-payments",
        facts={
            "option": view.price.option,
            **attributes(schedule, "devices", "start", "end", "hours"),
            **attributes(schedule, "once_usd", "usd_per_hour", "total_usd"),
            **attributes(view.price, "region", "as_of", "is_read_date", "source"),
        },
        blocks=(
            title(
                f"{schedule.devices:,} accelerators at {view.price.option} from {schedule.start}",
                names=names,
            ),
            *sentences([_answer(view)]),
            table(
                (
                    figure("month_from", "from", lambda row: row.start),
                    figure("hours", "hours", lambda row: row.hours),
                    figure("once_usd", "once, USD", lambda row: row.once_usd, cents),
                    figure("hourly_usd", "hourly, USD", lambda row: row.hourly_usd, cents),
                    figure("total_usd", "sum, USD", lambda row: row.total_usd, cents),
                    figure("cumulated_usd", "so far, USD", lambda row: row.cumulated_usd, cents),
                ),
                schedule.months,
                key="months",
                footer=(
                    "term",
                    f"{schedule.hours:,}",
                    cents(schedule.once_usd),
                    cents(schedule.total_usd - schedule.once_usd),
                    cents(schedule.total_usd),
                    "",
                ),
            ),
            *notes(_notes(view), names=names),
        ),
    )


def _answer(view: PaymentView) -> str:
    """Return what is due once, per hour and in total."""
    schedule = view.schedule
    once = (
        f"{number_format.cents(schedule.once_usd)} USD once on {schedule.start}"
        if schedule.once_usd
        else "nothing at the start"
    )
    hourly = (
        f"{exact(schedule.usd_per_hour.normalize())} USD in each of {schedule.hours:,} hours"
        if schedule.usd_per_hour
        else "nothing by the hour"
    )
    return (
        f"Due: {once}, and {hourly} until {schedule.end}, used or not: "
        f"{number_format.cents(schedule.total_usd)} USD in total."
    )


def _notes(view: PaymentView) -> Iterator[str]:
    terms = view.schedule.terms
    yield (
        f"{exact(terms.usd_per_hour.normalize())} USD per accelerator-hour, "
        f"{origin_of(view.price)}: {view.price.source}."
    )
    yield "A year of the term is 365 days; months are rounded to cents so that they add up."
    if not view.price.is_trusted:
        yield "The price is of low confidence: get a quote before you budget."
    if 0 < terms.upfront_share < 1:
        yield (
            f"Partial upfront is taken as {number_format.whole_share(float(terms.upfront_share))} "
            "of the term's price: providers say about half."
        )
    for warning in view.warnings:
        yield f"{warning[0].upper()}{warning[1:]}."
