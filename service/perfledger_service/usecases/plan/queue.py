"""Predicts the waits of a queue from a job log or from given rates."""

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.capacity.log_queue import LogQueuePlan, log_queue_plan
from perfledger_cost_models.capacity.node_shape import USUAL_DEVICES
from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_cost_models.queueing.server_count import (
    QueuePlan,
    WaitTarget,
    assumed_arrivals,
    queue_plan,
)
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import NamedBytes
from perfledger_service.usecases.plan.job_logs import job_log_of
from perfledger_service.usecases.plan.simulate import policy_named


@translate_errors()
def plan_log_queue(
    file: NamedBytes,
    *,
    format_: LogFormat | None,
    devices: int | None,
    per_node: int | None,
    policy: str | None,
    target: WaitTarget | None,
) -> LogQueuePlan:
    """Return a log's recorded waits, its replay on some devices, and how many devices are enough.

    Raises UsageError, and NotFoundError for an unknown policy.
    """
    log = job_log_of(file, format_)
    return log_queue_plan(
        log.jobs,
        log=file.name,
        left_out=tuple((str(reason), count) for reason, count in log.left_out),
        devices=devices,
        per_node=per_node,
        policy=None if policy is None else policy_named(policy),
        target=target,
        stated_devices=log.stated_devices,
        gaps=log.gaps,
    )


@translate_errors()
def plan_queue(
    *,
    per_hour: float | None,
    service_s: float | None,
    devices: int | None,
    target: WaitTarget | None,
) -> QueuePlan:
    """Return the waits of random arrivals at a rate on a number of devices; raise UsageError."""
    if per_hour is None or service_s is None:
        msg = "give a job log, or both --arrivals-per-hour and --service-minutes"
        raise UsageError(msg)
    arrivals = assumed_arrivals(arrivals_per_s=per_hour / SECONDS_PER_HOUR, service_s=service_s)
    return queue_plan(
        arrivals, devices=USUAL_DEVICES if devices is None else devices, target=target
    )
