"""Logs of batch schedulers into jobs: the Standard Workload Format and `sacct --parsable2`.

SWF: Feitelson, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html; times are seconds from
the log's start, processors are what is scheduled. sacct: https://slurm.schedmd.com/sacct.html.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from perfledger_cost_models.job_columns import LeftOut, bounded, number_of, seconds_of
from perfledger_cost_models.jobs import MAX_NAME, Job, JobLogError

SWF_FIELDS = 18
# Of a job that was swapped out each stretch has a line, beside the one that sums them up.
_PARTIAL = frozenset({"2", "3", "4"})
_SACCT_COLUMNS = ("JobID", "Submit", "Start", "End")
# `gres/gpu=8`, or by model: `gres/gpu:h100=8`; without any the job has none.
_TRES = re.compile(r"(?:^|,)(cpu|mem|gres/gpu(?::[^=,]*)?)=([0-9.]+)([KMGTP]?)")
_MIB = {"": 1 / 2**20, "K": 1 / 2**10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}
_LIMIT = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")
_NO_LIMIT = frozenset({"", "UNLIMITED", "Partition_Limit", "INVALID"})


def swf_jobs(lines: Iterable[str]) -> Iterator[Job | LeftOut]:
    """Read the Standard Workload Format: 18 numbers a line, comments after ";", -1 is unknown.

    A processor is a device. The team is the group, else the user; the pool is the partition.
    Raises JobLogError.
    """
    for number, line in enumerate(bounded(lines), start=1):
        words = line.partition(";")[0].split()
        if not words:
            continue
        if len(words) != SWF_FIELDS:
            msg = f"the job log, line {number}: {len(words)} fields where SWF has {SWF_FIELDS}"
            raise JobLogError(msg)
        if words[10] in _PARTIAL:
            yield LeftOut.STEP
            continue
        fields = [number_of(word, number) for word in words]
        _, submit, wait, run, used, _, _, asked, limit, *_ = fields
        if submit is None or submit < 0:
            yield LeftOut.NO_SUBMISSION
            continue
        devices = asked if asked is not None and asked > 0 else used
        group, user = words[12], words[11]
        yield Job(
            submit_s=submit,
            run_s=_known(run) if devices is not None and devices > 0 else None,
            wait_s=_known(wait),
            limit_s=_known(limit),
            devices=round(max(devices or 0, 0)),
            team=f"group {group}" if group != "-1" else f"user {user}",
            pool="" if words[15] == "-1" else words[15],
        )


def sacct_jobs(lines: Iterable[str]) -> Iterator[Job | LeftOut]:
    """Read `sacct --parsable2` with the columns JobID, Submit, Start and End.

    Of AllocTRES (else ReqTRES), Timelimit, Priority, Account, User and Partition, what is there is
    read too. Raises JobLogError.
    """
    header: list[str] = []
    for number, line in enumerate(bounded(lines), start=1):
        cells = line.rstrip("\r\n").split("|")
        if not header:
            header = cells
            if any(name not in header for name in _SACCT_COLUMNS):
                msg = f"the job log lacks one of sacct's columns {_SACCT_COLUMNS}: {header[:20]}"
                raise JobLogError(msg)
        elif any(cells):
            if len(cells) < len(header):
                msg = f"the job log, line {number}, is cut off: export it again"
                raise JobLogError(msg)
            yield _sacct_job(dict(zip(header, cells, strict=False)), number)


def _sacct_job(row: Mapping[str, str], line: int) -> Job | LeftOut:
    if "." in row["JobID"]:
        return LeftOut.STEP
    submit, start, end = (seconds_of(row[name], line) for name in ("Submit", "Start", "End"))
    if submit is None:
        return LeftOut.NO_SUBMISSION
    tres = _tres(row.get("AllocTRES") or row.get("ReqTRES") or "")
    is_run = start is not None and end is not None and end >= start
    return Job(
        submit_s=submit,
        run_s=end - start if is_run and end is not None and start is not None else None,
        wait_s=None if start is None or start < submit else start - submit,
        limit_s=_limit(row.get("Timelimit", ""), line),
        devices=round(tres.get("gres/gpu", 0)),
        cpu_milli=round(tres.get("cpu", 0) * 1000),
        memory_mib=round(tres.get("mem", 0)),
        priority=round(number_of(row.get("Priority", ""), line) or 0),
        team=(row.get("Account") or row.get("User", ""))[:MAX_NAME],
        pool=row.get("Partition", "")[:MAX_NAME],
    )


def _tres(text: str) -> dict[str, float]:
    """Return CPUs, MiB and GPUs: `gres/gpu` where it is said, else the sum of `gres/gpu:h100`."""
    found: dict[str, float] = {}
    for name, number, unit in _TRES.findall(text):
        try:
            amount = float(number)
        except ValueError:
            continue
        scaled = amount * (_MIB[unit] if name == "mem" else 1.0)
        found[name] = found.get(name, 0.0) + scaled
    typed = sum(amount for name, amount in found.items() if name.startswith("gres/gpu:"))
    return {"gres/gpu": typed, **found}


def _limit(text: str, line: int) -> float | None:
    """Return `2-12:30:00`, `12:30:00` or `30:00` in seconds."""
    if text in _NO_LIMIT:
        return None
    match = _LIMIT.fullmatch(text)
    if match is None:
        msg = f"the job log, line {line}: {text[:40]!r} is no time limit: correct it"
        raise JobLogError(msg)
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _known(number: float | None) -> float | None:
    return None if number is None or number < 0 else number
