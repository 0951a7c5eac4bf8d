"""Reads job logs of all supported formats, and counts skipped rows."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

import msgspec
import numpy as np

from perfledger_cost_models.job_logs.csv_rows import SkipReason, csv_jobs, is_job_table
from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_cost_models.job_logs.gaps import LogGap, log_gaps
from perfledger_cost_models.job_logs.kube_state_metrics import is_samples, metrics_jobs
from perfledger_cost_models.job_logs.kubernetes import kubernetes_jobs
from perfledger_cost_models.job_logs.swf_and_sacct import (
    is_swf,
    sacct_jobs,
    swf_devices,
    swf_jobs,
)
from perfledger_cost_models.job_logs.table import Job, JobLogError, JobTable, table_of
from perfledger_cost_models.job_logs.time_columns import TimeColumns, check_seconds
from perfledger_cost_models.units import MS_PER_SECOND

MAX_LOG_BYTES = 2_000_000_000  # of a job log: years of a large cluster
# The first lines of accounting tables that are not supported.
_OTHER_ACCOUNTING = {
    "Grid Engine's qacct": re.compile(r"={20,}\s*"),
    "Grid Engine's accounting": re.compile(r"([^:,;|\t]*:){8}(\d+:){5}.*"),
    "PBS's accounting": re.compile(r"\d\d/\d\d/\d{4} [\d:]{8};[A-Z];.*"),
    "LSF's accounting": re.compile(r'"JOB_[A-Z]+" ".*'),
}
# The keys with which `sacct --json` and `squeue --json` begin; kubectl's begin with apiVersion.
_SLURM_JSON = re.compile(r'\{\s*"(jobs|meta|errors|warnings)"\s*:')


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobLog:
    """The jobs of a log, its gaps, and how many rows were skipped, by reason."""

    jobs: JobTable
    format: LogFormat
    left_out: tuple[tuple[SkipReason, int], ...]
    stated_devices: int | None  # of the recorded cluster, by the log's header
    gaps: tuple[LogGap, ...] = ()  # where rows are missing, or the cluster stood still


class _Detail(msgspec.Struct):
    gpus: list[str] = []


class _Attempt(msgspec.Struct):
    start_time: str | None = None
    end_time: str | None = None
    detail: list[_Detail] = []


class _Philly(msgspec.Struct):
    submitted_time: str | None = None
    vc: str = ""
    user: str | None = None
    jobid: str = ""
    attempts: list[_Attempt] = []


_PHILLY_LIST_DECODER = msgspec.json.Decoder(list[_Philly])


def read_job_log(text: str, *, format_: LogFormat | None = None) -> JobLog:
    """Read a job log; without `format_` its first line decides the format.

    Jobs that never ran stay in the table with an unknown time, because their requests are known.
    Raises JobLogError.
    """
    if len(text) > MAX_LOG_BYTES:
        msg = f"the job log has more than {MAX_LOG_BYTES} characters: simulate a shorter period"
        raise JobLogError(msg)
    kind = format_ or _format_of(text)
    left_out: Counter[SkipReason] = Counter()
    evident: list[LogGap] = []

    def counted_jobs() -> Iterator[Job]:
        for each in _rows(text, kind):
            if isinstance(each, Job):
                if each.run_s is None:
                    left_out[_skip_reason(each)] += 1
                yield each
            elif isinstance(each, LogGap):
                evident.append(each)
            else:
                left_out[each] += 1

    jobs = table_of(counted_jobs())
    if kind is LogFormat.CSV:
        run_ms = jobs.run_ms[jobs.run_ms >= 0]
        check_seconds(
            jobs.start_s,
            jobs.start_s + int(jobs.submit_ms[-1]) / MS_PER_SECOND,
            median_run_s=float(np.median(run_ms)) / MS_PER_SECOND if len(run_ms) else 0.0,
        )
    return JobLog(
        jobs=jobs,
        format=kind,
        left_out=tuple(sorted(left_out.items())),
        stated_devices=swf_devices(StringIO(text)) if kind is LogFormat.SWF else None,
        gaps=log_gaps(jobs, evident=evident),
    )


def unfinished_counts(jobs: JobTable) -> dict[SkipReason, int]:
    """Return how many jobs of a table have no run time, by reason."""
    is_unfinished = jobs.run_ms < 0
    is_running = is_unfinished & (jobs.wait_ms >= 0) & (jobs.devices > 0)
    running = int(is_running.sum())
    return {
        SkipReason.STILL_RUNNING: running,
        SkipReason.NEVER_RAN: int(is_unfinished.sum()) - running,
    }


def _skip_reason(job: Job) -> SkipReason:
    is_running = job.wait_s is not None and job.devices > 0
    return SkipReason.STILL_RUNNING if is_running else SkipReason.NEVER_RAN


def _format_of(text: str) -> LogFormat:
    beginning = text[:10_000].lstrip("\ufeff \r\n\t")
    first = beginning.partition("\n")[0]
    if first.startswith("["):
        return LogFormat.PHILLY
    if _SLURM_JSON.match(beginning):
        msg = (
            "the job log is JSON of sacct, which is not supported: export it with sacct "
            "--parsable2 --format=JobID,Submit,Start,End,AllocTRES,Timelimit,Account,User"
        )
        raise JobLogError(msg)
    if first.startswith("{"):
        is_answer = '"resultType"' in beginning
        return LogFormat.PROMETHEUS if is_answer else LogFormat.KUBERNETES
    if is_samples(first):
        return LogFormat.PROMETHEUS
    if is_swf(first) or (first.startswith(";") and not is_job_table(first)):
        return LogFormat.SWF
    for accounting, line in _OTHER_ACCOUNTING.items():
        if line.fullmatch(first):
            msg = (
                f"the job log is {accounting}, which is not supported: convert it to SWF, or to "
                "CSV with job_id, submit_time, start_time, end_time and gpus"
            )
            raise JobLogError(msg)
    # Without --parsable2 sacct aligns its columns with spaces; the reader's error says what to
    # export.
    words = re.split(r"[\s,;]", first)
    is_sacct = first.count("|") > first.count(",") or "JobID" in words
    return LogFormat.SACCT if is_sacct else LogFormat.CSV


def _rows(text: str, kind: LogFormat) -> Iterator[Job | LogGap | SkipReason]:
    match kind:
        case LogFormat.SWF:
            return swf_jobs(StringIO(text))
        case LogFormat.SACCT:
            return sacct_jobs(text)
        case LogFormat.PHILLY:
            return _philly_jobs(text)
        case LogFormat.KUBERNETES:
            return kubernetes_jobs(text)
        case LogFormat.PROMETHEUS:
            return metrics_jobs(text)
        case LogFormat.CSV:
            return csv_jobs(text)


def _philly_jobs(text: str) -> Iterator[Job | SkipReason]:
    """Read Philly's cluster_job_log (Jeon et al., ATC 2019): a list of jobs with their attempts.

    A job's run time is the sum of its attempts', on the devices of the first.
    """
    try:
        jobs = _PHILLY_LIST_DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        msg = f"the job log is not Philly's JSON: {error}"
        raise JobLogError(msg) from error
    times = TimeColumns()
    for number, job in enumerate(jobs, start=1):
        submit = times.seconds(job.submitted_time or "", number, "submitted_time")
        if submit is None:
            yield SkipReason.NO_SUBMISSION
            continue
        ran = [
            (start, end)
            for attempt in job.attempts
            if (start := times.seconds(attempt.start_time or "", number, "start_time")) is not None
            and (end := times.seconds(attempt.end_time or "", number, "end_time")) is not None
        ]
        first = job.attempts[0].detail if job.attempts else []
        yield Job(
            submit_s=submit,
            run_s=sum(max(end - start, 0.0) for start, end in ran) if ran else None,
            wait_s=max(ran[0][0] - submit, 0.0) if ran else None,
            devices=sum(len(each.gpus) for each in first),
            team=job.user or "",
            pool=job.vc,
            id=job.jobid,
        )
