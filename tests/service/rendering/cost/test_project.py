"""What is projected, as agreed: nothing in it can be taken for measured."""

from dataclasses import replace

import pytest

from perfledger_service.rendering.cost.project import projection_document
from perfledger_service.rendering.layout.writers import plain_lines, to_csv, to_terminal
from tests.service.rendering.example_projection import projection_view


def test_a_projection_is_written_for_a_terminal_as_agreed(matches_golden):
    matches_golden(
        "projection_80.txt", plain_lines(to_terminal(projection_document(projection_view())))
    )


def test_a_projection_is_a_table_as_agreed(matches_golden):
    matches_golden("projection.csv", to_csv(projection_document(projection_view())))


@pytest.mark.parametrize(("unexplained", "is_said"), [(0.25, True), (0.24, False)])
def test_a_quarter_that_no_roofline_explains_is_said(unexplained, is_said):
    view = projection_view()
    first, *others = view.rows
    row = replace(first, projection=replace(first.projection, unexplained=unexplained))

    shown_plain_lines = plain_lines(
        to_terminal(projection_document(replace(view, rows=(row, *others))))
    )

    assert ("is not explained by its roofline" in " ".join(shown_plain_lines.split())) is is_said
