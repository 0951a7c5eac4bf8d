"""Reads CSV job logs in the formats of public traces and exporters.

Helios and Philly (`job_id,user,vc,gpu_num,submit_time,duration,...`, or as Pollux and Tiresias have
it), Alibaba's GPU traces v2020 (pai_task_table, pai_job_duration_estimate), v2023 (openb_pod_list),
v2025 (instances) and v2026 (spot jobs), and exports of Kubernetes: Prometheus's kube-state-metrics
names with Kueue's, Volcano's, YuniKorn's and Run:ai's labels. A column's name decides its meaning
and unit, and a column of times whose name ends in _ms has milliseconds; other columns are ignored.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from perfledger.rounding import for_programs, typed
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.job_logs.table import (
    MAX_AMOUNT,
    MAX_SECONDS,
    WHOLE_DEVICE,
    Job,
    JobLogError,
)
from perfledger_cost_models.job_logs.time_columns import (
    EMPTY_CELLS,
    TimeColumns,
    seconds_name,
    seconds_text,
)
from perfledger_profiles.parsing.text_table import (
    first_row,
    is_number,
    lower_name,
    number_problem,
    read_table,
)

# A clock that is set back, or two hosts' clocks, may make a start precede its submission by up to
# this.
MAX_CLOCK_CHANGE_S = float(SECONDS_PER_HOUR)

# For each field the columns that may hold it and their units; the first non-empty one counts.
_SUBMIT = (
    *("submit_time", "submitted_time", "creation_time", "submitted", "kube_pod_created"),
    "timestamp",
)
_START = ("start_time", "scheduled_time", "started", "kube_pod_start_time")
_OF_TIME = frozenset({*_SUBMIT, *_START})
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
_OF_SIZE = frozenset({*_DEVICES, *_SHARE, *_CPU, *_MEMORY})
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
# Columns that together identify a row: the task, instance or pod is part of the id.
_ID = ("job_id", "jobid", "job_name", "task_name", "instance_sn", "namespace", "pod", "uid")
_OF_ID = frozenset({"job_id", "jobid", "instance_sn", "uid", "task_name", "pod"})
_POOL = ("pool", "vc", "partition", "cluster")
_MODELS = ("gpu_spec", "gpu_type", "gpu_model", "accelerator")
# Alibaba v2020's task table has its header in a separate file.
_TASK_TABLE = (
    *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
    *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
)
_ANY_MODEL = frozenset({"", "nan", "misc", "none", "cpu"})


class SkipReason(StrEnum):
    """Why a row of a log is not a job to simulate."""

    NO_SUBMISSION = "without a submission time; the devices they held are not counted here"
    NEVER_RAN = "never ran, or had not ended"
    STILL_RUNNING = (
        "started but had not ended; the devices they held are not counted here, so a replay's "
        "waits are too short"
    )
    STEP = "a step of a counted job"
    OTHER_KIND = "an object that is not a job"
    ENDS_BEFORE_START = "ends before it starts (clock change?)"
    STARTS_BEFORE_SUBMISSION = "starts over an hour before its submission (wrong date?)"
    NO_DEVICE = "requests no device"
    OTHER_QUARTER = "submitted outside the quarter"


# Rows that held devices at times that the log does not state: figures of use are too low.
_HELD_DEVICES = frozenset(
    {
        SkipReason.NO_SUBMISSION,
        SkipReason.STILL_RUNNING,
        SkipReason.ENDS_BEFORE_START,
        SkipReason.STARTS_BEFORE_SUBMISSION,
    }
)


class DeviceUse(StrEnum):
    """How far a log's share of devices in use can be relied on."""

    COMPLETE = "complete"
    LOWER_BOUND = "lower bound"  # rows that were left out held devices, too
    UNKNOWN = "unknown"  # the same, and the number of devices is taken from the log


def lacks_device_time(left_out: Iterable[tuple[str, int]]) -> bool:
    """Return whether skipped rows held devices, so that use is at least the shown figure."""
    return any(reason in _HELD_DEVICES for reason, _ in left_out)


def is_job_table(line: str) -> bool:
    """Return whether a line is the header of a CSV with a time of submission or a start."""
    return not _OF_TIME.isdisjoint(map(_known_name, first_row(line)))


def csv_jobs(text: str) -> Iterator[Job | SkipReason]:
    """Read a CSV with a header, or the task table without one. Raise JobLogError."""
    _check_header(first_row(text))
    table = read_table(
        text,
        "the job log",
        error=JobLogError,
        name_of=lower_name,
        names_without_header=_task_table,
    )
    milliseconds = {
        name: seconds_name(name)
        for name in table.header
        if seconds_name(name) not in {*table.header}
    }
    header = [milliseconds.get(name, name) for name in table.header]
    _check_columns(header, _OF_TIME, "submission times", "submit_time")
    _check_columns(table.header, _OF_SIZE, "devices", "gpus")
    times = TimeColumns()
    for line, cells in table.rows:
        row = dict(zip(header, cells, strict=True))
        for name in milliseconds.values():
            row[name] = seconds_text(row[name])
        yield job_of(_with_queue_name(row), line, times)


def _check_header(first: Sequence[str]) -> None:
    """Raise JobLogError if a log begins with a row of numbers that no known table has."""
    if sum(is_number(cell.strip()) for cell in first) > 1 and not _task_table(first):
        msg = (
            f"the job log begins with {', '.join(first)[:200]!r}, not with the names of its "
            "columns: add a first line such as job_id,submit_time,start_time,end_time,gpus"
        )
        raise JobLogError(msg)


def _task_table(first: Sequence[str]) -> Sequence[str]:
    """Return the columns of the task table if a log's first row is one of its rows, else ()."""
    is_header = not _OF_TIME.isdisjoint(map(_known_name, first))
    return _TASK_TABLE if not is_header and len(first) == len(_TASK_TABLE) else ()


def _known_name(name: str) -> str:
    return seconds_name(lower_name(name))


def _check_columns(
    header: Sequence[str], names: Collection[str], what: str, usual_name: str
) -> None:
    """Raise JobLogError if a header has none of some columns."""
    if not set(names) & set(header):
        msg = (
            f"the job log has no column of {what}, only {', '.join(header)[:200]!r}: name it "
            f"{usual_name}, or give the log's format"
        )
        raise JobLogError(msg)


def job_of(row: Mapping[str, str], line: int, times: TimeColumns) -> Job | SkipReason:
    """Return the job of a row, by the names of its columns. Raise JobLogError."""
    start, end = (_moment(row, names, line, times) for names in (_START, _END))
    submit = _moment(row, _SUBMIT, line, times)
    run = _amount(row, _RUN, line)
    wait = _amount(row, _WAIT, line)
    if submit is None and start is None:
        return SkipReason.NO_SUBMISSION
    if start is not None and submit is not None and start <= 0 < submit:
        start = None  # 0 or -1 means that a job has not started, or has no end
    if submit is not None and start is not None:
        if start < submit - MAX_CLOCK_CHANGE_S:
            return SkipReason.STARTS_BEFORE_SUBMISSION
        wait = start - submit if wait is None else wait
    if start is not None and end is not None and end > 0:
        if end < start:
            return SkipReason.ENDS_BEFORE_START
        # Acme's durations of Kalos include the wait; those of preempted jobs are shorter.
        run = end - start if run is None else min(run, end - start)
    if run is None and start is None:
        wait = None  # of a job that may still be waiting
    submit = start if submit is None else submit
    devices, share = _devices(row, line)
    return Job(
        submit_s=submit or 0.0,
        run_s=None if run is None or run < 0 else run,
        wait_s=None if wait is None or wait < 0 else wait,
        limit_s=_amount(row, _LIMIT, line),
        devices=devices,
        share_milli=share,
        cpu_milli=_total(row, _CPU, line),
        memory_mib=_total(row, _MEMORY, line),
        priority=round(_amount(row, _PRIORITY, line) or 0),
        team=_word(row, _TEAM),
        pool=_word(row, _POOL),
        models=_models(row),
        id=_id(row),
    )


def optional_number(text: str, line: int, column: str) -> float | None:
    """Return a finite number; None for an empty cell. Raise JobLogError."""
    text = text.strip()
    if text.lower() in EMPTY_CELLS:
        return None
    if not is_number(text):
        problem = f"{text[:40]!r} {number_problem(text)}"
        msg = f"the job log, line {line}, {column}: {problem}: correct it"
        raise JobLogError(msg)
    return float(text)


def _with_queue_name(row: dict[str, str]) -> Mapping[str, str]:
    """Return a row whose `queue`, a wait in Helios, is a queue's name if it is not a number."""
    queue = row.get("queue", "").strip()
    try:
        float(queue or "0")
    except ValueError:
        if queue.lower() not in EMPTY_CELLS:
            row["label_queue"] = row.pop("queue")
    return row


def _devices(row: Mapping[str, str], line: int) -> tuple[int, int]:
    """Return the devices and the share of each; a fraction of one device is a share of it."""
    requested = _in_base_unit(row, _DEVICES, line)
    instances = _instances(row, line)
    share = _amount(row, _SHARE, line)
    if not 0 <= requested * instances <= MAX_SECONDS:
        msg = (
            f"the job log, line {line}: {for_programs(requested)} devices times {instances}: "
            "correct it"
        )
        raise JobLogError(msg)
    if 0 < requested < 1:
        return instances, max(1, round(requested * WHOLE_DEVICE))
    count = math.ceil(requested) * instances
    return count, WHOLE_DEVICE if not count or not share else round(share)


def _total(row: Mapping[str, str], units: Mapping[str, float], line: int) -> int:
    """Return the sum over all instances."""
    amount = _in_base_unit(row, units, line) * _instances(row, line)
    if amount > MAX_AMOUNT:
        msg = (
            f"the job log, line {line}: {for_programs(amount)} milli-CPUs or MiB is above "
            f"{typed(MAX_AMOUNT)}"
        )
        raise JobLogError(msg)
    return round(amount)


def _instances(row: Mapping[str, str], line: int) -> int:
    return max(1, round(_amount(row, _INSTANCES, line) or 1))


def _models(row: Mapping[str, str]) -> str:
    named = _word(row, _MODELS).split("|")
    return "|".join(sorted({name.strip() for name in named if name.lower() not in _ANY_MODEL}))


def _id(row: Mapping[str, str]) -> str:
    """Return the parts of a row's id; "" if none of them identifies a row by itself."""
    parts = {name: row[name].strip() for name in _ID if row.get(name)}
    is_id = any(name in _OF_ID and part.lower() not in EMPTY_CELLS for name, part in parts.items())
    return "/".join(parts.values()) if is_id else ""


def _word(row: Mapping[str, str], names: Sequence[str]) -> str:
    cells = (row[name].strip() for name in names if row.get(name))
    return next((word for word in cells if word.lower() not in EMPTY_CELLS), "")


def _amount(row: Mapping[str, str], names: Iterable[str], line: int) -> float | None:
    numbers = (optional_number(row[name], line, name) for name in names if name in row)
    return next((number for number in numbers if number is not None), None)


def _moment(
    row: Mapping[str, str], names: Sequence[str], line: int, times: TimeColumns
) -> float | None:
    moments = (times.seconds(row[name], line, name) for name in names if name in row)
    return next((moment for moment in moments if moment is not None), None)


def _in_base_unit(row: Mapping[str, str], units: Mapping[str, float], line: int) -> float:
    for name, unit in units.items():
        if name in row and (number := optional_number(row[name], line, name)) is not None:
            return max(number, 0.0) * unit
    return 0.0
