"""Predicts the waits of a queue from a job log or from given rates."""

from perfledger_cost_models.job_logs.log_format import LogFormat
from perfledger_cost_models.queueing.arrival_statistics import ArrivalStatistics, arrivals_of
from perfledger_cost_models.queueing.server_count import (
    QueuePlan,
    WaitTarget,
    assumed_arrivals,
    queue_plan,
)
from perfledger_cost_models.units import SECONDS_PER_HOUR
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import NamedBytes
from perfledger_service.usecases.plan.job_logs import job_log_of


def plan_queue(
    file: NamedBytes | None,
    *,
    format_: LogFormat | None,
    per_hour: float | None,
    service_s: float | None,
    devices: int,
    target: WaitTarget | None,
) -> QueuePlan:
    """Return the waits of a log's arrivals, or of a given rate, on a number of devices.

    Raises UsageError.
    """
    with translate_errors():
        return queue_plan(
            _arrivals(file, format_, per_hour, service_s), devices=devices, target=target
        )


def _arrivals(
    file: NamedBytes | None,
    format_: LogFormat | None,
    per_hour: float | None,
    service_s: float | None,
) -> ArrivalStatistics:
    if file is not None and per_hour is None and service_s is None:
        return arrivals_of(job_log_of(file, format_).jobs)
    if file is None and per_hour is not None and service_s is not None:
        return assumed_arrivals(arrivals_per_s=per_hour / SECONDS_PER_HOUR, service_s=service_s)
    msg = "give a job log, or both --arrivals-per-hour and --service-minutes"
    raise UsageError(msg)
