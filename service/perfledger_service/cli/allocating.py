"""The command that says who pays which part of a bill."""

from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfledger_cost_models.held_hours import Days
from perfledger_service.cli.checking import Output
from perfledger_service.cli.inputs import Store, given_files
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.allocated import allocation_csv, allocation_json, allocation_text
from perfledger_service.pages.allocation_focus import allocation_focus
from perfledger_service.pages.heat_plot import heat_svg
from perfledger_service.usecases.allocating import Paid, Told, allocate_cost, hours_by_team
from perfledger_service.views import ImportKind

Day = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"])]


class AllocationFormat(StrEnum):
    """How an allocation is written; svg is the heat map of hours by team and week."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    SVG = "svg"


def cost_allocate(
    usage: Annotated[
        list[Path] | None,
        typer.Argument(help="who used what: sacct, Prometheus, Kubernetes or a FOCUS bill in CSV"),
    ] = None,
    *,
    store: Store = None,
    bill: Annotated[
        Path | None, typer.Option(help="what was paid: FOCUS 1.0 to 1.2, CSV or Parquet")
    ] = None,
    team_tag: Annotated[
        str, typer.Option(help="of a bill without usage files: the tag that says whose a row is")
    ] = "",
    amount: Annotated[str | None, typer.Option(help="in place of a bill: USD paid")] = None,
    devices: Annotated[int | None, typer.Option(help="that the amount was paid for")] = None,
    overhead: Annotated[str, typer.Option(help="USD paid besides, shared by use")] = "0",
    team: Annotated[str, typer.Option(help="the label that names a job's team")] = "",
    project: Annotated[str, typer.Option(help="the label that names its project")] = "",
    entitlement: Annotated[
        Path | None, typer.Option(help="CSV team[,project],hours: who pays what stood idle")
    ] = None,
    start: Day = None,
    end: Day = None,
    focus: Annotated[
        Path | None, typer.Option(help="write the rows in FOCUS 1.2 into this file, too")
    ] = None,
    form: Annotated[
        AllocationFormat, typer.Option("--format", help="how to write it; svg: hours by week")
    ] = AllocationFormat.TABLE,
    output: Output = None,
) -> None:
    """Say who pays what of a bill: devices used, idle and shared, by team and project.

    Rows sum to the bill to the cent. Use that nothing says the owner of is a row of its own.
    """
    is_told = bool(usage) or store is not None  # a bill alone is shared by its own teams
    files = given_files(usage or (), store, ImportKind.USAGE) if is_told else ()
    told = Told(files=files, team=team, project=project)
    days = _days(start, end)
    if form is AllocationFormat.SVG:
        if focus is not None:
            msg = "--focus goes with another --format: the heat map has hours and no money"
            raise UsageError(msg)
        show_text(heat_svg(hours_by_team(told, days=days)), output)
        return
    paid = Paid(
        bill=bill,
        team_tag=team_tag,
        amount=None if amount is None else _usd(amount, "--amount"),
        devices=devices,
        overhead=_usd(overhead, "--overhead"),
    )
    found = allocate_cost(paid, told, days=days, entitlement=entitlement)
    if focus is not None:
        show_text(allocation_focus(found), focus)
    match form:
        case AllocationFormat.TABLE:
            show_table(allocation_text(found), output)
        case AllocationFormat.JSON:
            show_text(allocation_json(found), output)
        case AllocationFormat.CSV:
            show_text(allocation_csv(found), output)


def _days(start: datetime | None, end: datetime | None) -> Days | None:
    if start is None and end is None:
        return None
    if start is None or end is None or end <= start:
        msg = "--start and --end go together: give both days, the end exclusive and after the start"
        raise UsageError(msg)
    return Days(start.date(), end.date())


def _usd(text: str, option: str) -> Decimal:
    try:
        usd = Decimal(text)
    except InvalidOperation:
        usd = Decimal("NaN")
    if not usd.is_finite():
        msg = f"{option} is {text[:40]!r}: give USD as a number, such as 12345.67"
        raise UsageError(msg)
    return usd
