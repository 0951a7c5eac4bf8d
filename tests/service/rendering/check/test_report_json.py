import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from perfledger_service.rendering.check.report_json import (
    REPORT_FORMAT,
    REPORT_VERSION,
    report_json,
)

README = Path(__file__).parents[4] / "templates" / "README.md"


def keys_of(value, prefix=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{prefix}{key}"
            yield from keys_of(inner, f"{prefix}{key}.")
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item, prefix.removesuffix(".") + "[].")


def test_the_document_is_as_agreed(reports, matches_golden):
    matches_golden("report_regressed.json", report_json(reports["regressed"]) + "\n")


def test_the_document_names_its_format_and_version(named_report):
    document = json.loads(report_json(named_report[1], url="https://perf.example.com"))

    assert (document["format"], document["version"]) == (REPORT_FORMAT, REPORT_VERSION)
    assert document["url"] == "https://perf.example.com"


def test_all_reports_have_the_same_keys(reports):
    keys = {name: set(json.loads(report_json(report))) for name, report in reports.items()}

    assert len(set(map(frozenset, keys.values()))) == 1


def test_money_is_a_decimal_string_and_never_rounded(reports):
    (price, *_) = json.loads(report_json(reports["regressed"]))["change_prices"]

    assert price["usd_per_year"] == "25043.2"
    assert price["rate"]["usd_per_device_hour"] == "6.88"


def test_what_is_not_known_is_null(reports):
    unknown = json.loads(report_json(reports["cpu_only"]))["unit_costs"][1]

    assert (unknown["provenance"], unknown["usd_per_million"]) == ("unknown", None)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_null(reports, value):
    report = reports["regressed"]
    (explanation,) = report.explanations
    broken = replace(explanation, base_step_seconds=value)
    price = replace(report.change_prices[0], usd=Decimal("NaN"))

    document = json.loads(
        report_json(replace(report, explanations=(broken,), change_prices=(price,)))
    )

    assert document["explanations"][0]["base_step_seconds"] is None
    assert document["change_prices"][0]["usd_per_year"] is None


def test_every_key_is_documented(reports):
    readme = README.read_text(encoding="utf-8")
    keys = {
        key.rpartition(".")[2].removesuffix("[]")
        for report in reports.values()
        for key in keys_of(json.loads(report_json(report)))
        if not key.startswith(("machine.frameworks.", "workloads[].params."))
    }

    assert {key for key in keys if f"`{key}`" not in readme} == set()
