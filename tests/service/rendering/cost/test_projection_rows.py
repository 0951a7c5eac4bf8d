from dataclasses import replace

from perfledger_service.rendering.cost.projection_rows import projected_rows
from tests.service.rendering.example_projection import RATE, projection_view


def test_a_projected_cost_is_shown_with_its_speed_its_price_and_their_intervals(reports):
    view = projection_view()

    (row,) = projected_rows(replace(reports["regressed"], projections=(view,)))

    texts = (row.speed, row.speed_interval, row.amount, row.interval)
    assert tuple(text.replace("\xa0", " ") for text in texts) == (
        "2.50",
        "1.25 to 5.00",
        "2.00 USD",
        "1.00 to 4.00",
    )
    assert (row.device, row.measured_on, row.dtypes) == (
        "H100-80GB",
        "A100-80GB",
        "float8, bfloat16",
    )
    assert (row.option, row.dated) == ("AWS p5.48xlarge, on demand", "as of 2026-11-09")
    assert (row.workload, row.unit) == ("gpt:step <p50> & more", "tokens")


def test_a_price_without_a_date_of_its_own_says_when_it_was_read(reports):
    view = projection_view()
    first = view.rows[0]
    cost = replace(first.costs[0], rate=replace(RATE, is_read_date=True))
    view = replace(view, rows=(replace(first, costs=(cost,)),))

    (row,) = projected_rows(replace(reports["regressed"], projections=(view,)))

    assert row.dated == "read on 2026-11-09, list date unknown"


def test_what_was_not_projected_or_has_no_price_has_no_row(reports):
    view = projection_view()
    unpriced = replace(view, rows=view.rows[1:])

    assert projected_rows(replace(reports["regressed"], projections=(unpriced,))) == ()
    assert projected_rows(reports["regressed"]) == ()


def test_costs_are_listed_workload_by_workload_and_device_by_device(reports):
    view = projection_view()
    first = view.rows[0]
    other = replace(first, device="H200", costs=first.costs * 2)
    views = (replace(view, rows=(first, other)), replace(view, source="L4"))

    rows = projected_rows(replace(reports["regressed"], projections=views))

    assert [(row.measured_on, row.device) for row in rows] == [
        ("A100-80GB", "H100-80GB"),
        ("A100-80GB", "H200"),
        ("A100-80GB", "H200"),
        ("L4", "H100-80GB"),
    ]
