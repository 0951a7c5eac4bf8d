import json
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.review.measured_changes import ProjectedSpeed
from perfledger_cost_models.review.previous_quarter import (
    FORMAT,
    VERSION,
    input_identity,
    read_previous_review,
)
from perfledger_service.rendering.review.json_file import review_json
from tests.service.rendering.example_projection import projection_view


def as_json(review):
    return json.loads(review_json(review))


def test_a_review_names_its_format_and_what_it_recommends(small):
    document = as_json(small)

    assert (document["format"], document["version"]) == (FORMAT, VERSION)
    assert (document["quarter"], document["made_on"]) == ("2026Q3", "2026-11-22")
    assert document["recommendation"] == {
        "name": small.choice.option.name,
        "where": small.choice.option.where,
    }
    assert document["decision"]["is_change"] is True
    assert review_json(small).endswith("}\n")


def test_money_is_text_and_its_bands_have_their_quantiles(small):
    for one, facts in zip(as_json(small)["options"], small.options, strict=True):
        assert Decimal(one["npv_usd"]) == facts.outcome.npv
        assert list(one["npv_band_usd"]) == ["p5", "p50", "p95"]
        assert all(isinstance(usd, str) for usd in (*one["paid_usd"], one["paid_sum_usd"]))
        assert len(one["paid_usd"]) == 4


def test_what_is_not_known_is_an_object_that_says_why_and_what_helps(small):
    document = as_json(small)

    allocation = document["allocation"]
    assert set(allocation) == {"unknown", "reason", "remedy"}
    assert document["supply"]["waits"]["unknown"]
    assert document["previous"]["remedy"]
    assert {one["unknown"] for one in document["unknowns"]} >= {
        allocation["unknown"],
        document["supply"]["waits"]["unknown"],
    }


def test_an_hour_that_nobody_has_to_buy_has_no_price(covered_review):
    for one in as_json(covered_review)["options"]:
        assert (one["usd_per_hour"], one["usd_per_hour_band"]) == (None, None)


def test_formulas_have_their_values_at_the_most_likely_inputs(small):
    document = as_json(small)

    values = {one["name"]: Decimal(one["value"]) for one in document["formulas"]}
    assert set(values) == {line.name for line in small.model.lines}
    for one in small.options:
        assert values[one.outcome.option.npv] == one.outcome.npv
    inputs = {one["name"]: one for one in document["inputs"]}
    assert Decimal(inputs["hours_a_year"]["mode"]) == 300_000


def test_switches_and_swings_refer_to_inputs(small):
    decision = as_json(small)["decision"]

    names = {each.name for each in small.model.inputs}
    assert {one["input"] for one in decision["switches"] + decision["tornado"]} <= names
    assert len(decision["tornado"]) == len(small.decision.swings)


def test_every_projection_is_marked_as_one(small):
    row = projection_view().rows[0]
    speed = ProjectedSpeed(
        repository="octo/models",
        workload="gpt:step",
        unit="tokens",
        source="A100-80GB",
        day=date(2026, 8, 20),
        origin="a check",
        device=row.device,
        projection=row.projection,
        costs=row.costs,
    )
    performance = replace(small.performance, projection=(speed,))

    (projected,) = as_json(replace(small, performance=performance))["performance"]["projection"]

    assert projected["provenance"] == "projected"
    assert (projected["device"], projected["projection"]["speed"]) == ("H100-80GB", 2.5)


def test_the_next_quarters_review_reads_it(small):
    data = review_json(small).encode()

    previous = read_previous_review(data, before=small.quarter.after)

    assert (previous.quarter, previous.decision) == (small.quarter, small.choice.option.name)
    assert previous.expected_quarter.usd == small.expected_quarter.usd
    assert previous.inputs == {
        input_identity(each.name, each.label): each.mode for each in small.model.inputs
    }


@pytest.mark.slow
def test_an_allocation_has_the_hours_of_each_team_beside_its_rows(example):
    allocation = as_json(example)["allocation"]

    hours = dict(allocation["hours"])
    assert hours
    assert sum(map(Decimal, hours.values())) == sum(
        Decimal(row["hours"]) for row in allocation["rows"]
    )
