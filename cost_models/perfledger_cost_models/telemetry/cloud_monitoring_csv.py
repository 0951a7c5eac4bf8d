"""Reads GPU and TPU activity from Metrics Explorer's download in CSV.

A column is a series: first the row "TimeSeries ID", then a row for each of their labels by its key,
then rows that begin with a time as browsers write it, "Tue Apr 07 2026 10:00:00 GMT+0200 (Central
European Summer Time)". Only the file's name has the metric: "GPU_utilization_[MEAN].csv" as
downloaded, or the metric's last words, "duty_cycle.csv". Download without grouping, which removes
the label of the device.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import PurePath

from perfledger_cost_models.telemetry.activity_samples import ActivityExport
from perfledger_cost_models.telemetry.cloud_monitoring import KIND, metric_values_of
from perfledger_cost_models.telemetry.metric_names import ActivityMetric, find_metric
from perfledger_cost_models.telemetry.metric_values import export_of_values
from perfledger_cost_models.telemetry.prometheus import mark_free_devices
from perfledger_cost_models.usage.device_spans import (
    EARLIEST,
    LATEST,
    UsageFileError,
    any_number,
)
from perfledger_profiles.parsing.text_table import untitled_rows

FIRST = "TimeSeries ID"
# Metrics by their name in Metrics Explorer and by their last words.
NAMES = {
    "accelerator_duty_cycle": "kubernetes.io/container/accelerator/duty_cycle",
    "duty_cycle": "kubernetes.io/container/accelerator/duty_cycle",
    "tensorcore_utilization": "kubernetes.io/container/accelerator/tensorcore_utilization",
    "gpu_utilization": "agent.googleapis.com/gpu/utilization",
}
FILE_NAME_HINT = f"name the file after its metric, as downloaded: {', '.join(NAMES)}"
UNDEFINED = ("", "undefined", "null", "NaN")

_TIME = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2} \d{2} \d{4} \d{2}:\d{2}:\d{2}) GMT([+-]\d{4})\b.*"
)


def is_metrics_explorer(header: Sequence[str]) -> bool:
    """Return whether a table's first row is that of Metrics Explorer's download."""
    return bool(header) and header[0].strip() == FIRST


def read_metrics_explorer(text: str, name: str) -> ActivityExport:
    """Read the download; raise UsageFileError."""
    metric = _metric(name)
    labels: dict[int, dict[str, str]] = {}
    series: dict[int, list[tuple[float, float]]] = {}
    for number, cells in untitled_rows(text, name, error=UsageFileError):
        where = f"{name}, line {number}"
        time = _time(cells[0])
        for index, cell in enumerate(cells[1:]):
            if time is None:
                labels.setdefault(index, {})[cells[0].strip()] = cell.strip()
            elif cell.strip() not in UNDEFINED:
                series.setdefault(index, []).append((time, any_number(cell, where)))
        if time is None and series:
            msg = f"{where}: {cells[0][:40]!r} is not a time: download it again"
            raise UsageFileError(msg)
    readings = [
        metric_values_of(metric, labels.get(place, {}), sorted(samples), name)
        for place, samples in series.items()
    ]
    if not readings:
        msg = f"{name} has no values: download a chart that shows some"
        raise UsageFileError(msg)
    return export_of_values(name, KIND, mark_free_devices(readings))


def _metric(name: str) -> ActivityMetric:
    stem = PurePath(name).name.partition(".")[0].partition("_[")[0].partition(" ")[0].casefold()
    metric = find_metric(NAMES.get(stem, stem))
    if metric is None:
        msg = f"{name} is not named after its metric: {FILE_NAME_HINT}"
        raise UsageFileError(msg)
    return metric


def _time(text: str) -> float | None:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    with suppress(ValueError, OverflowError):
        seconds = datetime.strptime("".join(match.groups()), "%b %d %Y %H:%M:%S%z").timestamp()
        if EARLIEST <= seconds <= LATEST:
            return seconds
    return None
