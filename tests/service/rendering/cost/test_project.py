"""What is projected, as agreed: nothing in it can be taken for measured."""

from perfledger_service.rendering.cost.project import projection_document
from perfledger_service.rendering.layout.writers import plain_lines, to_csv, to_terminal
from tests.service.rendering.example_projection import projection_view


def test_a_projection_is_written_for_a_terminal_as_agreed(matches_golden):
    matches_golden(
        "projection_80.txt", plain_lines(to_terminal(projection_document(projection_view())))
    )


def test_a_projection_is_a_table_as_agreed(matches_golden):
    matches_golden("projection.csv", to_csv(projection_document(projection_view())))
