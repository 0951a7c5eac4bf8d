"""Reads exports of device activity in any supported format, recognised by their content."""

from collections.abc import Callable

from perfledger_cost_models.telemetry.activity_samples import ActivityExport
from perfledger_cost_models.telemetry.cloud_monitoring import read_time_series
from perfledger_cost_models.telemetry.cloud_monitoring_csv import (
    is_metrics_explorer,
    read_metrics_explorer,
)
from perfledger_cost_models.telemetry.cloudwatch import (
    is_console_csv,
    read_console_csv,
    read_metric_data,
)
from perfledger_cost_models.telemetry.dcgmi import is_dcgmi, read_dmon
from perfledger_cost_models.telemetry.nvidia_smi import is_nvidia_smi, read_query
from perfledger_cost_models.telemetry.prometheus import read_prometheus
from perfledger_cost_models.telemetry.slurm_gpu_use import read_sacct_activity
from perfledger_cost_models.telemetry.wandb import is_wandb, read_events_csv, read_events_json
from perfledger_cost_models.usage.device_spans import MAX_USAGE_BYTES, UsageFileError
from perfledger_cost_models.usage.prometheus import (
    is_prometheus_csv,
    series_of_query,
    series_of_table,
)
from perfledger_cost_models.usage.sacct import is_sacct
from perfledger_profiles.parsing.text_file import decoded_text
from perfledger_profiles.parsing.text_table import table_rows

WANDB_KEYS = (b'"system.gpu.', b'"system/gpu.', b'"system.tpu.', b'"system/tpu.')
_EXPOSITION = ("# HELP", "# TYPE")  # Prometheus' text format
ACTIVITY_FORMATS = (
    "give an answer of Prometheus' query_range (JSON or CSV), sacct --parsable2 with "
    "TRESUsageInTot, CloudWatch's get-metric-data (JSON) or its console's CSV, Cloud Monitoring's "
    "timeSeries.list (JSON) or Metrics Explorer's CSV, W&B's system metrics (CSV or JSON), CSV of "
    "nvidia-smi --query-gpu, or dcgmi dmon with times"
)


def read_activity(data: bytes, name: str) -> ActivityExport:
    """Read an export of device activity.

    Raises UsageFileError for an unknown format, too large a file, or one without activity.
    """
    if len(data) > MAX_USAGE_BYTES:
        msg = f"{name} is larger than {MAX_USAGE_BYTES} bytes: export a shorter period"
        raise UsageFileError(msg)
    if data.lstrip()[:1] in (b"{", b"["):
        return _read_json(data, name)
    return _read_table(decoded_text(data, name, error=UsageFileError), name)


def _read_json(data: bytes, name: str) -> ActivityExport:
    if b'"resultType"' in data:
        return read_prometheus(series_of_query(data, name), name)
    if b'"MetricDataResults"' in data:
        return read_metric_data(data, name)
    if b'"timeSeries"' in data or (b'"points"' in data and b'"metric"' in data):
        return read_time_series(data, name)
    if any(word in data for word in WANDB_KEYS):
        return read_events_json(data, name)
    msg = f"{name} is not a known export of activity: {ACTIVITY_FORMATS}"
    raise UsageFileError(msg)


def _read_table(text: str, name: str) -> ActivityExport:
    first = text.partition("\n")[0].strip()
    if first.startswith(_EXPOSITION):
        msg = (
            f"{name} is one scrape of an exporter, which has no period: export query_range from "
            "Prometheus, or write `dcgmi dmon` or `nvidia-smi --query-gpu` for a while"
        )
        raise UsageFileError(msg)
    if is_sacct(first):
        return read_sacct_activity(text, name)
    if is_dcgmi(first):
        return read_dmon(text, name)
    _, first_row = next(table_rows(text, name, error=UsageFileError), (0, list[str]()))
    header = list(map(str.strip, first_row))
    for is_kind, read in _READERS if header else ():
        if is_kind(header):
            return read(text, name)
    msg = f"{name} is not a known export of activity: {ACTIVITY_FORMATS}"
    raise UsageFileError(msg)


def _read_samples(text: str, name: str) -> ActivityExport:
    return read_prometheus(series_of_table(text, name), name)


# Readers of tables in CSV by the names of their columns.
_READERS: tuple[tuple[Callable[[list[str]], bool], Callable[[str, str], ActivityExport]], ...] = (
    (is_nvidia_smi, read_query),
    (is_wandb, read_events_csv),
    (is_metrics_explorer, read_metrics_explorer),
    (is_console_csv, read_console_csv),
    (is_prometheus_csv, _read_samples),
)
