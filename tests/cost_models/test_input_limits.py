"""Each reader takes input of the greatest size and refuses one character more."""

import re
from datetime import date
from pathlib import Path

import pytest

import perfledger_cost_models
from perfledger_cost_models import csv_table
from perfledger_cost_models.billing import focus_parquet, quotas, usage_readers
from perfledger_cost_models.job_logs import readers as job_log_readers
from perfledger_cost_models.price_feeds import azure, google
from perfledger_cost_models.price_feeds.rows import FeedOrigin
from perfledger_cost_models.prices import exchange_rates
from perfledger_cost_models.review import previous_quarter, quarter
from perfledger_cost_models.scheduling import cluster
from perfledger_cost_models.serving import load_test_json
from perfledger_cost_models.telemetry import readers as telemetry_readers
from tests.field_bounds import assert_bounds_are_known

TOO_LARGE = re.compile(
    "characters, limit|more than|larger than|export shorter|smaller pages|fewer years"
)
ORIGIN = FeedOrigin(source="a test", retrieved_at=date(2026, 7, 1))
QUARTER = quarter.quarter_of("2026Q3")


def sheet_rows(text):
    return list(csv_table.read_rows(text, "sheet", columns=("a", "b")))


def quotas_of(text):
    return quotas.read_quotas(text, "quotas.csv")


def nodes_of(text):
    return cluster.read_cluster(text, devices=8)


def usage_of(data):
    return usage_readers.read_usage(data, "usage.csv")


def activity_of(data):
    return telemetry_readers.read_activity(data, "activity.csv")


def load_of(data):
    return load_test_json.read_load_curve(data, "load.json")


def review_of(data):
    return previous_quarter.read_previous_review(data, before=QUARTER)


def rates_of(text):
    return exchange_rates.read_exchange_rates(text, "rates.csv")


def azure_prices(page):
    return azure.read_azure([page], origin=ORIGIN)


def google_prices(page):
    return google.read_google([page], origin=ORIGIN)


JOBS = "submit_time,duration,gpus\n0,5,1\n"


@pytest.mark.parametrize(
    ("module", "limit", "read", "given_text"),
    [
        (csv_table, "MAX_SHEET_CHARS", sheet_rows, "a,b\n1,2\n"),
        (quotas, "MAX_CHARACTERS", quotas_of, "team,hours\na,1\n"),
        (cluster, "MAX_TEXT", nodes_of, "gpu\n8\n"),
        (job_log_readers, "MAX_LOG_BYTES", job_log_readers.read_job_log, JOBS),
        (usage_readers, "MAX_USAGE_BYTES", usage_of, b"x,y\n"),
        (telemetry_readers, "MAX_USAGE_BYTES", activity_of, b"x,y\n"),
        (load_test_json, "MAX_LOAD_BYTES", load_of, b"{}"),
        (previous_quarter, "MAX_BYTES", review_of, b"{}"),
        (exchange_rates, "MAX_CHARACTERS", rates_of, "Date,USD\n"),
        (azure, "MAX_PAGE_BYTES", azure_prices, b'{"Items":[]}'),
        (google, "MAX_PAGE_BYTES", google_prices, b'{"skus":[]}'),
        (focus_parquet, "MAX_BYTES", focus_parquet.read_focus_parquet, b"P"),
    ],
)
def test_input_of_the_greatest_size_is_not_too_large(monkeypatch, module, limit, read, given_text):
    monkeypatch.setattr(module, limit, len(given_text))
    assert TOO_LARGE.search(answer_of(read, given_text)) is None

    monkeypatch.setattr(module, limit, len(given_text) - 1)
    assert TOO_LARGE.search(answer_of(read, given_text)) is not None


def answer_of(read, given_text):
    """Return the complaint of a reader, "" where it has none."""
    try:
        read(given_text)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("cell", ["1_5", "\u0661\u0665", "1E+400"])
@pytest.mark.parametrize(
    ("read", "given_text"),
    [
        (quotas_of, "team,hours\na,{}\n"),
        (nodes_of, "gpu\n{}\n"),
        (rates_of, "Date,USD\n2026-07-01,{}\n"),
        (job_log_readers.read_job_log, "submit_time,duration,gpus\n0,{},1\n"),
        (job_log_readers.read_job_log, "submit_time,duration,gpus\n{},5,1\n"),
        (usage_of, b"start,end,devices\n2026-07-01T00:00,2026-07-01T01:00,{}\n"),
        (usage_of, b"start,end,devices\n{},2026-07-01T01:00,1\n"),
    ],
)
def test_what_only_python_takes_as_a_number_is_refused(read, given_text, cell):
    parts = (given_text.encode() if isinstance(given_text, str) else given_text).split(b"{}")
    text = cell.encode().join(parts)

    answer = answer_of(read, text if isinstance(given_text, bytes) else text.decode())

    assert cell[:4] in answer
    assert re.search("is too large|is not|has no", answer)


def test_a_cell_of_a_sheet_has_at_most_500_characters():
    assert len(sheet_rows(f"a,b\n1,{'x' * 500}\n")) == 1
    with pytest.raises(csv_table.PriceSheetError, match=r"line 2, column 'b': .* has over 500"):
        sheet_rows(f"a,b\n1,{'x' * 501}\n")


def test_an_error_of_a_sheet_counts_lines_with_the_header():
    rows = sheet_rows("a,b\n1,2\n\n3,4\n")

    assert [row.number for row in rows] == [2, 4]


def test_fields_and_parameters_have_known_bounds_and_defaults():
    assert_bounds_are_known(perfledger_cost_models, Path(__file__).with_name("field_bounds.txt"))
