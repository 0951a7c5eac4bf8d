"""Estimates fault rates from counted faults."""

from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import how, what
from perfledger_service.cli.output import DocumentOutput


@command(
    examples=(
        "perfledger fleet faults --faults 419 --devices 16384 --days 54",
        "perfledger fleet faults --faults 3 --devices 512 --days 365 --fleet-devices 2048 --json",
    )
)
def faults(
    *,
    faults: Annotated[int, what("number of observed faults", metavar="COUNT")],
    devices: Annotated[int, what("number of observed devices", metavar="COUNT")],
    days: Annotated[float, what("length of the observation", metavar="DAYS")],
    fleet_devices: Annotated[
        int | None,
        what("devices of the fleet to plan for", metavar="COUNT", default="the observed devices"),
    ] = None,
    confidence_percent: Annotated[
        float, how("confidence of the intervals", metavar="PERCENT")
    ] = 95.0,
    output: DocumentOutput,
) -> None:
    """Estimate fault rate, time between faults and yearly replacements, with exact intervals."""
    from perfledger_service.rendering.fleet.faults import faults_document
    from perfledger_service.usecases.fleet.faults import observed_faults

    output.write_document(
        observed_faults(
            faults,
            devices=devices,
            days=days,
            fleet_devices=devices if fleet_devices is None else fleet_devices,
            confidence_percent=confidence_percent,
        ),
        faults_document,
    )
