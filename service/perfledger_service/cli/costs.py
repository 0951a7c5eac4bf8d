"""Commands about money: what hours and pieces of work cost, and what owning costs."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfledger_cost_models.footprint import Grid
from perfledger_cost_models.interruption import Interruptions
from perfledger_cost_models.investment import Horizon
from perfledger_cost_models.onprem import Ownership, Site
from perfledger_service.cli.books import Contract, OverridesFile, PricesFile, books_of
from perfledger_service.cli.checking import Output
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.cost_documents import (
    costs_csv,
    costs_json,
    costs_svg,
    owning_csv,
    owning_json,
    owning_svg,
)
from perfledger_service.pages.costs import (
    costs_markdown,
    costs_text,
    owning_markdown,
    owning_text,
)
from perfledger_service.usecases.costing import FAMILIES, compare_costs, owning
from perfledger_service.usecases.offers import CostQuestion
from perfledger_service.usecases.translating import translated
from perfledger_service.usecases.working import Speeds, works_of

DEFAULT_ACCELERATOR = "H100-80GB"
ALL = "all"
DEFAULT_SERVER = "onprem-8xH100"
# Of the packaged inputs, the most likely share of hours in which owned accelerators are used.
DEFAULT_USE = 40.0
DEFAULT_RESTART = 5.0  # minutes
MINUTES_PER_HOUR = 60


class CostFormat(StrEnum):
    """How costs are written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"
    SVG = "svg"


Formatted = Annotated[CostFormat, typer.Option("--format", help="how to write it")]
Use = Annotated[float, typer.Option(help="percent of the hours paid for in which work is done")]
Years = Annotated[int, typer.Option(help="horizon of NPV, payback and IRR: 3 or 5")]
Where = Annotated[Site, typer.Option(help="where an owned server stands")]
Support = Annotated[
    bool, typer.Option(help="an owned server has a support contract; else failed cards are bought")
]
Availability = Annotated[
    float, typer.Option(help="percent of all hours that an owned server is up; use is of these")
]
Draw = Annotated[
    float | None, typer.Option("--draw-kw", help="an owned server's measured mean draw")
]
Location = Annotated[
    float | None, typer.Option("--location-kg", help="kg of CO2 a kWh of the grid (US mean)")
]
Market = Annotated[
    float | None, typer.Option("--market-kg", help="kg of CO2 a kWh of what was contracted")
]
Covered = Annotated[
    float, typer.Option("--covered", help="percent of energy from contracts without emissions")
]


def cost_compare(
    accelerator: Annotated[
        list[str] | None,
        typer.Option(help='as on the price sheet (H100-80GB), or "all"; repeatable'),
    ] = None,
    *,
    use: Use = DEFAULT_USE,
    speed: Annotated[
        list[str] | None,
        typer.Option(help="units of work a second: 8xH100-80GB=3100, or low:mid:high; repeatable"),
    ] = None,
    unit: Annotated[str, typer.Option(help="what --speed counts: tokens, samples")] = "units",
    step: Annotated[
        list[str] | None, typer.Option(help="seconds of a step: 8xH100-80GB=0.31; repeatable")
    ] = None,
    queries: Annotated[
        list[str] | None, typer.Option(help="inferences a second: H100-80GB=42; repeatable")
    ] = None,
    train: Annotated[
        list[str] | None,
        typer.Option(help="MLPerf-like log or time to a target: 8xH100-80GB=5.3m; repeatable"),
    ] = None,
    overhead: Annotated[
        str, typer.Option(help="whole run over the trainings' time, such as 1.05:1.2:1.5")
    ] = "1",
    bundle: Annotated[
        Path | None, typer.Option(help="a result bundle: its workload's measured throughput")
    ] = None,
    workload: Annotated[str, typer.Option(help="which workload of the bundle")] = "*",
    interruptions: Annotated[
        float | None, typer.Option(help="of a spot job, an hour; with --save")
    ] = None,
    save: Annotated[float | None, typer.Option(help="minutes that a checkpoint takes")] = None,
    restart: Annotated[float, typer.Option(help="minutes until work goes on again")] = (
        DEFAULT_RESTART
    ),
    fallback: Annotated[
        float, typer.Option(help="percent of spot work that is done on demand instead")
    ] = 0.0,
    job_hours: Annotated[
        float | None,
        typer.Option(help="hours of work at a time: capacity blocks are bought to hold them"),
    ] = None,
    years: Years = 5,
    site: Where = Site.COLOCATION,
    support: Support = True,
    availability: Availability = 100.0,
    draw_kw: Draw = None,
    location_kg: Location = None,
    market_kg: Market = None,
    covered: Covered = 0.0,
    prices: PricesFile = None,
    overrides: OverridesFile = None,
    contract: Contract = None,
    form: Formatted = CostFormat.TABLE,
    output: Output = None,
) -> None:
    """Say what a useful hour or a piece of work costs owned and on every way to buy it.

    With speeds of several accelerators it says which option is cheapest per piece of work.
    """
    works = works_of(
        Speeds(
            units=speed or (),
            unit=unit,
            steps=step or (),
            queries=queries or (),
            trainings=train or (),
            overhead=overhead,
            bundle=bundle,
            workload=workload,
        )
    )
    named = accelerator or [work.accelerator for work in works] or [DEFAULT_ACCELERATOR]
    question = CostQuestion(
        accelerators=FAMILIES if ALL in named else tuple(dict.fromkeys(named)),
        use=use / 100,
        today=datetime.now(UTC).date(),
        years=_horizon(years),
        terms=_terms(site, support=support, availability=availability, draw_kw=draw_kw),
        grid=_grid(location_kg, market_kg, covered),
        interruptions=_interruptions(interruptions, save, restart, fallback),
        fallback_share=fallback / 100,
        job_h=job_hours,
        works=works,
    )
    found = compare_costs(books_of(prices, overrides, contract), question)
    match form:
        case CostFormat.TABLE:
            show_table(costs_text(found), output)
        case CostFormat.MARKDOWN:
            show_text(costs_markdown(found), output)
        case CostFormat.JSON:
            show_text(costs_json(found), output)
        case CostFormat.CSV:
            show_text(costs_csv(found), output)
        case CostFormat.SVG:
            show_text(costs_svg(found), output)


def cost_tco(
    server: Annotated[str, typer.Argument(help="onprem-8xH100 or onprem-8xA100")] = DEFAULT_SERVER,
    *,
    use: Use = DEFAULT_USE,
    years: Years = 5,
    site: Where = Site.COLOCATION,
    support: Support = True,
    availability: Availability = 100.0,
    draw_kw: Draw = None,
    location_kg: Location = None,
    market_kg: Market = None,
    covered: Covered = 0.0,
    prices: PricesFile = None,
    overrides: OverridesFile = None,
    contract: Contract = None,
    form: Formatted = CostFormat.TABLE,
    output: Output = None,
) -> None:
    """Say what owning a server costs a year, which input moves its useful hour most, and its NPV.

    Servers and inputs of your own come with --overrides.
    """
    question = CostQuestion(
        use=use / 100,
        today=datetime.now(UTC).date(),
        years=_horizon(years),
        terms=_terms(site, support=support, availability=availability, draw_kw=draw_kw),
        grid=_grid(location_kg, market_kg, covered),
    )
    found = owning(books_of(prices, overrides, contract), server, question)
    match form:
        case CostFormat.TABLE:
            show_table(owning_text(found), output)
        case CostFormat.MARKDOWN:
            show_text(owning_markdown(found), output)
        case CostFormat.JSON:
            show_text(owning_json(found), output)
        case CostFormat.CSV:
            show_text(owning_csv(found), output)
        case CostFormat.SVG:
            show_text(owning_svg(found), output)


def _horizon(years: int) -> Horizon:
    if years not in tuple(Horizon):
        known = " or ".join(str(int(each)) for each in Horizon)
        msg = f"{years} years: give {known}, for which there is a residual value"
        raise UsageError(msg)
    return Horizon(years)


def _terms(site: Site, *, support: bool, availability: float, draw_kw: float | None) -> Ownership:
    with translated():
        return Ownership(
            site=site,
            has_support=support,
            availability=availability / 100,
            drawn_kw=draw_kw,
        )


def _grid(location_kg: float | None, market_kg: float | None, covered: float) -> Grid:
    return Grid(
        location_kg_per_kwh=location_kg,
        market_kg_per_kwh=market_kg,
        covered_share=covered / 100,
    )


def _interruptions(
    per_hour: float | None, save: float | None, restart: float, fallback: float
) -> Interruptions | None:
    is_about_spot = restart != DEFAULT_RESTART or fallback != 0
    if per_hour is None and save is None and not is_about_spot:
        return None
    if per_hour is None or save is None:
        msg = (
            "what interrupted spot costs needs both --interruptions an hour and --save minutes; "
            "--restart and --fallback say more about it"
        )
        raise UsageError(msg)
    with translated():
        return Interruptions(
            per_hour=per_hour,
            save_h=save / MINUTES_PER_HOUR,
            restart_h=restart / MINUTES_PER_HOUR,
        )
