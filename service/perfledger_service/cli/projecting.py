"""The command that projects a workload onto devices that it was not measured on."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfledger_service.cli.checking import Output
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.projected import (
    projection_csv,
    projection_json,
    projection_svg,
    projection_text,
)
from perfledger_service.usecases.elsewhere import project_costs
from perfledger_service.usecases.projecting import (
    declared_subject,
    is_declared,
    measured_subject,
)
from perfledger_service.usecases.work_rates import PEAK_DTYPE


class ProjectionFormat(StrEnum):
    """How a projection is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    SVG = "svg"


def project(
    workload: Annotated[
        str,
        typer.Argument(
            help="a bundle, a TOML file of declared workloads, or a benchmark: training/bert"
        ),
    ],
    *,
    name: Annotated[
        str, typer.Option("--workload", help="which one, where there are several")
    ] = "",
    source: Annotated[
        str, typer.Option("--from", help="the device it runs on; a bundle says so itself")
    ] = "",
    targets: Annotated[
        list[str] | None,
        typer.Option("--to", help="A100-80GB, h100-sxm5-80gb, TPU-v4, ...; repeatable"),
    ] = None,
    units_per_second: Annotated[
        float | None, typer.Option(help="of one device it runs on; a bundle says so itself")
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(help=f"what a bundle's workload computes in (default: {PEAK_DTYPE})"),
    ] = None,
    form: Annotated[
        ProjectionFormat, typer.Option("--format", help="how to write it; svg draws")
    ] = ProjectionFormat.TABLE,
    output: Output = None,
) -> None:
    """Say how fast and how dear a workload would be on devices that it was not measured on.

    Projected by roofline, with an interval that published results tell; never measured.
    """
    if is_declared(workload):
        if dtype is not None:
            msg = "--dtype is for bundles: a declared workload says what it computes in"
            raise UsageError(msg)
        subject = declared_subject(
            workload, name=name, source=source, units_per_second=units_per_second
        )
    else:
        if source or units_per_second is not None:
            msg = (
                f"{workload} says itself where it ran and how fast: leave --from and the speed out"
            )
            raise UsageError(msg)
        subject = measured_subject(Path(workload), name=name, dtype=dtype or PEAK_DTYPE)
    found = project_costs(subject, targets=targets or (), today=datetime.now(UTC).date())
    match form:
        case ProjectionFormat.TABLE:
            show_table(projection_text(found), output)
        case ProjectionFormat.JSON:
            show_text(projection_json(found), output)
        case ProjectionFormat.CSV:
            show_text(projection_csv(found), output)
        case ProjectionFormat.SVG:
            show_text(projection_svg(found), output)
