"""The command that sizes devices to a latency that was promised."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from perfledger_service.cli.books import Contract, OverridesFile, PricesFile, books_of
from perfledger_service.cli.checking import Output
from perfledger_service.cli.inputs import Store, given_curves
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.load_plot import sizing_svg
from perfledger_service.pages.sized import sizing_csv, sizing_json, sizing_text
from perfledger_service.usecases.load_curves import REQUEST_LATENCY
from perfledger_service.usecases.rightsizing import demand_of, rightsize

_UNITS_S = (("ms", 1e-3), ("us", 1e-6), ("s", 1.0))
# A service that grows by a tenth an hour, and takes two hours until more of it runs.
DEFAULT_HEADROOM = 0.2


class SizeFormat(StrEnum):
    """How sizes are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    SVG = "svg"


def cost_rightsize(
    curves: Annotated[
        list[str] | None,
        typer.Argument(help="load curves: FILE, or DEVICE=FILE, 2xDEVICE=FILE, 1/4xDEVICE=FILE"),
    ] = None,
    *,
    store: Store = None,
    p99: Annotated[str, typer.Option(help="what 99 % of requests take at most: 80ms, 1.5s")],
    rate: Annotated[float, typer.Option(help="requests a second of all replicas together")],
    headroom: Annotated[
        float, typer.Option(help="share that the rate may grow by before more can be started")
    ] = DEFAULT_HEADROOM,
    latency: Annotated[
        str, typer.Option(help="of other tools' files, what P99: request_latency, ttft, tpot, itl")
    ] = REQUEST_LATENCY,
    at: Annotated[
        list[str] | None,
        typer.Option(help="purchase options (default: all on demand): p5.48xlarge/on_demand"),
    ] = None,
    prices: PricesFile = None,
    overrides: OverridesFile = None,
    contract: Contract = None,
    form: Annotated[SizeFormat, typer.Option("--format", help="how to write it")] = (
        SizeFormat.TABLE
    ),
    output: Output = None,
) -> None:
    """Say which devices, how many and how run keep a P99 at a rate at least cost.

    "Undecided" where the measurements' noise leaves that open, and what to measure then.
    """
    demand = demand_of(rate_per_second=rate, p99_s=_seconds(p99), headroom=headroom)
    found = rightsize(
        given_curves(curves or (), store, latency=latency),
        books_of(prices, overrides, contract),
        demand,
        options=at or (),
        today=datetime.now(UTC).date(),
    )
    match form:
        case SizeFormat.TABLE:
            show_table(sizing_text(found), output)
        case SizeFormat.JSON:
            show_text(sizing_json(found), output)
        case SizeFormat.CSV:
            show_text(sizing_csv(found), output)
        case SizeFormat.SVG:
            show_text(sizing_svg(found), output)


def _seconds(text: str) -> float:
    shown = text.strip().lower()
    unit, factor = next((each for each in _UNITS_S if shown.endswith(each[0])), ("", 1.0))
    try:
        return float(shown.removesuffix(unit)) * factor
    except ValueError as error:
        msg = f"{text[:40]!r} is no latency: write 80ms or 1.5s"
        raise UsageError(msg) from error
