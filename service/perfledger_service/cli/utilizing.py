"""The command about how well devices are used: by whom, what was idle, what a target would free."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfledger_cost_models.activity import Level, Signal
from perfledger_service.cli.checking import Output
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.pages.utilization_plot import utilization_svg
from perfledger_service.pages.utilized import (
    utilization_csv,
    utilization_json,
    utilization_text,
)
from perfledger_service.usecases.utilizing import utilization_at

# What teams that manage it commonly aim at; beyond it jobs wait for each other.
DEFAULT_TARGET = 0.7


class UtilizationFormat(StrEnum):
    """How utilization is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    SVG = "svg"


def cost_utilization(
    files: Annotated[
        list[Path],
        typer.Argument(help="exports of Prometheus, sacct, CloudWatch, Cloud Monitoring, W&B"),
    ],
    *,
    by: Annotated[Level, typer.Option(help="whose utilization")] = Level.TEAM,
    signal: Annotated[
        Signal | None, typer.Option(help="what is taken for use; GPU-util where it is known")
    ] = None,
    target: Annotated[
        float, typer.Option(help="what would going there free: a share of the hours")
    ] = DEFAULT_TARGET,
    at: Annotated[
        str | None, typer.Option(help="where a device-hour is bought: p5.48xlarge/on_demand")
    ] = None,
    form: Annotated[
        UtilizationFormat, typer.Option("--format", help="how to write it")
    ] = UtilizationFormat.TABLE,
    output: Output = None,
) -> None:
    """Say how well devices are used, by whom, and what could be given back, with the evidence.

    Several files are put together, such as one for each metric; they must not tell the same of one
    device twice. What is missing stays unknown and is never taken for idle.
    """
    found = utilization_at(
        files,
        level=by,
        signal=signal,
        target=target,
        option=at,
        today=datetime.now(UTC).date(),
    )
    match form:
        case UtilizationFormat.TABLE:
            show_table(utilization_text(found), output)
        case UtilizationFormat.JSON:
            show_text(utilization_json(found), output)
        case UtilizationFormat.CSV:
            show_text(utilization_csv(found), output)
        case UtilizationFormat.SVG:
            show_text(utilization_svg(found), output)
