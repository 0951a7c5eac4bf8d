"""Reads jobs from logs of batch schedulers: the Standard Workload Format and Slurm's accounting.

SWF: Feitelson, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html; times are seconds from
the log's start, which its header states, and processors count as devices.
"""

import re
from collections.abc import Iterable, Iterator
from math import inf

from perfledger_cost_models.job_logs.csv_rows import SkipReason, optional_number
from perfledger_cost_models.job_logs.gaps import LogGap
from perfledger_cost_models.job_logs.run_pieces import RunPiece, whole_jobs
from perfledger_cost_models.job_logs.table import Job, JobLogError
from perfledger_cost_models.units import MEBI
from perfledger_cost_models.usage.device_spans import UsageFileError
from perfledger_cost_models.usage.sacct import SacctRow, amounts_of, duration_s, gpus_of, sacct_rows
from perfledger_profiles.parsing.text_table import checked_lines

SWF_FIELD_NAMES = (
    *("job number", "submit time", "wait time", "run time", "allocated processors"),
    *("average CPU time", "used memory", "requested processors", "requested time"),
    *("requested memory", "status", "user", "group", "executable", "queue", "partition"),
    *("preceding job", "think time"),
)
SWF_FIELDS = len(SWF_FIELD_NAMES)
# A job that was swapped out has a line for each part of its run, beside the line with the sum.
_PARTIAL = frozenset({"2", "3", "4"})
_SACCT_COLUMNS = ("JobID", "Submit", "Start", "End")
_START_TIME = re.compile(r";\s*UnixStartTime:\s*(\d{1,10})\s*")
_DEVICES = re.compile(r";\s*MaxProcs:\s*(\d{1,7})\s*")
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?")
_NO_LIMIT = frozenset({"", "UNLIMITED", "Partition_Limit", "INVALID"})


def is_swf(line: str) -> bool:
    """Return whether a line is that of a job in the Standard Workload Format."""
    words = line.split()
    return len(words) >= SWF_FIELDS and all(_NUMBER.fullmatch(word) for word in words[:SWF_FIELDS])


def swf_devices(lines: Iterable[str]) -> int | None:
    """Return the processors that the header states (MaxProcs); None without a usable number."""
    for line in checked_lines(lines, "the job log", error=JobLogError):
        if line.strip() and not line.startswith(";"):
            return None
        if header := _DEVICES.fullmatch(line):
            return int(header[1]) or None
    return None


def swf_jobs(lines: Iterable[str]) -> Iterator[Job | SkipReason]:
    """Read the Standard Workload Format: 18 numbers a line or more, comments after ";".

    -1 is unknown, and further fields are ignored.

    A processor is a device. The team is the group, else the user; the pool is the partition.
    Submissions before the header's UnixStartTime are relative to it. Raises JobLogError.
    """
    start_s = 0
    checked = checked_lines(lines, "the job log", error=JobLogError)
    for number, line in enumerate(checked, start=1):
        if header := _START_TIME.fullmatch(line):
            start_s = int(header[1])
        words = line.partition(";")[0].split()
        if not words:
            continue
        if len(words) < SWF_FIELDS:  # some archives append fields of their own
            msg = f"the job log, line {number}: {len(words)} fields, but SWF has {SWF_FIELDS}"
            raise JobLogError(msg)
        if words[10] in _PARTIAL:
            yield SkipReason.STEP
            continue
        fields = [
            optional_number(word, number, name)
            for name, word in zip(SWF_FIELD_NAMES, words, strict=False)
        ]
        _, submit, wait, run, used, _, _, requested, limit, *_ = fields
        if submit is None or submit < 0:
            yield SkipReason.NO_SUBMISSION
            continue
        devices = requested if requested is not None and requested > 0 else used
        group, user = words[12], words[11]
        run_s = _non_negative(run) if devices is not None and devices > 0 else None
        yield Job(
            submit_s=submit + start_s if submit < start_s else submit,
            run_s=run_s,
            wait_s=None if run_s is None else _non_negative(wait),  # until it was cancelled
            limit_s=_non_negative(limit),
            devices=round(max(devices or 0, 0)),
            team=f"group {group}" if group != "-1" else f"user {user}",
            pool="" if words[15] == "-1" else words[15],
            id="" if words[0] == "-1" else words[0],
        )


def sacct_jobs(text: str) -> Iterator[Job | LogGap | SkipReason]:
    """Read `sacct --parsable2` with the columns JobID, Submit, Start and End.

    Eligible, AllocTRES (else ReqTRES), State, Timelimit, Priority, Account, User and Partition are
    optional. The pieces of a run that --truncate cut are one job, and stretches
    that lie between them are gaps. Raises JobLogError.
    """
    pieces: list[RunPiece] = []
    try:
        for row in sacct_rows(text, "the job log", _SACCT_COLUMNS):
            if row.step:
                yield SkipReason.STEP
            elif row.submit is None:
                yield SkipReason.NO_SUBMISSION
            else:
                pieces.append(_piece(row, row.submit))
    except UsageFileError as error:
        raise JobLogError(str(error)) from error
    yield from whole_jobs(pieces)


def _piece(row: SacctRow, submit: float) -> RunPiece:
    tres = row.get("AllocTRES") or row.get("ReqTRES")
    amounts, gpus = amounts_of(tres), gpus_of(tres)
    arrival = _arrival_s(row, submit)
    start, end = (None, None) if _never_began(row) else (row.start, row.end)
    job = Job(
        submit_s=arrival,
        run_s=None if start is None or end is None else end - start,
        wait_s=None if start is None or start < arrival else start - arrival,
        limit_s=_limit(row),
        devices=gpus.count,
        share_milli=gpus.share_milli,
        cpu_milli=round(amounts.get("cpu", 0) * 1000),
        memory_mib=round(amounts.get("mem", 0) / MEBI),
        priority=round(optional_number(row.get("Priority"), row.line, "Priority") or 0),
        team=row.get("Account") or row.get("User"),
        pool=row.get("Partition"),
        id=f"{row.get('Cluster')}/{row.get('JobID')}",
    )
    return RunPiece(job, submit, inf if start is None else start, end)


def _never_began(row: SacctRow) -> bool:
    """Return whether Start is only where the wait ended: cancelled, or the export's end.

    Slurm then shows Start = End (as_mysql_jobacct_process.c), and has allocated nothing.
    """
    if row.start is None or row.start != row.end:
        return False
    is_unallocated = "AllocTRES" in row.cells and not row.get("AllocTRES")
    return is_unallocated or row.get("State").startswith("PENDING")


def _arrival_s(row: SacctRow, submit: float) -> float:
    """Return when a job began to wait for devices, and not for other jobs, a date or a release."""
    if row.eligible is None or (row.start is not None and row.eligible > row.start):
        return submit
    return max(submit, row.eligible)


def _limit(row: SacctRow) -> float | None:
    text = row.get("Timelimit")
    if text in _NO_LIMIT:
        return None
    seconds = duration_s(text)
    if seconds is None:
        msg = f"{row.where}: {text[:40]!r} is not a time limit: correct it"
        raise JobLogError(msg)
    return seconds


def _non_negative(number: float | None) -> float | None:
    return None if number is None or number < 0 else number
