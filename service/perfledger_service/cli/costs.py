"""Commands about money: what hours and pieces of work cost, and what owning costs."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from perfledger_cost_models.interruption import Interruptions
from perfledger_service.cli.owning_options import CostFormat, Owning, with_owning
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
from perfledger_service.usecases.costing import FAMILIES, compare_costs, cost_of_owning
from perfledger_service.usecases.translating import translated
from perfledger_service.usecases.working import Speeds, works_of

DEFAULT_ACCELERATOR = "H100-80GB"
ALL = "all"
DEFAULT_SERVER = "onprem-8xH100"
DEFAULT_RESTART = 5.0  # minutes
MINUTES_PER_HOUR = 60


@with_owning
def cost_compare(
    accelerator: Annotated[
        list[str] | None,
        typer.Option(help='as on the price sheet (H100-80GB), or "all"; repeatable'),
    ] = None,
    *,
    owning: Owning,
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
    question = replace(
        owning.question,
        accelerators=FAMILIES if ALL in named else tuple(dict.fromkeys(named)),
        interruptions=_interruptions(interruptions, save, restart, fallback),
        fallback_share=fallback / 100,
        job_h=job_hours,
        works=works,
    )
    found = compare_costs(owning.books, question)
    match owning.form:
        case CostFormat.TABLE:
            show_table(costs_text(found), owning.output)
        case CostFormat.MARKDOWN:
            show_text(costs_markdown(found), owning.output)
        case CostFormat.JSON:
            show_text(costs_json(found), owning.output)
        case CostFormat.CSV:
            show_text(costs_csv(found), owning.output)
        case CostFormat.SVG:
            show_text(costs_svg(found), owning.output)


@with_owning
def cost_tco(
    server: Annotated[str, typer.Argument(help="onprem-8xH100 or onprem-8xA100")] = DEFAULT_SERVER,
    *,
    owning: Owning,
) -> None:
    """Say what owning a server costs a year, which input moves its useful hour most, and its NPV.

    Servers and inputs of your own come with --overrides.
    """
    found = cost_of_owning(owning.books, server, owning.question)
    match owning.form:
        case CostFormat.TABLE:
            show_table(owning_text(found), owning.output)
        case CostFormat.MARKDOWN:
            show_text(owning_markdown(found), owning.output)
        case CostFormat.JSON:
            show_text(owning_json(found), owning.output)
        case CostFormat.CSV:
            show_text(owning_csv(found), owning.output)
        case CostFormat.SVG:
            show_text(owning_svg(found), owning.output)


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
