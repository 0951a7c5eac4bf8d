"""Commands about the price of a change: the change itself, and the fleet that it is priced on."""

from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfledger.bundle import FleetUse, Pricing
from perfledger_cost_models.change import MAX_DEVICE_HOURS
from perfledger_cost_models.fleet import FleetProfile
from perfledger_service.cli.books import Contract, OverridesFile, PricesFile, books_of
from perfledger_service.cli.inputs import DAY, Store, given_files, period_of
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.cost_views import PricedView
from perfledger_service.errors import UsageError
from perfledger_service.pages.change_costs import (
    change_csv,
    change_json,
    change_text,
    fleet_csv,
    fleet_json,
    fleet_text,
    fleet_toml,
    unmatched_sentences,
)
from perfledger_service.pages.change_plot import change_svg
from perfledger_service.report import Conclusion, ExitCode
from perfledger_service.usecases import bundles
from perfledger_service.usecases.fleets import fleet_of, pricing_at
from perfledger_service.usecases.pricing import Ending, ended, price_bundle, price_ratio
from perfledger_service.views import ImportKind

ANY_WORKLOAD = "*"
TOLD = "told on the command line"


class ChangeFormat(StrEnum):
    """How the price of a change is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    SVG = "svg"


class FleetFormat(StrEnum):
    """How a fleet profile is written; toml is what the configuration takes."""

    TABLE = "table"
    TOML = "toml"
    JSON = "json"
    CSV = "csv"


Output = Annotated[Path | None, typer.Option("--output", help="write it here")]


def cost_change(
    bundle: Annotated[Path | None, typer.Argument(help="a result bundle")] = None,
    *,
    ratio: Annotated[
        float | None, typer.Option(help="in place of a bundle: step time of head / base")
    ] = None,
    interval: Annotated[
        tuple[float, float] | None, typer.Option(help="the ends of that ratio's 95 % interval")
    ] = None,
    workload: Annotated[
        str, typer.Option(help="what that ratio is of; matched with the fleet's entries")
    ] = "workload",
    fleet: Annotated[
        Path | None,
        typer.Option(help="TOML with fleet, commitment and policy tables (the repository's)"),
    ] = None,
    hours: Annotated[
        float | None, typer.Option(help="in place of a fleet: device-hours a year")
    ] = None,
    hours_range: Annotated[
        tuple[float, float] | None, typer.Option(help="at least and at most so many hours")
    ] = None,
    where: Annotated[str, typer.Option(help="the purchase option of these hours")] = "",
    prices: PricesFile = None,
    overrides: OverridesFile = None,
    contract: Contract = None,
    form: Annotated[
        ChangeFormat, typer.Option("--format", help="how to write it")
    ] = ChangeFormat.TABLE,
    output: Output = None,
) -> None:
    """Say what a change costs a year: a bundle's, or a ratio with its interval.

    Exits with 1 if a policy's limit is exceeded, with 3 if one asks for approval or there is no
    price.
    """
    today = datetime.now(UTC).date()
    sheet = books_of(prices, overrides, contract).sheet
    told = _told(hours, hours_range, where)
    if bundle is not None and ratio is None:
        found = bundles.read(bundle)
        pricing = _on(told, found.pricing if fleet is None else pricing_at(fleet))
        view = price_bundle(found, pricing=pricing, today=today, sheet=sheet)
    elif bundle is None and ratio is not None and interval is not None:
        ratios = (interval[0], ratio, interval[1])
        pricing = _on(told, pricing_at(fleet))
        view = price_ratio(workload, ratios, pricing=pricing, today=today, sheet=sheet)
    else:
        msg = "give a bundle, or --ratio with --interval: no change is priced without its interval"
        raise UsageError(msg)
    _show_change(view, form, output)
    total = view.priced.total
    is_priced = total is not None and total.usd is not None
    code = ExitCode.OK if is_priced else ExitCode.UNCERTAIN
    raise typer.Exit(ended(Ending(Conclusion.SUCCESS, code, ""), view.rulings).exit_code)


def cost_fleet(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="sacct --parsable2, Prometheus' or OpenCost's JSON or CSV, FOCUS in CSV"
        ),
    ] = None,
    *,
    store: Store = None,
    config: Annotated[
        Path | None,
        typer.Option(help="the configuration whose usage tables claim jobs (the repository's)"),
    ] = None,
    start: Annotated[
        datetime | None, typer.Option(formats=DAY, help="count from this day on; with --end")
    ] = None,
    end: Annotated[
        datetime | None, typer.Option(formats=DAY, help="count until this day, it excluded")
    ] = None,
    form: Annotated[
        FleetFormat, typer.Option("--format", help="how to write it")
    ] = FleetFormat.TABLE,
    output: Output = None,
) -> None:
    """Say how many device-hours a year each workload stands for, by what really ran.

    --format toml writes the tables that perfledger.toml and `cost change --fleet` take.
    """
    named = given_files(files or (), store, ImportKind.USAGE)
    found = fleet_of(named, configuration=config, period=period_of(start, end))
    _show_fleet(found, form, output)


def _told(
    hours: float | None, hours_range: tuple[float, float] | None, where: str
) -> FleetUse | None:
    """Return the fleet entry that the command line tells, None where it tells none."""
    if hours is None and hours_range is None and not where:
        return None
    if hours is None or not where:
        msg = "--hours and --where go together, such as --hours 20000 --where p5.48xlarge/on_demand"
        raise UsageError(msg)
    low, high = hours_range or (hours, hours)
    if not 0 <= low <= hours <= high <= MAX_DEVICE_HOURS:
        msg = (
            f"{hours:g} hours a year, {low:g} to {high:g}: give 0 <= low <= hours <= high, at most "
            f"{MAX_DEVICE_HOURS:g}"
        )
        raise UsageError(msg)
    return FleetUse(
        workload=ANY_WORKLOAD,
        where=where,
        device_hours_per_year=hours,
        low=low,
        high=high,
        source=TOLD,
    )


def _on(told: FleetUse | None, pricing: Pricing) -> Pricing:
    """Return what to price on; an entry that was told stands in for the fleet alone."""
    return pricing if told is None else replace(pricing, fleet=(told,))


def _show_change(view: PricedView, form: ChangeFormat, output: Path | None) -> None:
    match form:
        case ChangeFormat.TABLE:
            show_table(change_text(view), output)
        case ChangeFormat.JSON:
            show_text(change_json(view), output)
        case ChangeFormat.CSV:
            show_text(change_csv(view), output)
        case ChangeFormat.SVG:
            show_text(change_svg(view), output)


def _show_fleet(found: FleetProfile, form: FleetFormat, output: Path | None) -> None:
    if form is not FleetFormat.TABLE:  # which has them among its lines
        for sentence in unmatched_sentences(found):
            typer.echo(sentence, err=True)
    match form:
        case FleetFormat.TABLE:
            show_table(fleet_text(found), output)
        case FleetFormat.TOML:
            show_text(fleet_toml(found), output)
        case FleetFormat.JSON:
            show_text(fleet_json(found), output)
        case FleetFormat.CSV:
            show_text(fleet_csv(found), output)
