import io
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import openpyxl
import pytest

from perfledger_cost_models.review.queue_waits import RecordedWaits, WaitFigures
from perfledger_service.rendering.review.capacity_sheets import supply_sheet, waits_sheet
from perfledger_service.rendering.review.xlsx_workbook import Workbook
from perfledger_service.usecases.inputs.files import NamedBytes
from perfledger_service.usecases.plan.simulate import (
    DEFAULT_SETTINGS,
    ClusterNodes,
    compare_policies,
)


@pytest.fixture
def book():
    return Workbook("x", datetime(2026, 11, 22))  # noqa: DTZ001 - XLSX has no time zones


def cells_of(book, name, *, formulas=False):
    opened = openpyxl.load_workbook(io.BytesIO(book.to_bytes()), data_only=not formulas)
    return list(opened[name].iter_rows(min_row=2, values_only=True))


def waits(team, *, met=None):
    return WaitFigures(
        team=team,
        jobs=10,
        wait_mean_s=5400.0,
        wait_p50_s=3600.0,
        wait_p95_s=86_400.0,
        met_share=met,
        wait_curve_s=(),
    )


def test_each_year_has_its_need_and_what_of_it_is_covered(book, covered_review):
    supply_sheet(book, covered_review.supply)

    rows = cells_of(book, "Supply")
    for row, (year, hours, carried, needed) in zip(
        rows, covered_review.supply.coverage, strict=False
    ):
        assert row[:4] == pytest.approx((year, float(hours), float(carried), float(needed)))
        assert row[4] == pytest.approx(float(carried / hours))


def test_what_is_to_be_bought_is_a_formula(book, small):
    supply_sheet(book, small.supply)

    first = cells_of(book, "Supply", formulas=True)[0]

    assert first[3:5] == ("=B2-C2", "=C2/B2")


def test_a_year_without_a_need_has_no_share(book, small):
    supply = replace(small.supply, coverage=((1, Decimal(0), Decimal(0), Decimal(0)),))
    supply_sheet(book, supply)

    assert cells_of(book, "Supply")[0][4] is None


def test_devices_that_are_there_are_listed_with_their_term(book, covered_review):
    (entry,) = covered_review.supply.entries
    evil = replace(entry, name="=1+1", is_owned=False, usd_per_year=Decimal("1000.5"))
    supply_sheet(book, replace(covered_review.supply, entries=(entry, evil)))

    rows = {row[0]: row[1:7] for row in cells_of(book, "Supply") if row[0] is not None}

    assert rows["Lab servers"] == ("H100-80GB", 5000, "owned", "2023-03-01", "2038-02-28", None)
    assert rows["=1+1"][2:] == ("committed", "2023-03-01", "2038-02-28", 1000.5)


def test_what_the_bill_tells_is_by_purchase_mode_with_its_price(book, small):
    supply = replace(
        small.supply,
        by_mode=(("on demand", Decimal(100), Decimal(688)), ("spot", Decimal(0), Decimal(5))),
        unused_usd=Decimal("12.34"),
    )
    supply_sheet(book, supply)

    *_, on_demand, spot, unused = (row for row in cells_of(book, "Supply") if row[0] is not None)

    assert on_demand[:4] == ("on demand", 100, 688, 6.88)
    assert spot[:4] == ("spot", 0, 5, None)
    assert unused[2] == 12.34


def test_waits_are_in_hours_with_everyone_last(book, small):
    recorded = RecordedWaits(
        log="jobs.csv",
        overall=waits("", met=0.5),
        teams=(waits("nlp", met=1.0), waits("")),
        objective_s=3600.0,
        objective_share=0.9,
    )
    waits_sheet(book, replace(small, supply=replace(small.supply, waits=recorded)))

    rows = cells_of(book, "Waits")

    assert [row[0] for row in rows[:3]] == ["nlp", "(no team)", "all jobs"]
    assert rows[0][1:6] == (10, 1.5, 1.0, 24.0, 1.0)
    assert rows[1][5] is None
    assert rows[2][5] == 0.5
    assert rows[3][0].startswith("10 jobs of 2026Q3 waited")


@pytest.mark.parametrize(
    ("nodes", "use", "remark"),
    [(2, 0.5, "held devices, so more were in use"), (None, None, "in use is unknown")],
)
def test_jobs_that_had_not_ended_are_not_taken_for_idle_devices(book, small, nodes, use, remark):
    log = (
        "job_id,submit_time,start_time,end_time,gpus\n"
        "1,2026-07-01T00:00,2026-07-01T00:00,2026-07-01T01:00,8\n"
        "2,2026-07-01T00:00,2026-07-01T00:00,,8\n"
        "3,2026-07-01T01:00,2026-07-01T01:00,2026-07-01T02:00,8\n"
    )
    policies = compare_policies(
        NamedBytes("jobs.csv", log.encode()),
        ClusterNodes(file=None, nodes=nodes, devices=8),
        ["fifo"],
        DEFAULT_SETTINGS,
        format_=None,
        rate=None,
    )
    waits_sheet(book, replace(small, supply=replace(small.supply, policies=policies)))

    _, _, _, replayed, *remarks = cells_of(book, "Waits")

    assert (replayed[0], replayed[6]) == ("fifo", use)
    assert remark in " ".join(str(row[0]) for row in remarks)


def test_what_is_not_known_says_how_to_supply_it(book, small):
    supply_sheet(book, small.supply)
    waits_sheet(book, small)
    opened = openpyxl.load_workbook(io.BytesIO(book.to_bytes()))

    def texts(name):
        return " ".join(str(row[0]) for row in opened[name].iter_rows(values_only=True))

    for part in (small.supply.by_mode, small.supply.waits, small.supply.policies):
        assert part.remedy in texts("Supply") + texts("Waits")


SLOW = (
    "job_id,submit_time,start_time,end_time,gpus\n"
    "1,2026-07-01T00:00,2026-07-01T00:00,2026-07-01T01:00,8\n"
    "2,2026-07-01T00:00,2026-07-01T09:00,2026-07-01T10:00,8\n"
    "3,2026-07-02T01:00,2026-07-02T09:00,2026-07-02T10:00,8\n"
)


def test_a_replay_that_the_record_refutes_states_no_gain(book, small):
    """Jobs waited 8 and 9 hours, and the replay starts each when it comes or after an hour."""
    policies = compare_policies(
        NamedBytes("jobs.csv", SLOW.encode()),
        ClusterNodes(file=None, nodes=1, devices=8),
        ["fifo", "easy"],
        DEFAULT_SETTINGS,
        format_=None,
        rate=None,
    )
    waits_sheet(book, replace(small, supply=replace(small.supply, policies=policies)))

    words = " ".join(str(row[0]) for row in cells_of(book, "Waits"))
    assert not policies.is_calibrated
    assert "Not calibrated: only 2 jobs of the log waited" in words
    assert "No gain of another policy is given" in words
    assert "With easy instead of fifo" not in words
