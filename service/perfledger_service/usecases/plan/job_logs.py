"""Reads the job logs that queue plans and simulations use."""

from dataclasses import replace

from perfledger_cost_models.job_logs.csv_rows import SkipReason
from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_cost_models.job_logs.readers import JobLog, read_job_log, unfinished_counts
from perfledger_cost_models.job_logs.table import JobLogError
from perfledger_cost_models.review.quarter import Quarter
from perfledger_cost_models.review.quarter_jobs import quarter_jobs
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.files import NamedBytes


def job_log_of(
    file: NamedBytes, format_: LogFormat | None, quarter: Quarter | None = None
) -> JobLog:
    """Read a job log, or its jobs in a quarter; raise UsageError.

    Every omitted row is counted once.
    """
    try:
        log = read_job_log(file.text, format_=format_)
    except JobLogError as error:
        msg = f"{file.path or file.name}: {error}"
        raise UsageError(msg) from error
    if quarter is None:
        return log
    jobs = quarter_jobs(log.jobs, quarter)
    counts = dict(log.left_out) | {
        **unfinished_counts(jobs),  # only of the quarter's jobs
        SkipReason.OTHER_QUARTER: len(log.jobs) - len(jobs),
    }
    left_out = tuple((reason, count) for reason, count in counts.items() if count)
    return replace(log, jobs=jobs, left_out=left_out)
