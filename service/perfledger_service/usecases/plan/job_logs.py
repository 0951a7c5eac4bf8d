"""Reads the job logs that queue plans and simulations use."""

from dataclasses import replace

from perfledger_cost_models.job_logs.csv_rows import SkipReason
from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_cost_models.job_logs.gaps import are_few, gap_sentence, gaps_between
from perfledger_cost_models.job_logs.readers import JobLog, read_job_log, unfinished_counts
from perfledger_cost_models.job_logs.table import JobLogError
from perfledger_cost_models.review.quarter import Quarter
from perfledger_cost_models.review.quarter_jobs import quarter_jobs
from perfledger_cost_models.units import MS_PER_SECOND
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.files import NamedBytes


def job_log_of(
    file: NamedBytes, format_: LogFormat | None, quarter: Quarter | None = None
) -> JobLog:
    """Read a job log, or its jobs in a quarter, to replay them; raise UsageError.

    Every omitted row is counted once.
    """
    try:
        log = read_job_log(file.text, format_=format_)
    except JobLogError as error:
        msg = f"{file.path or file.name}: {error}"
        raise UsageError(msg) from error
    log = log if quarter is None else _of_quarter(log, quarter)
    _check_gaps(log, file)
    return log


def _check_gaps(log: JobLog, file: NamedBytes) -> None:
    if not are_few(log.gaps, seconds=int(log.jobs.submit_ms.max(initial=0)) / MS_PER_SECOND):
        msg = (
            f"{file.path or file.name}: {gap_sentence(log.gaps)} A replay would run these hours on "
            "idle devices. Export them as well, or give only the jobs before or after them."
        )
        raise UsageError(msg)


def _of_quarter(log: JobLog, quarter: Quarter) -> JobLog:
    jobs = quarter_jobs(log.jobs, quarter)
    end_s = jobs.start_s + int(jobs.submit_ms.max(initial=0)) / MS_PER_SECOND
    counts = dict(log.left_out) | {
        **unfinished_counts(jobs),  # only of the quarter's jobs
        SkipReason.OTHER_QUARTER: len(log.jobs) - len(jobs),
    }
    left_out = tuple((reason, count) for reason, count in counts.items() if count)
    return replace(
        log, jobs=jobs, left_out=left_out, gaps=gaps_between(log.gaps, jobs.start_s, end_s)
    )
