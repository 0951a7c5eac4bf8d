"""Replays a job log under policies that choose accelerator and number of devices."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from perfledger_cost_models.csv_table import MAX_SHEET_CHARS
from perfledger_cost_models.elastic_scheduling.allocation import ElasticPolicy
from perfledger_cost_models.elastic_scheduling.comparison import ElasticComparison
from perfledger_cost_models.elastic_scheduling.job_speeds import read_speeds
from perfledger_cost_models.elastic_scheduling.simulation import (
    elastic_jobs,
    simulate_elastic,
)
from perfledger_cost_models.job_logs.csv_rows import SkipReason
from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_cost_models.job_logs.readers import JobLog, unfinished_counts
from perfledger_cost_models.job_logs.table import MAX_DEVICES
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.tco.hourly_rates import rate_of
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import NamedBytes, errors_about, read_text
from perfledger_service.usecases.inputs.price_books import PriceBooks
from perfledger_service.usecases.plan.job_logs import job_log_of

_NO_JOBS = frozenset({SkipReason.STEP, SkipReason.OTHER_KIND})
_CLASS_COUNT = re.compile(r"(?P<name>.+)=(?P<count>[1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticCluster:
    """The devices of each accelerator, job behaviour on each, and the accelerator of the log."""

    devices: Sequence[str]  # ACCELERATOR=COUNT
    speeds: Path
    recorded_on: str  # "" is the first accelerator
    restart_s: float


@translate_errors()
def compare_elastic(
    file: NamedBytes,
    cluster: ElasticCluster,
    books: PriceBooks,
    options: Sequence[str],
    *,
    format_: LogFormat | None,
    today: date,
) -> ElasticComparison:
    """Replay a job log under every elastic policy; raises UsageError and NotFoundError."""
    devices = dict(map(_class_of, cluster.devices))
    if len(devices) < len(cluster.devices):
        msg = "--capacity names an accelerator twice: give the sum"
        raise UsageError(msg)
    recorded_on = cluster.recorded_on or next(iter(devices))
    with errors_about(cluster.speeds):
        text = read_text(cluster.speeds, most_bytes=4 * MAX_SHEET_CHARS)
        speeds = read_speeds(text, cluster.speeds.name)
    for name in (*devices, recorded_on):
        if name not in speeds.accelerators:
            names = ", ".join(speeds.accelerators)
            msg = f"no speed on {name!r} in {cluster.speeds}: it has {names}"
            raise UsageError(msg)
    log = job_log_of(file, format_)
    job_set = elastic_jobs(log.jobs, speeds, recorded_on=recorded_on, devices=devices)
    rates = tuple(_rate(books, option, devices, today) for option in options)
    return ElasticComparison(
        log=file.name,
        jobs=len(job_set.jobs),
        left_out=job_set.left_out + _jobs_outside_the_table(log),
        gaps=log.gaps,
        devices=tuple(devices.items()),
        outcomes=tuple(
            simulate_elastic(job_set.jobs, devices, policy, restart_s=cluster.restart_s)
            for policy in ElasticPolicy
        ),
        rates=rates,
    )


def _jobs_outside_the_table(log: JobLog) -> int:
    """Return the jobs that were left out when the log was read; job steps do not count."""
    rows = sum(count for reason, count in log.left_out if reason not in _NO_JOBS)
    return rows - sum(unfinished_counts(log.jobs).values())


def _class_of(text: str) -> tuple[str, int]:
    match = _CLASS_COUNT.fullmatch(text)
    if match is None or int(match["count"]) > MAX_DEVICES:
        msg = f"--capacity {text[:80]!r}: give ACCELERATOR=COUNT, such as A100-80GB=16"
        raise UsageError(msg)
    return match["name"], int(match["count"])


def _rate(books: PriceBooks, option: str, devices: dict[str, int], today: date) -> HourlyRate:
    rate = rate_of(books.sheet, option, today=today)
    if rate.accelerator not in devices:
        msg = f"{option} is a price of {rate.accelerator}: there are {', '.join(devices)}"
        raise UsageError(msg)
    return rate
