"""Commands about queues: how long jobs wait, and what another policy or more devices would do."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfledger_cost_models.filling import Filling
from perfledger_cost_models.job_log import LogFormat
from perfledger_cost_models.jobs import JobLogError
from perfledger_cost_models.policy_gain import PolicyComparison
from perfledger_cost_models.queue_plan import Target
from perfledger_cost_models.reservation import Reservation
from perfledger_cost_models.scheduling import Locality, Passing, Placement, Preemption, Sharing
from perfledger_service.cli.checking import Output
from perfledger_service.cli.inputs import Store, given_log
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.scheduled import (
    filling_csv,
    filling_json,
    filling_text,
    policies_csv,
    policies_json,
    policies_text,
    queue_csv,
    queue_json,
    queue_text,
)
from perfledger_service.pages.wait_plot import filling_svg, policies_svg, queue_svg
from perfledger_service.usecases.scheduling import (
    Hardware,
    Setting,
    compare_policies,
    fill_cluster,
    plan_queue,
)

# What most clusters do, and the three that the literature compares it with.
DEFAULT_POLICIES = ("fifo", "easy", "srtf", "fair")
_RESERVATION_PARTS = 4
# What filling an empty cluster makes no use of.
_OF_REPLAY = (
    *("--policy", "--at", "--reserve", "--turn", "--checkpoint", "--passing", "--preemption"),
    *("--locality", "--sharing"),
)


class ScheduleFormat(StrEnum):
    """How waits are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    SVG = "svg"


_Log = Annotated[
    Path | None,
    typer.Argument(help="a job log: SWF, sacct, kubectl, Prometheus, Philly's JSON, or CSV"),
]
_LogFormat = Annotated[
    LogFormat | None, typer.Option("--log-format", help="without it the first line says which")
]
_Devices = Annotated[int, typer.Option(help="devices of a node, or of the queue")]
_Form = Annotated[ScheduleFormat, typer.Option("--format", help="how to write it")]


def cost_queue(
    log: Annotated[Path | None, typer.Argument(help="a job log, in place of the rates")] = None,
    *,
    store: Store = None,
    devices: _Devices = 8,
    arrivals: Annotated[float | None, typer.Option(help="devices wanted an hour")] = None,
    service: Annotated[float | None, typer.Option(help="minutes that one is wanted for")] = None,
    wait: Annotated[float | None, typer.Option(help="minutes that one may wait at most")] = None,
    share: Annotated[float, typer.Option(help="percent that may wait no longer")] = 95.0,
    log_format: _LogFormat = None,
    form: _Form = ScheduleFormat.TABLE,
    output: Output = None,
) -> None:
    """Say how long jobs wait for so many devices, and how many would be enough.

    M/M/c is exact for random arrivals and services; of a log, G/G/c is a screening: `cost simulate`
    decides.
    """
    is_of_log = log is not None or store is not None
    found = plan_queue(
        given_log(log, store) if is_of_log else None,
        format_=log_format,
        per_hour=arrivals,
        service_s=None if service is None else service * 60,
        devices=devices,
        target=None if wait is None else Target(wait_s=wait * 60, share=share / 100),
    )
    match form:
        case ScheduleFormat.TABLE:
            show_table(queue_text(found), output)
        case ScheduleFormat.JSON:
            show_text(queue_json(found), output)
        case ScheduleFormat.CSV:
            show_text(queue_csv(found), output)
        case ScheduleFormat.SVG:
            show_text(queue_svg(found), output)


def cost_simulate(
    log: _Log = None,
    *,
    store: Store = None,
    nodes: Annotated[int, typer.Option(help="nodes that are all alike")] = 1,
    devices: _Devices = 8,
    cluster: Annotated[
        Path | None, typer.Option(help="CSV of nodes: gpu, cpu_milli, memory_mib, model, pool")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("-p", "--policy", help="the first is held against")
    ] = None,
    placement: Annotated[
        list[Placement] | None, typer.Option(help="which node a job gets; several with --fill")
    ] = None,
    locality: Annotated[
        Locality, typer.Option(help="how far a job may be spread")
    ] = Locality.FEWEST,
    sharing: Annotated[Sharing, typer.Option(help="what part of a device is")] = Sharing.EXACT,
    turn: Annotated[
        int | None, typer.Option(help="of time-slice: seconds until others have their turn (360)")
    ] = None,
    checkpoint: Annotated[
        int | None, typer.Option(help="seconds of saving and loading (7 to 60 by devices)")
    ] = None,
    passing: Annotated[
        Passing | None, typer.Option(help="what those behind may do while the next does not fit")
    ] = None,
    preemption: Annotated[
        Preemption | None,
        typer.Option(help="of policies that preempt: what befalls who must yield"),
    ] = None,
    reserve: Annotated[
        list[str] | None,
        typer.Option(help="TEAM:NODES:HOURS:HOURS, from and to, counted from the first job"),
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="where a device-hour is bought: p5.48xlarge/on_demand")
    ] = None,
    fill: Annotated[
        float | None, typer.Option(help="fill an empty cluster up to this load, 1.3 say, instead")
    ] = None,
    seeds: Annotated[int, typer.Option(help="of --fill: how many random orders")] = 3,
    log_format: _LogFormat = None,
    form: _Form = ScheduleFormat.TABLE,
    output: Output = None,
) -> None:
    """Replay a job log under scheduling policies: waits, use, and what another would gain."""
    hardware = Hardware(file=cluster, nodes=nodes, devices=devices)
    chosen = tuple(placement or ())
    file = given_log(log, store)
    if fill is not None:
        given = (policy, at, reserve, turn, checkpoint, passing, preemption)
        changed = (locality is not Locality.FEWEST or None, sharing is not Sharing.EXACT or None)
        _check_filling((*given, *changed))
        filled = fill_cluster(
            file, hardware, chosen or tuple(Placement), format_=log_format, load=fill, seeds=seeds
        )
        _show_filling(filled, form, output)
        return
    if len(chosen) > 1:
        msg = "several placements are compared with --fill; a replay takes one"
        raise UsageError(msg)
    setting = Setting(
        placement=chosen[0] if chosen else None,
        locality=locality,
        sharing=sharing,
        reservations=tuple(map(_reservation, reserve or ())),
        seed=0,
        turn_s=turn,
        checkpoint_s=checkpoint,
        passing=passing,
        preemption=preemption,
    )
    found = compare_policies(
        file,
        hardware,
        policy or DEFAULT_POLICIES,
        setting,
        format_=log_format,
        option=at,
        today=datetime.now(UTC).date(),
    )
    _show_policies(found, form, output)


def _check_filling(values: Sequence[object]) -> None:
    """Raise UsageError where options of _OF_REPLAY have a value, in their order."""
    given = [name for name, value in zip(_OF_REPLAY, values, strict=True) if value is not None]
    if given:
        msg = f"{', '.join(given)} with --fill: that is for a replay; leave one of them out"
        raise UsageError(msg)


def _show_policies(found: PolicyComparison, form: ScheduleFormat, output: Path | None) -> None:
    match form:
        case ScheduleFormat.TABLE:
            show_table(policies_text(found), output)
        case ScheduleFormat.JSON:
            show_text(policies_json(found), output)
        case ScheduleFormat.CSV:
            show_text(policies_csv(found), output)
        case ScheduleFormat.SVG:
            show_text(policies_svg(found), output)


def _show_filling(found: tuple[Filling, ...], form: ScheduleFormat, output: Path | None) -> None:
    match form:
        case ScheduleFormat.TABLE:
            show_table(filling_text(found), output)
        case ScheduleFormat.JSON:
            show_text(filling_json(found), output)
        case ScheduleFormat.CSV:
            show_text(filling_csv(found), output)
        case ScheduleFormat.SVG:
            show_text(filling_svg(found), output)


def _reservation(text: str) -> Reservation:
    parts = text.rsplit(":", _RESERVATION_PARTS - 1)
    try:
        team, nodes, start, end = parts
        return Reservation(
            team=team,
            nodes=int(nodes),
            start_ms=round(float(start) * 3_600_000),
            end_ms=round(float(end) * 3_600_000),
        )
    except JobLogError as error:
        raise UsageError(str(error)) from error
    except (ValueError, OverflowError) as error:
        msg = f"a reservation is TEAM:NODES:HOURS:HOURS, such as vision:2:24:48, not {text[:80]!r}"
        raise UsageError(msg) from error
