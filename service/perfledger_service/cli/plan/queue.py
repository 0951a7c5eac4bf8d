"""Predicts how long jobs wait for devices."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_service.cli.command import command
from perfledger_service.cli.file_or_store import Source, log_of
from perfledger_service.cli.option_groups import how, what
from perfledger_service.cli.option_values import refuse_unused
from perfledger_service.cli.output import ChartOutput
from perfledger_service.cli.plan.job_log_flags import JobLog, JobLogFormat
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # this would make every help slow
    from perfledger_cost_models.queueing.server_count import WaitTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFlags:
    """The acceptable wait."""

    max_wait_minutes: Annotated[
        float | None, how("the longest acceptable wait", metavar="MINUTES")
    ] = None
    wait_percentile: Annotated[
        float, how("percent of jobs that must not wait longer than this", metavar="PERCENT")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayFlags:
    """The replay of a log."""

    devices_per_node: Annotated[
        int | None,
        how("devices of each node", metavar="COUNT", default="8, or a divisor that fits --devices"),
    ] = None
    policy: Annotated[
        str | None,
        how(
            "a policy of `plan simulate`",
            metavar="POLICY",
            default="the one closest to the recorded waits, else fifo",
        ),
    ] = None


@command(
    examples=(
        "perfledger plan queue --devices 16 --arrivals-per-hour 10 --service-minutes 60",
        "perfledger plan queue jobs.csv --devices 8 --max-wait-minutes 30",
        "perfledger plan queue jobs.csv --policy easy --format svg --output waits.svg",
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
    devices: Annotated[
        int | None,
        how(
            "all devices that the jobs share",
            metavar="COUNT",
            default="those in use in the log; 8 without a log",
        ),
    ] = None,
    replay: ReplayFlags,
    wait: WaitFlags,
    output: ChartOutput,
) -> None:
    """Predict how long jobs wait for a number of devices, and how many are enough.

    With a log, it shows the recorded waits and replays the log to find how many devices are enough.
    Without one, it uses a formula (M/M/c) for random arrivals of jobs that need one device.
    """
    from perfledger_service.rendering.plan.log_queue import log_queue_document
    from perfledger_service.rendering.plan.queue import queue_document
    from perfledger_service.rendering.plan.wait_plot import log_queue_svg, queue_svg
    from perfledger_service.usecases.plan.queue import plan_log_queue, plan_queue

    if log is None and source is None:
        options = {
            "--log-format": log_format is not None,
            "--devices-per-node": replay.devices_per_node is not None,
            "--policy": replay.policy is not None,
        }
        refuse_unused(options, "only a job log is replayed: give one, or leave these out")
        plan = plan_queue(
            per_hour=arrivals_per_hour,
            service_s=None if service_minutes is None else service_minutes * SECONDS_PER_MINUTE,
            devices=devices,
            target=wait.target,
        )
        output.write_document(plan, queue_document, svg=queue_svg)
        return
    if arrivals_per_hour is not None or service_minutes is not None:
        msg = "a job log has its own rates: leave out --arrivals-per-hour and --service-minutes"
        raise UsageError(msg)
    log_plan = plan_log_queue(
        log_of(log, source),
        format_=log_format,
        devices=devices,
        per_node=replay.devices_per_node,
        policy=replay.policy,
        target=wait.target,
    )
    output.write_document(log_plan, log_queue_document, svg=log_queue_svg)
