"""Reports the utilization of devices."""

from pathlib import Path
from typing import Annotated

from perfledger_cost_models.telemetry.signals import OwnerLevel, Signal
from perfledger_service.cli.command import command
from perfledger_service.cli.file_or_store import PeriodFlags, Source, files_of
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.option_values import refuse_unused
from perfledger_service.cli.output import ChartOutput, Format, Output
from perfledger_service.cli.price_flags import PriceFlags
from perfledger_service.cli.server_modules import open_store
from perfledger_service.errors import UsageError

# A common target of teams that manage utilization; above it, jobs wait for each other.
DEFAULT_TARGET_PERCENT = 70.0


@command(
    examples=(
        "perfledger fleet utilization activity.csv",
        "perfledger fleet utilization activity.csv --group-by job --target-percent 80 --json",
        "perfledger fleet utilization --source main --format svg --output utilization.svg",
    )
)
def utilization(
    files: Annotated[
        list[Path] | None,
        argument("exports of Prometheus, sacct, CloudWatch, Cloud Monitoring, W&B", metavar="FILE"),
    ] = None,
    *,
    source: Source = None,
    checks: Annotated[
        bool,
        what("show the utilization that the service's checks measured instead", flag="--checks"),
    ] = False,
    period: PeriodFlags,
    group_by: Annotated[OwnerLevel, how("what to group by")] = OwnerLevel.TEAM,
    signal: Annotated[Signal | None, how("signal of use", default="gpu_util")] = None,
    target_percent: Annotated[
        float,
        how("target of utilization: shows how many hours it would free", metavar="PERCENT"),
    ] = DEFAULT_TARGET_PERCENT,
    purchase_option: Annotated[
        str | None,
        how(
            "purchase option that prices the hours, such as p5.48xlarge/on_demand", metavar="OPTION"
        ),
    ] = None,
    price_flags: PriceFlags,
    output: ChartOutput,
) -> None:
    """Report how well devices are used and by which owners, and how many could be freed.

    Several files are combined, such as one per metric, but no two may cover the same device and
    time. Missing time is unknown and never counts as idle.
    """
    from perfledger_service.rendering.fleet.utilization import utilization_document
    from perfledger_service.rendering.fleet.utilization_plot import utilization_svg
    from perfledger_service.usecases.fleet.utilization import utilization_at
    from perfledger_service.values.fleet_views import ImportKind

    if checks:
        options = {
            "FILE": bool(files),
            "--source": source is not None,
            "--start": period.start is not None,
            "--end": period.end is not None,
            "--group-by": group_by is not OwnerLevel.TEAM,
            "--signal": signal is not None,
            "--target-percent": target_percent != DEFAULT_TARGET_PERCENT,
            "--purchase-option": purchase_option is not None,
            **price_flags.flags,
        }
        refuse_unused(options, "--checks shows what the service measured: leave these out")
        _show_measured(output)
        return
    report = utilization_at(
        files_of(files or (), source, ImportKind.ACTIVITY),
        level=group_by,
        signal=signal,
        target=target_percent / 100,
        rate=price_flags.rate_of(purchase_option),
        period=period.period,
    )
    output.write_document(report, utilization_document, svg=utilization_svg)


def _show_measured(output: Output) -> None:
    from perfledger_service.rendering.fleet.measured_utilization import (
        measured_utilization_document,
    )

    if output.chosen is Format.SVG:
        msg = "--checks has no chart: the service's page /capacity has them"
        raise UsageError(msg)
    with open_store() as engine:
        from perfledger_service.usecases.fleet.capacity import read_measured_utilization

        utilization = read_measured_utilization(engine)
    output.write_document(utilization, measured_utilization_document)
