from dataclasses import replace
from datetime import date

from perfledger_cost_models.projection.projection import Projection
from perfledger_cost_models.projection.validation import ProjectionCheck
from perfledger_cost_models.review.document import UnknownFigure
from perfledger_cost_models.review.measured_changes import ProjectedSpeed
from perfledger_service.rendering.layout.number_format import NOTHING
from perfledger_service.rendering.review.projection_rows import (
    projection_check_sentence,
    projection_notes,
    review_projection_rows,
)
from tests.service.rendering.example_projection import RATE, projection_view

UNKNOWN = UnknownFigure(name="projection", reason="nothing was counted", remedy="count it")


def speeds():
    """Return a speed with its price, one without, and one that is not known."""
    return tuple(
        ProjectedSpeed(
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
        for row in projection_view().rows
    )


def test_what_nobody_projected_has_no_rows_and_no_notes():
    assert review_projection_rows(UNKNOWN) is None
    assert projection_notes(UNKNOWN) == ()


def test_a_row_has_its_speed_and_its_price_with_their_intervals():
    rows = review_projection_rows(speeds())

    assert rows is not None
    known_row, unpriced, unknown = rows
    assert (known_row.speed, known_row.interval.replace("\xa0", " ")) == ("2.50", "1.25 to 5.00")
    ((name, cost),) = known_row.costs
    assert name == "AWS p5.48xlarge, on demand, 2026-11-09"
    assert cost.replace("\xa0", " ") == "2.00 USD (1.00 USD to 4.00 USD)"
    assert (unpriced.speed, unpriced.costs, unpriced.why) == ("0.75", (), "")
    assert (unknown.speed, unknown.interval) == (NOTHING, "")
    assert "no published peak" in unknown.why
    assert {row.day for row in rows} == {"2026-08-20"}


def test_notes_say_what_the_projections_and_their_prices_rest_on_each_once():
    notes = projection_notes(speeds() * 2)

    assert len(notes) == 3
    assert "bfloat16, float8" in notes[0]
    assert notes[1].endswith("TPU-v4")
    assert notes[2] == f"{RATE.label} assumes, not measured: utilization 0.4"


def test_without_an_assumption_or_a_distant_chip_there_is_nothing_to_note():
    first = speeds()[0]
    assert isinstance(first.projection, Projection)
    sure = replace(
        first,
        projection=replace(first.projection, dtypes=()),
        costs=(replace(first.costs[0], rate=replace(RATE, assumed=())),),
    )

    assert projection_notes((sure,)) == ()


def test_the_error_against_published_results_is_said_where_it_is_known():
    check = ProjectionCheck(ratios=70, median_error=0.12, covered_share=0.91)

    sentence = projection_check_sentence(check).replace("\xa0", " ")

    assert sentence.startswith("Of 70 published ratios")
    assert "12 %" in sentence
    assert "91 %" in sentence
    assert projection_check_sentence(None) == ""
