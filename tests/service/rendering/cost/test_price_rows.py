from dataclasses import replace
from decimal import Decimal

import pytest

from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.cost import price_rows
from perfledger_service.rendering.layout.verdict_rows import verdict_rows
from tests.service.rendering.example_prices import summed_price


def test_the_most_expensive_change_comes_first_and_what_has_no_price_last(reports):
    report = reports["regressed"]
    unpriced = replace(report.change_prices[0], usd=None, low=None, high=None, note="no fleet")

    shown_price_rows = price_rows.price_rows(
        replace(report, change_prices=(unpriced, *reversed(report.change_prices)))
    )

    assert [row.verb for row in shown_price_rows] == ["costs", "saves", "no detectable change", ""]


def test_a_price_that_rests_on_two_figures_names_its_source_once(reports):
    sources = price_rows.source_rows(reports["regressed"])

    assert [row.option for row in sources] == [
        "AWS p5.48xlarge, on demand",
        "8 x H100 server on premises",
    ]


def test_a_change_that_is_not_proven_only_could_cost(reports, make):
    report = reports["regressed"]
    unsure = make.verdict(make.GPT, make.STEP_TIME, Outcome.UNDECIDED, (0.012, 0.0125))
    prices_of_it = (report.change_prices[0], replace(report.change_prices[1], workload=make.GPT))

    report = replace(report, verdicts=(unsure,), change_prices=prices_of_it)

    assert [row.verb for row in price_rows.price_rows(report)] == ["could cost", "could save"]


def test_a_move_to_a_device_with_more_memory_is_proven_by_the_memory(reports, make):
    report = reports["regressed"]
    moved_change_price = replace(
        report.change_prices[0], workload=make.ATTENTION, moves_to=make.P4D
    )

    (row,) = price_rows.price_rows(replace(report, change_prices=(moved_change_price,)))
    (undetected,) = price_rows.price_rows(
        replace(report, change_prices=(replace(moved_change_price, is_detectable=False),))
    )

    assert (row.verb, row.has_moved) == ("costs", True)
    assert undetected.verb == "no detectable change"


@pytest.mark.parametrize(
    ("amounts", "verb"),
    [
        ((1, 2, 3), "costs"),
        ((-3, -2, -1), "saves"),
        ((0, 0, 0), "costs no cash"),
        ((0, 0, 3), "could cost"),
    ],
)
def test_hours_that_idle_devices_take_cost_no_cash(reports, amounts, verb):
    low, usd, high = map(Decimal, amounts)
    price = replace(
        reports["regressed"].change_prices[0],
        usd=usd,
        low=low,
        high=high,
        extra_hours=(4448.0, 5982.0, 7659.0),
        absorbed_hours=(4448.0, 5982.0, 7659.0),
    )

    row = price_rows.price_row(price, is_proven=True)

    assert row.verb == verb
    assert row.capacity.startswith("idle devices that are paid for absorb")


def test_hours_freed_on_paid_devices_save_no_cash_and_say_what_they_could_replace(reports):
    price = replace(
        reports["regressed"].change_prices[0],
        usd=Decimal(0),
        low=Decimal(0),
        high=Decimal(0),
        extra_hours=(-10_512.0, -8_760.0, -7_008.0),
        renewal_devices=(0.8, 1.0, 1.2),
    )

    row = price_rows.price_row(price, is_proven=True)

    assert row.verb == "saves no cash"
    assert row.capacity.replace("\xa0", " ") == (
        "8,760 device-hours a year (7,008 to 10,510) are freed on devices that are paid for "
        "anyway; at renewal they could replace 1 device (0.8 to 1.2)"
    )


def test_hours_that_paid_devices_may_take_or_not_have_no_cash_figure(reports):
    price = replace(
        reports["regressed"].change_prices[0],
        usd=None,
        low=None,
        high=None,
        extra_hours=(7_008.0, 8_760.0, 10_512.0),
    )

    row = price_rows.price_row(price, is_proven=True)

    assert (row.verb, row.amount) == ("", "")
    assert row.capacity.startswith("it takes 8,760 more device-hours a year")


def test_a_price_has_its_hours_its_option_and_its_date(reports):
    row = price_rows.price_row(reports["regressed"].change_prices[0], is_proven=True)

    texts = (row.amount, row.interval, row.hours, row.hours_interval, row.dated)
    assert tuple(text.replace("\xa0", " ") for text in texts) == (
        "25,000 USD",
        "22,400 to 27,900",
        "20,000",
        "18,000 to 22,000",
        "as of 2026-07-20",
    )
    assert (row.option, row.capacity, row.has_moved) == ("AWS p5.48xlarge, on demand", "", False)


def test_a_change_without_a_price_says_why_and_nothing_else(reports):
    unpriced = replace(
        reports["regressed"].change_prices[0],
        rate=None,
        usd=None,
        low=None,
        high=None,
        device_hours_per_year=(5.0, 5.0, 5.0),
        note="no fleet",
    )

    row = price_rows.price_row(unpriced, is_proven=True)

    assert {row.verb, row.amount, row.interval, row.option, row.dated, row.hours_interval} == {""}
    assert row.note == "no fleet"


def test_prices_of_what_did_not_change_are_folded_and_missing_ones_are_not(reports):
    report = reports["regressed"]
    unpriced = replace(report.change_prices[2], usd=None, low=None, high=None, note="no fleet")
    report = replace(report, change_prices=(*report.change_prices[:2], unpriced))
    rows = verdict_rows(report)
    lacking = replace(report, total_price=summed_price(1, 2, 3, missing=(unpriced.workload,)))

    loud, quiet = price_rows.split_price_rows(report, rows)
    loud_with_missing, _ = price_rows.split_price_rows(lacking, rows)

    assert ([row.verb for row in loud], quiet) == (["costs", "saves"], ())
    assert [row.verb for row in loud_with_missing] == ["costs", "saves", ""]
    assert [row.verb for row in price_rows.split_price_rows(reports["regressed"], rows)[1]] == [
        "no detectable change"
    ]


def test_options_without_a_price_for_one_reason_are_one_row(reports, make):
    rows = [
        row for row in price_rows.unit_cost_rows(reports["regressed"]) if row.workload == make.GPT
    ]

    assert [(row.option, row.amount.replace("\xa0", " "), row.provenance) for row in rows] == [
        ("AWS p5.48xlarge, on demand", "0.00339 USD", "measured"),
        ("8 x H100 server on premises", "0.00212 USD", "measured"),
        ("2 options", "", "unavailable on this device"),
    ]
    assert rows[0].interval.replace("\xa0", " ") == "0.00336 to 0.00342"
    assert (rows[2].is_known, rows[2].why) == (False, "measured on another accelerator")


def test_a_reason_does_not_repeat_the_word_before_it(reports, make):
    cost = make.unit_cost(
        make.GPT, "tokens", make.P4D, None, reason="unavailable on this device: it has no price"
    )

    (row,) = price_rows.unit_cost_rows(replace(reports["regressed"], unit_costs=(cost,)))

    assert (row.why, row.option) == ("it has no price", make.P4D.label)


def test_workloads_without_a_price_and_with_a_declared_one_are_named_once(reports, make):
    rows = price_rows.unit_cost_rows(reports["cpu_only"])

    assert price_rows.unknown_workloads(rows) == (make.TRANSFORMER,)
    assert price_rows.declared_workloads(rows) == (make.GPT,)
    assert price_rows.unknown_workloads(()) == price_rows.declared_workloads(()) == ()


def test_a_source_has_its_address_unless_it_could_end_a_link(reports):
    report = reports["regressed"]
    cost = next(each for each in report.unit_costs if each.usd is not None)
    costs = tuple(
        replace(cost, rate=replace(cost.rate, option=url, source_url=url))
        for url in ("https://aws.example/p5", "", "https://aws.example/)x")
    )
    linked = replace(report, change_prices=(), projections=(), unit_costs=costs)

    links = [row.link for row in price_rows.source_rows(linked)]
    assert links == ["https://aws.example/p5", "", ""]


def test_a_source_says_what_was_assumed_and_when_it_was_read(reports):
    _, own = price_rows.source_rows(reports["regressed"])

    assert (own.dated, own.per_hour.replace("\xa0", " ")) == (
        "read on 2026-11-20, list date unknown",
        "4.30 USD",
    )
    assert own.interval.replace("\xa0", " ") == "3.50 to 5.25"
    assert own.caveats == (
        "assumed, not measured: support share of capex, staff per node, utilization",
    )
