"""Bills hours under reservations and savings plans."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.price_flags import PriceFlags


@command(
    examples=(
        "perfledger cost coverage hours.csv --savings-plan p5:60@1y_all_upfront",
        (
            "perfledger cost coverage --usage 4xp5.48xlarge --total-hours 730 "
            "--savings-plan p5:60@3y_no_upfront"
        ),
    )
)
def coverage(
    file: Annotated[
        Path | None, argument("CSV of usage: hour, sku, quantity", metavar="FILE")
    ] = None,
    *,
    usage: Annotated[
        list[str] | None,
        what(
            "usage of one hour, instead of a file: 4xp5.48xlarge; repeatable", metavar="COUNTxSKU"
        ),
    ] = None,
    savings_plan: Annotated[
        list[str] | None,
        what(
            "USD/h and term: 60@1y_no_upfront_compute, p5:60@1y_no_upfront for a family; "
            "repeatable",
            metavar="PLAN",
        ),
    ] = None,
    reserved_instance: Annotated[
        list[str] | None,
        what("count and term: 2xp4d.24xlarge@1y_no_upfront; repeatable", metavar="RESERVATION"),
    ] = None,
    total_hours: Annotated[
        int | None,
        how("number of hours, including those without usage, such as 730", metavar="HOURS"),
    ] = None,
    region: Annotated[
        str, how("region of the prices", metavar="REGION", default="the reference region")
    ] = "",
    price_flags: PriceFlags,
    output: DocumentOutput,
) -> None:
    """Bill hours under reservations and savings plans, and show unused commitments.

    Applies them hour by hour, as providers do: reservations, then plans for a family, then plans
    for all.
    """
    from perfledger_service.rendering.cost.coverage import coverage_document
    from perfledger_service.usecases.cost.coverage import CommitmentInputs, bill_hours, usage_hours

    hours = usage_hours(file, usage or (), all_hours=total_hours)
    commitments = CommitmentInputs(plans=savings_plan or (), reserved=reserved_instance or ())
    output.write_document(
        bill_hours(price_flags.books.sheet, hours, commitments, region=region),
        lambda bill: coverage_document(bill, len(hours)),
    )
