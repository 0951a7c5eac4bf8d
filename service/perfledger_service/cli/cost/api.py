"""Computes the throughput above which own or rented devices cost less than an API."""

from dataclasses import replace
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import what
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.ownership_flags import OwnershipFlags
from perfledger_service.cli.price_flags import PriceFlags


@command(
    examples=(
        "perfledger cost api --input-usd 0.60 --output-usd 2.40 --at on-prem,p5",
        (
            "perfledger cost api --input-usd 3 --output-usd 15 --output-percent 20 --at p5 "
            "--devices-per-replica 8 --json"
        ),
    )
)
def api(
    *,
    input_usd: Annotated[float, what("API price of a million input tokens", metavar="USD")],
    output_usd: Annotated[float, what("API price of a million output tokens", metavar="USD")],
    output_percent: Annotated[
        float, what("share of all tokens that are output", metavar="PERCENT")
    ] = 25.0,
    at: Annotated[
        str,
        what(
            "comma-separated: on-prem, a machine (p5, tpu-v4), a provider, an option",
            metavar="NAMES",
        ),
    ] = "on-prem,p5",
    devices_per_replica: Annotated[
        int, what("devices that serve one copy of the model", metavar="COUNT")
    ] = 1,
    ownership: OwnershipFlags,
    price_flags: PriceFlags,
    output: DocumentOutput,
) -> None:
    """Compute how many tokens per second your own or rented devices need to beat an API."""
    from perfledger_service.rendering.cost.api import api_document
    from perfledger_service.usecases.cost.api import ApiComparison, api_break_evens, api_price
    from perfledger_service.usecases.cost.option_names import split_names

    books = price_flags.books
    price = api_price(input_usd=input_usd, output_usd=output_usd, output_percent=output_percent)
    request = replace(ownership.request(books), option_names=split_names(at))
    comparison = ApiComparison(price=price, devices_per_replica=devices_per_replica)
    output.write_document(api_break_evens(books, request, comparison), api_document)
