from itertools import combinations

import pytest

from perfledger_cost_models.csv_table import PriceSheetError
from perfledger_cost_models.projection.published_results import (
    COLUMNS,
    packaged_ratios,
    ratios_of,
    read_results,
)

ROW = "training v3.0,step,Offline,8,ampere,10,samples_per_second,2023-04,a list"


def table(*rows):
    return "\n".join([",".join(COLUMNS), *rows, ""])


def ratios(*rows):
    return ratios_of(read_results(table(*rows), "results.csv"))


def changed(**cells):
    values = dict(zip(COLUMNS, ROW.split(","), strict=True)) | cells
    return ",".join(values[column] for column in COLUMNS)


def test_a_rate_grows_and_a_time_shrinks_with_speed():
    (faster,) = ratios(ROW, changed(device="hopper", value="25"))
    (sooner,) = ratios(changed(unit="minutes"), changed(unit="minutes", device="hopper", value="4"))

    assert faster.speed == sooner.speed == 2.5
    assert (faster.source_device, faster.target_device) == ("ampere", "hopper")


@pytest.mark.parametrize(
    "other",
    [
        {"round": "training v2.1"},
        {"workload": "other"},
        {"scenario": "Server"},
        {"device": "ampere"},
    ],
)
def test_only_the_same_work_of_one_round_on_two_devices_is_compared(other):
    assert ratios(ROW, changed(**({"device": "hopper"} | other))) == ()


def test_nearly_as_many_devices_are_compared_per_device():
    (published_ratio,) = ratios(
        changed(accelerators="4216", value="4216"),
        changed(accelerators="4096", value="8192", device="tpu"),
    )

    assert published_ratio.speed == pytest.approx(2)
    assert ratios(ROW, changed(accelerators="9", device="hopper")) == ()


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (changed(unit="furlongs"), "furlongs"),
        (changed(value="0"), "not a result"),
        (changed(accelerators="0"), "not a result"),
        (changed(value="nan"), "plain decimal"),
        (changed(device=""), "is empty"),
        ("step,Offline", "cells"),
    ],
)
def test_a_table_that_cannot_be_trusted_is_refused(row, problem):
    with pytest.raises(PriceSheetError, match=problem):
        read_results(table(row), "results.csv")


def test_packaged_results_say_where_and_when_they_were_published():
    published_ratios = packaged_ratios()

    assert len(published_ratios) == 236
    assert all(each.source.count("mlcommons/") == 2 and each.published for each in published_ratios)


def test_no_packaged_pair_is_counted_twice():
    pairs = [
        (
            each.round,
            each.workload,
            each.scenario,
            each.accelerators,
            frozenset({each.source_device, each.target_device}),
        )
        for each in packaged_ratios()
    ]

    assert all(one != other for one, other in combinations(pairs, 2))
