"""Replays a job log under policies that choose the accelerator and the number of devices."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.file_or_store import Source, log_of
from perfledger_service.cli.option_groups import how, what
from perfledger_service.cli.option_values import refuse_unused, today
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.plan.job_log_flags import JobLog, JobLogFormat
from perfledger_service.cli.price_flags import WITHOUT_OPTION, PriceFlags


@command(
    examples=(
        "perfledger plan elastic jobs.csv --speeds speeds.csv --capacity A100-80GB=8",
        (
            "perfledger plan elastic jobs.csv --speeds speeds.csv --capacity A100-80GB=8 "
            "--capacity H100-80GB=4 --json"
        ),
    )
)
def elastic(
    log: JobLog = None,
    *,
    source: Source = None,
    log_format: JobLogFormat = None,
    speeds: Annotated[
        Path,
        what("CSV of speeds: accelerator, devices, speed and optionally team", metavar="FILE"),
    ],
    capacity: Annotated[
        list[str],
        what("devices of an accelerator: A100-80GB=16; repeatable", metavar="ACCELERATOR=COUNT"),
    ],
    recorded_on: Annotated[
        str,
        what("accelerator that the log's jobs ran on", metavar="ACCELERATOR", default="the first"),
    ] = "",
    restart_seconds: Annotated[
        float, how("how long a job pauses when its devices change", metavar="SECONDS")
    ] = 30.0,
    purchase_option: Annotated[
        list[str] | None,
        how(
            "an option that prices an accelerator: p5.48xlarge/on_demand; repeatable",
            metavar="OPTION",
        ),
    ] = None,
    price_flags: PriceFlags,
    output: DocumentOutput,
) -> None:
    """Compare schedulers that know job speeds by accelerator and device count, and their cost.

    Gavel's time shares and Sia's elastic jobs are compared with first come, first served.
    """
    from perfledger_service.rendering.plan.elastic import elastic_document
    from perfledger_service.usecases.plan.elastic import ElasticCluster, compare_elastic

    if not purchase_option:
        refuse_unused(price_flags.flags, WITHOUT_OPTION)
    output.write_document(
        compare_elastic(
            log_of(log, source),
            ElasticCluster(
                devices=capacity,
                speeds=speeds,
                recorded_on=recorded_on,
                restart_s=restart_seconds,
            ),
            price_flags.books,
            purchase_option or (),
            format_=log_format,
            today=today(),
        ),
        elastic_document,
    )
