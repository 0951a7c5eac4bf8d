import csv
import json
from dataclasses import replace

import pytest

from perfledger_service.rendering.fleet.measured_utilization import (
    NO_CHECKS_NOTE,
    measured_utilization_document,
    misleading_words,
)
from perfledger_service.rendering.layout.writers import plain_lines, to_csv, to_json, to_terminal


def shown_text(*uses):
    document = measured_utilization_document(uses)
    return " ".join(plain_lines(to_terminal(document)).replace("\xa0", " ").split())


def test_what_was_not_profiled_or_declared_has_no_figures(busy):
    text = shown_text(replace(busy, gpu_busy=None, device_hours_per_year=None))

    assert "gpt:step 30.0 % - - -" in text
    assert "looks busy" not in text


@pytest.mark.parametrize(
    ("gpu_busy", "active", "is_misleading"),
    [(0.95, 0.3, True), (0.95, 0.7, False), (0.4, 0.3, False), (None, 0.3, False)],
)
def test_a_workload_looks_busy_where_kernels_run_and_multiprocessors_do_not(
    busy, gpu_busy, active, is_misleading
):
    words = misleading_words(replace(busy, gpu_busy=gpu_busy, active=active))

    assert words.startswith("looks busy but is not") is is_misleading


def test_the_table_says_what_looks_busy_and_what_its_words_mean(busy):
    text = shown_text(busy, replace(busy, workload="vit:step", active=0.9))

    assert "gpt:step 30.0 % 95.0 % 20,000 14,000" in text
    assert "gpt:step: looks busy but is not: GPU-util 95.0 %, SM-active 30.0 %" in text
    assert "vit:step: looks busy" not in text
    assert "Active: share of multiprocessors" in text


def test_without_a_check_that_is_said_and_nothing_else():
    assert shown_text() == NO_CHECKS_NOTE


def test_figures_are_written_as_json_and_csv(busy):
    unknown = replace(busy, gpu_busy=None, device_hours_per_year=None)
    document = measured_utilization_document((busy, unknown))

    first, second = json.loads(to_json(document))["workloads"]
    row, _ = csv.DictReader(to_csv(document).splitlines())

    assert (first["active"], first["idle_hours"], first["readings"]) == (0.3, 14_000.0, 18)
    assert (second["gpu_busy"], second["idle_hours"]) == (None, None)
    assert (row["workload"], float(row["active"]), row["repository"]) == (
        "gpt:step",
        0.3,
        "octo/models",
    )
