"""A CSV job log in any of the shapes that public traces and exporters write, into jobs.

Helios and Philly (`job_id,user,vc,gpu_num,submit_time,duration,...`, or as Pollux and Tiresias have
it), Alibaba's GPU traces v2020 (pai_task_table, pai_job_duration_estimate), v2023 (openb_pod_list),
v2025 (instances) and v2026 (spot jobs), and what one exports of Kubernetes: Prometheus's
kube-state-metrics names with Kueue's, Volcano's, YuniKorn's and Run:ai's labels. A column's name
says what it holds and in which unit; others are not read.
"""

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from perfledger_cost_models.jobs import (
    MAX_AMOUNT,
    MAX_NAME,
    MAX_SECONDS,
    WHOLE,
    Job,
    JobLogError,
)

MAX_LINE_CHARACTERS = 100_000

# Of each field the columns that may hold it, the first that is filled counts, and its unit.
_SUBMIT = (
    *("submit_time", "submitted_time", "creation_time", "submitted", "kube_pod_created"),
    "timestamp",
)
_START = ("start_time", "scheduled_time", "started", "kube_pod_start_time")
_END = ("end_time", "deletion_time", "finished", "kube_pod_completion_time")
_RUN = ("duration", "run_s")
_WAIT = ("queue", "wait_time", "wait_s")
_LIMIT = ("limit_s", "time_limit", "active_deadline_seconds")
_INSTANCES = ("inst_num", "num_inst", "pods", "parallelism", "worker_num")
_DEVICES = {
    "num_gpu": 1.0,
    "gpu_num": 1.0,
    "num_gpus": 1.0,
    "gpus": 1.0,
    "gpu_request": 1.0,
    "devices": 1.0,
    "nvidia_com_gpu": 1.0,
    "plan_gpu": 0.01,  # percent of a device
}
_SHARE = ("gpu_milli", "share_milli")
_CPU = {
    "cpu_milli": 1.0,
    "cpu_num": 1000.0,
    "num_cpu": 1000.0,
    "cpus": 1000.0,
    "cpu_request": 1000.0,
    "plan_cpu": 10.0,  # percent of a core
}
_MEMORY = {"memory_mib": 1.0, "plan_mem": 1024.0, "memory_bytes": 1 / 2**20}
_PRIORITY = ("priority", "priority_value", "kube_pod_priority")
_TEAM = (
    "team",
    "label_kueue_x_k8s_io_queue_name",
    "label_volcano_sh_queue_name",
    "label_queue",
    "label_runai_queue",
    "label_project",
    "namespace",
    "organization",
    "user",
    "qos",
)
_POOL = ("pool", "vc", "partition", "cluster")
_MODELS = ("gpu_spec", "gpu_type", "gpu_model", "accelerator")
# Alibaba v2020's task table comes without its header, which is a file of its own.
_TASK_TABLE = (
    *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
    *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
)
_ANY_MODEL = frozenset({"", "nan", "misc", "none", "cpu"})
_EMPTY = frozenset({"", "nan", "none", "null", "unknown", "nat"})


class LeftOut(StrEnum):
    """Why a row of a log is no job that can be simulated."""

    NO_SUBMISSION = "without a time of submission"
    NEVER_RAN = "never ran, or had no end yet"
    STEP = "a step of a job that is counted"
    OTHER_KIND = "an object of a kind that is no job"
    NO_DEVICE = "asks for no device"
    OTHER_QUARTER = "submitted outside of the quarter"


def csv_jobs(lines: Iterable[str]) -> Iterator[Job | LeftOut]:
    """Read a CSV with a header, or the task table without one. Raises JobLogError."""
    rows = csv.reader(bounded(lines), strict=True)
    try:
        first = next(rows, list[str]())
        header = tuple(name.strip().lower() for name in first)
        if not _is_header(header):
            header = _TASK_TABLE
            if len(first) != len(header):
                msg = f"the job log has no column of submissions: {first[:12]}"
                raise JobLogError(msg)
            yield job_of(dict(zip(header, first, strict=True)), 1)
        for cells in rows:
            if 0 < len(cells) < len(header):
                msg = f"the job log, line {rows.line_num}, is cut off: export it again"
                raise JobLogError(msg)
            if cells:
                yield job_of(_named(dict(zip(header, cells, strict=False))), rows.line_num)
    except csv.Error as error:
        msg = f"the job log, line {rows.line_num}, is no CSV: {error}"
        raise JobLogError(msg) from error


def job_of(row: Mapping[str, str], line: int) -> Job | LeftOut:
    """Return the job of a row, by the names of its columns. Raises JobLogError."""
    start, end = (_moment(row, names, line) for names in (_START, _END))
    submit = _moment(row, _SUBMIT, line)
    run = _amount(row, _RUN, line)
    wait = _amount(row, _WAIT, line)
    if submit is None and start is None:
        return LeftOut.NO_SUBMISSION
    if wait is None and submit is not None and start is not None:
        wait = start - submit
    if run is None and start is not None and end is not None:
        run = end - start
    submit = start if submit is None else submit
    devices, share = _devices(row, line)
    return Job(
        submit_s=submit or 0.0,
        run_s=None if run is None or run < 0 else run,
        wait_s=None if wait is None or wait < 0 else wait,
        limit_s=_amount(row, _LIMIT, line),
        devices=devices,
        share_milli=share,
        cpu_milli=_whole(row, _CPU, line),
        memory_mib=_whole(row, _MEMORY, line),
        priority=round(_amount(row, _PRIORITY, line) or 0),
        team=_word(row, _TEAM),
        pool=_word(row, _POOL),
        models=_models(row),
    )


def bounded(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines without a byte order mark; raises JobLogError where one is far too long."""
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_LINE_CHARACTERS:
            msg = f"the job log, line {number}, has more than {MAX_LINE_CHARACTERS} characters"
            raise JobLogError(msg)
        yield line.removeprefix("\ufeff") if number == 1 else line


def number_of(text: str, line: int) -> float | None:
    """Return a finite number, None for an empty cell. Raises JobLogError."""
    text = text.strip()
    if text.lower() in _EMPTY:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        msg = f"the job log, line {line}: {text[:40]!r} is no number: correct it"
        raise JobLogError(msg)
    return number


def seconds_of(text: str, line: int) -> float | None:
    """Return a moment in seconds, of a number or as ISO 8601 writes it; without a zone it is UTC.

    None for an empty cell. Raises JobLogError.
    """
    text = text.strip()
    if text.lower() in _EMPTY:
        return None
    if "-" not in text.lstrip("-"):
        return number_of(text, line)
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        msg = f"the job log, line {line}: {text[:40]!r} is no time: correct it"
        raise JobLogError(msg) from error


def _is_header(names: Sequence[str]) -> bool:
    return bool({*_SUBMIT, *_START} & set(names))


def _named(row: dict[str, str]) -> Mapping[str, str]:
    """Return a row whose `queue`, a wait in Helios, is a name where it is no number."""
    queue = row.get("queue", "").strip()
    try:
        float(queue or "0")
    except ValueError:
        if queue.lower() not in _EMPTY:
            row["label_queue"] = row.pop("queue")
    return row


def _devices(row: Mapping[str, str], line: int) -> tuple[int, int]:
    """Return devices and the share of each; parts of one device are a share of it."""
    asked = _scaled(row, _DEVICES, line)
    instances = _instances(row, line)
    share = _amount(row, _SHARE, line)
    if not 0 <= asked * instances <= MAX_SECONDS:
        msg = f"the job log, line {line}: {asked:g} devices times {instances}: correct it"
        raise JobLogError(msg)
    if 0 < asked < 1:
        return instances, max(1, round(asked * WHOLE))
    whole = math.ceil(asked) * instances
    return whole, WHOLE if not whole or not share else round(share)


def _whole(row: Mapping[str, str], units: Mapping[str, float], line: int) -> int:
    """Return what all instances ask for together."""
    amount = _scaled(row, units, line) * _instances(row, line)
    if amount > MAX_AMOUNT:
        msg = f"the job log, line {line}: {amount:g} milli-CPUs or MiB: at most {MAX_AMOUNT:g}"
        raise JobLogError(msg)
    return round(amount)


def _instances(row: Mapping[str, str], line: int) -> int:
    return max(1, round(_amount(row, _INSTANCES, line) or 1))


def _models(row: Mapping[str, str]) -> str:
    named = _word(row, _MODELS).split("|")
    return "|".join(sorted({name.strip() for name in named if name.lower() not in _ANY_MODEL}))


def _word(row: Mapping[str, str], names: Sequence[str]) -> str:
    found = (row[name].strip() for name in names if row.get(name))
    return next((word[:MAX_NAME] for word in found if word.lower() not in _EMPTY), "")


def _amount(row: Mapping[str, str], names: Iterable[str], line: int) -> float | None:
    found = (number_of(row[name], line) for name in names if name in row)
    return next((number for number in found if number is not None), None)


def _moment(row: Mapping[str, str], names: Sequence[str], line: int) -> float | None:
    found = (seconds_of(row[name], line) for name in names if name in row)
    return next((moment for moment in found if moment is not None), None)


def _scaled(row: Mapping[str, str], units: Mapping[str, float], line: int) -> float:
    for name, unit in units.items():
        if name in row and (number := number_of(row[name], line)) is not None:
            return max(number, 0.0) * unit
    return 0.0
