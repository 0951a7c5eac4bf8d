"""Reads usage files of any supported format, recognised by their content."""

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.billing.bill_against_list import implausible_hours
from perfledger_cost_models.billing.cur2 import is_cur2
from perfledger_cost_models.billing.focus import read_focus
from perfledger_cost_models.billing.focus_charges import read_charges
from perfledger_cost_models.billing.focus_columns import BillError
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.usage.device_spans import (
    MAX_USAGE_BYTES,
    DeviceSpan,
    DeviceUsage,
    UsageFileError,
    usage_of,
)
from perfledger_cost_models.usage.opencost import (
    is_kubernetes_csv,
    read_allocations,
    read_gpu_table,
)
from perfledger_cost_models.usage.prometheus import (
    is_prometheus_csv,
    read_query_range,
    read_samples,
)
from perfledger_cost_models.usage.sacct import is_sacct
from perfledger_cost_models.usage.slurm_allocations import read_sacct
from perfledger_profiles.parsing.text_file import decoded_text
from perfledger_profiles.parsing.text_table import table_rows

FOCUS = "FOCUS bill"
_FOCUS_COLUMN = "BilledCost"
_PROMETHEUS_KEY = b'"resultType"'


def read_usage(data: bytes, name: str) -> DeviceUsage:
    """Read sacct's table, Prometheus' or OpenCost's JSON or CSV, or a FOCUS bill in CSV.

    Raises UsageFileError for a file of another kind or too large a file, and for hours that cannot
    be counted.
    """
    if len(data) > MAX_USAGE_BYTES:
        msg = f"{name} is larger than {MAX_USAGE_BYTES} bytes: export shorter periods"
        raise UsageFileError(msg)
    if data.lstrip()[:1] in (b"{", b"["):
        return (read_query_range if _PROMETHEUS_KEY in data else read_allocations)(data, name)
    return _read_table(decoded_text(data, name, error=UsageFileError), name)


def _read_table(text: str, name: str) -> DeviceUsage:
    if is_sacct(text.partition("\n")[0].strip()):
        return read_sacct(text, name)
    _, first_row = next(table_rows(text, name, error=UsageFileError), (0, list[str]()))
    header = list(map(str.strip, first_row))
    if _FOCUS_COLUMN in header or is_cur2(header):
        return _read_bill(text, name)
    if header and is_kubernetes_csv(header):
        return read_gpu_table(text, name)
    if header and is_prometheus_csv(header):
        return read_samples(text, name)
    msg = (
        f"{name} is not a known usage file: give sacct --parsable2, an answer of Prometheus' "
        "query_range or OpenCost's allocation API (JSON or CSV), or a bill in CSV: FOCUS or CUR 2.0"
    )
    raise UsageFileError(msg)


def _read_bill(text: str, name: str) -> DeviceUsage:
    try:
        charges, bill = tuple(read_charges(text)), read_focus(text.splitlines())
    except BillError as error:
        msg = f"{name}: {error}"
        raise UsageFileError(msg) from error
    if clauses := "; ".join(implausible_hours(bill, packaged_sheet(), name=name, certain=True)):
        msg = f"{name}: {clauses}. Its hours are not counted: export it again"
        raise UsageFileError(msg)
    spans = [
        DeviceSpan(
            each.labels,
            each.start,
            each.end,
            each.device_hours * SECONDS_PER_HOUR / (each.end - each.start),
        )
        for each in charges
        if each.end > each.start and each.device_hours  # a correction is negative
    ]
    moments = [end for each in charges for end in (each.start, each.end)]
    runs = {
        (f"{FOCUS} {each.content}", each.resource or each.labels["instance"], each.start)
        for each in charges
        if each.device_hours
    }
    return usage_of(name, FOCUS, spans, idle_moments=moments, runs=runs)
