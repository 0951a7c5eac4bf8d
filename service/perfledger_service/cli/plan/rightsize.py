"""Sizes devices for a latency objective."""

from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.file_or_store import LatencyMetric, Source, curves_of
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.option_values import today
from perfledger_service.cli.output import ChartOutput
from perfledger_service.cli.price_flags import PriceFlags
from perfledger_service.errors import UsageError

# For a service whose rate grows by a tenth an hour and that needs two hours to add capacity.
DEFAULT_HEADROOM_PERCENT = 20.0


@command(
    examples=(
        "perfledger plan rightsize curve.json --p99 80ms --request-rate 120",
        (
            "perfledger plan rightsize H100-80GB=vllm.json --p99 2s --request-rate 4 "
            "--latency-metric ttft"
        ),
        "perfledger plan rightsize --source main --p99 80ms --request-rate 120 --json",
    )
)
def rightsize(
    curves: Annotated[
        list[str] | None,
        argument(
            "load curves: FILE, or DEVICE=FILE, 2xDEVICE=FILE, 1/4xDEVICE=FILE", metavar="CURVE"
        ),
    ] = None,
    *,
    source: Source = None,
    p99: Annotated[
        str, what("latency objective of 99 % of the requests: 80ms, 1.5s", metavar="LATENCY")
    ],
    request_rate: Annotated[
        float, what("requests per second, all replicas together", metavar="RATE")
    ],
    latency_metric: LatencyMetric = None,
    headroom_percent: Annotated[
        float,
        how("growth of the rate that needs no further replicas", metavar="PERCENT"),
    ] = DEFAULT_HEADROOM_PERCENT,
    purchase_option: Annotated[
        list[str] | None,
        how(
            "an option, such as p5.48xlarge/on_demand; repeatable",
            metavar="OPTION",
            default="all on-demand ones",
        ),
    ] = None,
    price_flags: PriceFlags,
    output: ChartOutput,
) -> None:
    """Find the cheapest devices and configuration that meet a P99 latency at a request rate.

    The result is "undecided" if the measurements are too noisy; it then shows what to measure.
    """
    from perfledger_service.rendering.plan.rightsize import sizing_document
    from perfledger_service.rendering.plan.rightsize_plot import sizing_svg
    from perfledger_service.usecases.plan.rightsize import demand_of, rightsize as size_replicas

    demand = demand_of(
        rate_per_second=request_rate, p99_s=_seconds(p99), headroom=headroom_percent / 100
    )
    output.write_document(
        size_replicas(
            curves_of(curves or (), source, latency_metric=latency_metric),
            price_flags.books,
            demand,
            options=purchase_option or (),
            today=today(),
        ),
        sizing_document,
        svg=sizing_svg,
    )


def _seconds(text: str) -> float:
    from perfledger_service.settings.check import seconds

    try:
        return seconds(text.lower())
    except ValueError as error:
        msg = f"--p99 is {text[:40]!r}: write 80ms or 1.5s"
        raise UsageError(msg) from error
