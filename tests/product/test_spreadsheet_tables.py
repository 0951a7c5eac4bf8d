"""Every table of a user is read alike however a spreadsheet or a shell saved it."""

import csv
from datetime import date
from io import StringIO

import pytest

from perfledger_cost_models.billing.focus import read_focus
from perfledger_cost_models.billing.quotas import read_quotas
from perfledger_cost_models.billing.usage_readers import read_usage
from perfledger_cost_models.csv_table import PriceSheetError
from perfledger_cost_models.elastic_scheduling.job_speeds import read_speeds
from perfledger_cost_models.energy.hourly_csv import read_hourly_series
from perfledger_cost_models.forecasting.past_periods import is_history_table, read_history
from perfledger_cost_models.job_logs.readers import read_job_log
from perfledger_cost_models.prices.check import CheckContext, check_sheet
from perfledger_cost_models.prices.exchange_rates import read_exchange_rates
from perfledger_cost_models.scheduling.cluster import read_cluster
from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_profiles.benchmark_histories.formats import history_format, read_results
from perfledger_profiles.benchmark_histories.text import parse_history
from perfledger_profiles.parsing.text_table import DELIMITERS
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.files import NamedBytes
from perfledger_service.usecases.inputs.table_columns import read_csv

BILL = (
    "BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,EffectiveCost,"
    "PricingQuantity,PricingUnit,ProviderName,Tags,x_InstanceType\n"
    '96.5,USD,Usage,2026-10-01T00:00:00Z,2026-10-01T02:00:00Z,96.5,2,Hours,AWS,"{""a"": ""b;c""}",'
    "p5.48xlarge\n"
)
PRICE = (
    "provider,sku,region,accelerator,count,pricing_model,term,usd_per_hour,"
    "usd_per_accelerator_hour,as_of_date,retrieved_at,confidence,source,note\n"
    "aws,p5.48xlarge,us-east-1,H100-80GB,8,on_demand,,55.04,6.88,2026-07-20,"
    '2026-11-20,high,"a, b",'
    "\n"
)
NVIDIA_SMI = (
    "timestamp, uuid, name, utilization.gpu [%]\n"
    "2026/11/20 10:00:00.125, GPU-aa, NVIDIA H100, 40.5 %\n"
    "2026/11/20 10:00:15.125, GPU-aa, NVIDIA H100, 60 %\n"
)
WANDB = "_timestamp,system.gpu.0.gpu\n1700000000,50.5\n1700000015,60\n"
CLOUDWATCH = (
    "Full label,i-0abc1234 0 nvidia_smi_utilization_gpu\nId,m1\n"
    "2026/10/01 00:00:00,10.5\n2026/10/01 00:05:00,30\n"
)
METRICS_EXPLORER = (
    "TimeSeries ID,a\npod_name,train-0\naccelerator_id,GPU-1\n"
    "Tue Apr 07 2026 10:00:00 GMT+0200 (Central European Summer Time),50.5\n"
    "Tue Apr 07 2026 10:01:00 GMT+0200 (Central European Summer Time),70\n"
)
ACTIVITY = 'time,"DCGM_FI_DEV_GPU_UTIL{gpu=""0"",pod=""x;y""}"\n1700000000,40.5\n1700000015,60\n'
HISTORY = "commit,time,metric,value\na,2026-01-01,x,1.5\nb,2026-01-02,x,2\n"
OTAVA = "time,commit,x,y\n2026-01-01,a,2,2\n2026-01-02,b,1.5,3\n"


def prices(file):
    check = check_sheet(file.text, "x.csv", context=CheckContext(today=date(2026, 11, 20)))
    if check.rejected:
        raise PriceSheetError(check.rejected[0].reason)
    return check.sheet.prices


def periods(file):
    assert is_history_table(file.text)
    return read_history(file.text, "x.csv")


def jobs(file):
    table = read_job_log(file.text).jobs
    return table.run_ms.tolist(), table.wait_ms.tolist(), table.devices.tolist()


def activity(file):
    export = read_activity(file.data, file.name)
    return [(each.device, each.shares.tolist()) for each in export.activities]


def history(file):
    text = parse_history(file.data, file.name)
    found_history_format = history_format(text)
    return (
        columns(file)
        if found_history_format is None
        else read_results([text], found_history_format)
    )


def columns(file):
    table = read_csv(file.text, "x.csv")
    return [table.numbers(column) for column in table.columns]


# What reads a table, a table, and a number in it.
TABLES = {
    "prices": (prices, PRICE, "55.04"),
    "exchange rates": (
        lambda file: read_exchange_rates(file.text, "x.csv").per_euro,
        "Date, USD, JPY, \n20 November 2026, 1.1525, 178.1, \n",
        "1.1525",
    ),
    "speeds": (
        lambda file: read_speeds(file.text, "x.csv"),
        "accelerator,devices,speed\nA100,1,1.5\n",
        "1.5",
    ),
    "quotas": (
        lambda file: read_quotas(file.text, "x.csv"),
        'team,hours\n"a,b",1.5\n',
        "1.5",
    ),
    "bill": (lambda file: read_focus(StringIO(file.text, newline="")), BILL, "96.5"),
    "usage of a bill": (lambda file: read_usage(file.data, "x.csv"), BILL, "96.5"),
    "GPU hours": (
        lambda file: read_usage(file.data, "x.csv"),
        "date,namespace,gpu_hours\n2026-10-01,a,1.5\n",
        "1.5",
    ),
    "samples": (
        lambda file: read_usage(file.data, "x.csv"),
        "time,value,namespace\n1700000000,2.0,a\n1700000015,2,a\n",
        "2.0",
    ),
    "hourly series": (
        lambda file: read_hourly_series(file.text, "x.csv"),
        "time,kg_per_kwh\n2026-11-01T00Z,0.5\n2026-11-01T01Z,1\n",
        "0.5",
    ),
    "periods": (periods, "month,hours\n2026-01,1.5\n2026-02,2\n", "1.5"),
    "job log": (jobs, "submit_time,duration,gpus\n0,1.5,1\n", "1.5"),
    "log with row numbers": (jobs, ",submit_time,duration,gpus\n0,0,1.5,1\n", "1.5"),
    "nodes": (
        lambda file: read_cluster(file.text, devices=8).cpu_milli.tolist(),
        "gpu,cpu_num\n8,2.5\n",
        "2.5",
    ),
    "nvidia-smi": (activity, NVIDIA_SMI, "40.5"),
    "W&B": (activity, WANDB, "50.5"),
    "CloudWatch": (activity, CLOUDWATCH, "10.5"),
    "Metrics Explorer": (activity, METRICS_EXPLORER, "50.5"),
    "Prometheus": (activity, ACTIVITY, "40.5"),
    "history": (history, HISTORY, "1.5"),
    "Otava": (history, OTAVA, "1.5"),
    "numbers": (columns, "ms,W\n1.5,2\n3,4\n", "1.5"),
    "numbers without names": (columns, "1.5,2.5\n3,4\n", ""),
}


def saved(text, delimiter, encoding="utf-8"):
    """Return a table as a spreadsheet saves it, with an empty row and an empty column."""
    out = StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    rows = list(csv.reader(StringIO(text, newline=""), skipinitialspace=True))
    writer.writerows([*row, ""] for row in rows)
    writer.writerow([""] * (len(rows[0]) + 1))
    return NamedBytes("duty_cycle.csv", out.getvalue().encode(encoding))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_the_same_with_every_delimiter_and_in_every_encoding(name):
    read, text, _ = TABLES[name]
    usual = repr(read(NamedBytes("duty_cycle.csv", text.encode())))

    for delimiter in DELIMITERS:
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            assert repr(read(saved(text, delimiter, encoding))) == usual


@pytest.mark.parametrize("name", [name for name, (_, _, number) in TABLES.items() if number])
def test_a_decimal_comma_is_refused_and_never_another_number(name):
    read, text, number = TABLES[name]
    local = text.replace(number, f'"{number.replace(".", ",")}"')

    for delimiter in DELIMITERS:
        with pytest.raises((ValueError, UsageError), match="has a comma: write decimals with a po"):
            read(saved(local, delimiter))


@pytest.mark.parametrize("name", [name for name in TABLES if name != "numbers without names"])
def test_names_have_spaces_and_a_first_line_names_the_delimiter(name):
    read, text, _ = TABLES[name]
    usual = repr(read(NamedBytes("duty_cycle.csv", text.encode())))
    first, *rows = csv.reader(StringIO(text, newline=""), skipinitialspace=True)
    out = StringIO(newline="")
    csv.writer(out, delimiter=";").writerows([[f" {cell} " for cell in first], *rows])

    for beginning in ("", "sep=;\r\n"):
        file = NamedBytes("duty_cycle.csv", f"{beginning}{out.getvalue()}".encode())
        assert repr(read(file)) == usual


@pytest.mark.parametrize("end", ["", ","])
@pytest.mark.parametrize("name", [name for name, (_, _, number) in TABLES.items() if number])
def test_a_decimal_comma_between_commas_shifts_no_column(name, end):
    """As programs print numbers where the locale has decimal commas."""
    read, text, number = TABLES[name]
    first, *rows = text.removesuffix("\n").split("\n")
    local = [f"{row.replace(number, number.replace('.', ','))}{end}" for row in rows]

    with pytest.raises((ValueError, UsageError), match="cells for"):
        read(NamedBytes("duty_cycle.csv", "\n".join([first, *local]).encode()))
