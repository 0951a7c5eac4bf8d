"""Schedules the payments of a commitment."""

from datetime import date, datetime
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import DAY, argument, what
from perfledger_service.cli.option_values import today
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.price_flags import PriceFlags


@command(
    examples=(
        (
            "perfledger cost payments p5.48xlarge/savings_plan/1y_all_upfront --devices 16 "
            "--start 2027-01-01"
        ),
        (
            "perfledger cost payments p5.48xlarge/savings_plan/3y_no_upfront --devices 64 "
            "--start 2027-01-01 --format csv"
        ),
    )
)
def payments(
    option: Annotated[
        str, argument("a commitment: p5.48xlarge/savings_plan/1y_all_upfront", metavar="OPTION")
    ],
    *,
    devices: Annotated[int, what("accelerators committed to", metavar="COUNT")],
    start: Annotated[datetime, what("first day of the term", metavar=DAY)],
    price_flags: PriceFlags,
    output: DocumentOutput,
) -> None:
    """List a commitment's payments, upfront and hourly, for each month of its term."""
    from perfledger_service.rendering.cost.payments import payments_document
    from perfledger_service.usecases.cost.payments import scheduled_payments

    first: date = start.date()
    output.write_document(
        scheduled_payments(price_flags.books, option, devices=devices, start=first, today=today()),
        payments_document,
    )
