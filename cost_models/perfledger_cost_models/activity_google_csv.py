"""Metrics Explorer's download in CSV into what it tells of GPUs' and TPUs' activity.

A column is a series: the row "TimeSeries ID" first, a row for each label of them by its key, then
rows that begin with a time as browsers write it, "Tue Apr 07 2026 10:00:00 GMT+0200 (Central
European Summer Time)". Which metric that is only the file's name says: "GPU_utilization_[MEAN].csv"
as it is downloaded, or the metric's last words, "duty_cycle.csv". Ask for no grouping: else there
is no label of a device left.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import PurePath

from perfledger_cost_models.activity import Export
from perfledger_cost_models.activity_google import KIND, reading_of
from perfledger_cost_models.activity_metrics import Metric, metric_named
from perfledger_cost_models.activity_prometheus import with_free
from perfledger_cost_models.activity_readings import export_of_readings
from perfledger_cost_models.usage import EARLIEST, LATEST, UsageFileError, rows_of

FIRST = "TimeSeries ID"
# What Metrics Explorer calls a metric, and its last words, as the metric that it is.
NAMES = {
    "accelerator_duty_cycle": "kubernetes.io/container/accelerator/duty_cycle",
    "duty_cycle": "kubernetes.io/container/accelerator/duty_cycle",
    "tensorcore_utilization": "kubernetes.io/container/accelerator/tensorcore_utilization",
    "gpu_utilization": "agent.googleapis.com/gpu/utilization",
}
HOW_TO_CALL = f"call the file by its metric, as it is downloaded: {', '.join(NAMES)}"
UNDEFINED = ("", "undefined", "null", "NaN")

_TIME = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2} \d{2} \d{4} \d{2}:\d{2}:\d{2}) GMT([+-]\d{4})\b.*"
)


def is_metrics_explorer(header: Sequence[str]) -> bool:
    """Whether a table's first row is that of Metrics Explorer's download."""
    return bool(header) and header[0].strip() == FIRST


def read_metrics_explorer(text: str, name: str) -> Export:
    """Read the download; raises UsageFileError."""
    metric = _metric(name)
    labels: dict[int, dict[str, str]] = {}
    series: dict[int, list[tuple[float, float]]] = {}
    for number, cells in rows_of(text, name):
        where = f"{name}, line {number}"
        time = _time(cells[0])
        for place, cell in enumerate(cells[1:], start=1):
            if time is None:
                labels.setdefault(place, {})[cells[0].strip()] = cell.strip()
            elif cell.strip() not in UNDEFINED:
                series.setdefault(place, []).append((time, _number(cell, where)))
        if time is None and series:
            msg = f"{where}: {cells[0][:40]!r} is no time: download it again"
            raise UsageFileError(msg)
    readings = [
        reading_of(metric, labels.get(place, {}), sorted(samples), name)
        for place, samples in series.items()
    ]
    if not readings:
        msg = f"{name} has no values in it: download a chart that shows some"
        raise UsageFileError(msg)
    return export_of_readings(name, KIND, with_free(readings))


def _metric(name: str) -> Metric:
    stem = PurePath(name).name.partition(".")[0].partition("_[")[0].partition(" ")[0].casefold()
    metric = metric_named(NAMES.get(stem, stem))
    if metric is None:
        msg = f"{name} does not say of which metric it is: {HOW_TO_CALL}"
        raise UsageFileError(msg)
    return metric


def _time(text: str) -> float | None:
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    with suppress(ValueError, OverflowError):
        seconds = datetime.strptime("".join(found.groups()), "%b %d %Y %H:%M:%S%z").timestamp()
        if EARLIEST <= seconds <= LATEST:
            return seconds
    return None


def _number(text: str, where: str) -> float:
    with suppress(ValueError):
        return float(text)
    msg = f"{where}: {text[:40]!r} is no number: download it again"
    raise UsageFileError(msg)
