"""Predicts how long jobs wait for devices."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from perfledger_cost_models.units import SECONDS_PER_MINUTE
from perfledger_service.cli.command import command
from perfledger_service.cli.file_or_store import Source, log_of
from perfledger_service.cli.option_groups import how, what
from perfledger_service.cli.output import ChartOutput
from perfledger_service.cli.plan.job_log_flags import JobLog, JobLogFormat

if TYPE_CHECKING:  # this would make every help slow
    from perfledger_cost_models.queueing.server_count import WaitTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFlags:
    """The acceptable wait."""

    max_wait_minutes: Annotated[
        float | None, how("the longest acceptable wait", metavar="MINUTES")
    ] = None
    wait_percentile: Annotated[
        float, how("percent of jobs that wait no longer", metavar="PERCENT")
    ] = 95.0

    @property
    def target(self) -> "WaitTarget | None":
        """Return the target, None without a maximum wait."""
        from perfledger_cost_models.queueing.server_count import WaitTarget

        if self.max_wait_minutes is None:
            return None
        return WaitTarget(
            wait_s=self.max_wait_minutes * SECONDS_PER_MINUTE, share=self.wait_percentile / 100
        )


@command(
    examples=(
        "perfledger plan queue --devices 16 --arrivals-per-hour 10 --service-minutes 60",
        "perfledger plan queue jobs.csv --devices 8 --max-wait-minutes 30",
        "perfledger plan queue jobs.csv --format svg --output waits.svg",
    )
)
def queue(
    log: JobLog = None,
    *,
    source: Source = None,
    log_format: JobLogFormat = None,
    arrivals_per_hour: Annotated[
        float | None, what("devices requested per hour, instead of a log", metavar="RATE")
    ] = None,
    service_minutes: Annotated[
        float | None,
        what("mean time that a device is allocated, instead of a log", metavar="MINUTES"),
    ] = None,
    devices: Annotated[int, how("all devices that the jobs share", metavar="COUNT")] = 8,
    wait: WaitFlags,
    output: ChartOutput,
) -> None:
    """Predict how long jobs wait for a number of devices, and how many are enough.

    M/M/c is exact for random arrivals and exponential services. For a log, G/G/c is a rough
    screening: use `plan simulate` to decide.
    """
    from perfledger_service.rendering.plan.queue import queue_document
    from perfledger_service.rendering.plan.wait_plot import queue_svg
    from perfledger_service.usecases.plan.queue import plan_queue

    service = service_minutes
    output.write_document(
        plan_queue(
            log_of(log, source) if log is not None or source is not None else None,
            format_=log_format,
            per_hour=arrivals_per_hour,
            service_s=None if service is None else service * SECONDS_PER_MINUTE,
            devices=devices,
            target=wait.target,
        ),
        queue_document,
        svg=queue_svg,
    )
