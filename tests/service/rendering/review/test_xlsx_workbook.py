"""Workbooks as other programs read them."""

import io
import zipfile
from datetime import datetime

import openpyxl
import pytest

from perfledger_service.rendering.review.xlsx_workbook import CellStyle, Workbook

CREATED = datetime(2026, 11, 20, 12)  # noqa: DTZ001 - XLSX has no time zones


@pytest.fixture
def book():
    return Workbook("A title", CREATED)


def reopened(book, **options):
    return openpyxl.load_workbook(io.BytesIO(book.to_bytes()), **options)


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        '=HYPERLINK("http://evil.example")',
        "@SUM(A1)",
        "http://evil.example",
        "mailto:x@y.z",
        "{=1}",
        "0123",
        "<b>&",
        "a\nb",
        "\N{SNOWMAN}",
    ],
)
def test_a_text_is_always_a_text(book, text):
    sheet = book.sheet("Notes", ("note",), (20,))
    sheet.text(1, 0, text, CellStyle.PLAIN)

    cell = reopened(book)["Notes"]["A2"]

    assert (cell.value, cell.data_type, cell.hyperlink) == (text, "s", None)


def test_formulas_are_computed_by_names_and_hold_a_value_for_who_does_not_compute(book):
    sheet = book.sheet("Inputs", ("name", "value"), (10, 10))
    sheet.number(1, 1, 0.25, CellStyle.ENTRY)
    book.name("wacc", "Inputs!$B$2")
    sheet.formula(2, 1, "wacc*2", 0.5)

    content = book.to_bytes()
    formulas, values = (
        openpyxl.load_workbook(io.BytesIO(content), data_only=is_value)
        for is_value in (False, True)
    )

    assert formulas["Inputs"]["B3"].value == "=wacc*2"
    assert values["Inputs"]["B3"].value == 0.5
    assert formulas.defined_names["wacc"].attr_text == "Inputs!$B$2"


def test_numbers_are_numbers_in_the_format_of_their_style(book):
    sheet = book.sheet("Options", ("x",), (10,))
    for row, style in enumerate((CellStyle.MONEY, CellStyle.SHARE, CellStyle.NUMBER), start=1):
        sheet.number(row, 0, 1234.5, style)

    cells = [reopened_cell for (reopened_cell,) in reopened(book)["Options"].iter_rows(min_row=2)]

    assert [cell.value for cell in cells] == [1234.5] * 3
    assert [cell.number_format for cell in cells] == ["#,##0.00", "0.0%", "#,##0.######"]


def test_the_header_stays_in_sight_and_is_printed_on_every_page(book):
    book.sheet("Options", ("name", "USD"), (100, 100))

    sheet = reopened(book)["Options"]

    assert [cell.value for cell in sheet[1]] == ["name", "USD"]
    assert all(cell.font.bold for cell in sheet[1])
    assert sheet.freeze_panes == "A2"
    assert sheet.print_title_rows == "$1:$1"
    assert (sheet.page_setup.orientation, sheet.page_setup.fitToWidth) == ("landscape", 2)
    assert sheet.column_dimensions["A"].width == pytest.approx(100, abs=1)


@pytest.mark.parametrize(("widths", "pages"), [((100, 60), None), ((100, 61), 2), ((160, 161), 3)])
def test_a_printed_page_is_an_a4_of_160_characters(book, widths, pages):
    book.sheet("Options", ("name", "USD"), widths)

    setup = reopened(book)["Options"].page_setup

    assert setup.fitToWidth == pages  # without a number, one
    assert str(setup.paperSize) == "9"  # A4 (ECMA-376, pageSetup)


@pytest.mark.parametrize(
    ("characters", "style", "points"),
    [
        (19, CellStyle.PLAIN, None),  # one line has the usual height
        (20, CellStyle.PLAIN, 30.0),
        (38, CellStyle.PLAIN, 30.0),
        (39, CellStyle.PLAIN, 45.0),
        (14, CellStyle.TITLE, 15 * 14 / 11),
        (15, CellStyle.TITLE, 2 * 15 * 14 / 11),
        (5000, CellStyle.PLAIN, 400.0),
    ],
)
def test_a_row_is_as_high_as_its_lines_of_95_per_cent_of_the_column(
    book, characters, style, points
):
    book.sheet("Notes", ("note",), (20,)).text(1, 0, "x" * characters, style)

    height = reopened(book)["Notes"].row_dimensions[2].height

    assert height == (points and pytest.approx(points, abs=0.5))


def test_the_same_cells_make_the_same_bytes_and_nothing_of_the_moment():
    def written():
        book = Workbook("A title", CREATED)
        book.sheet("Options", ("x",), (10,)).text(1, 0, "y")
        return book.to_bytes()

    first = written()

    assert first == written()
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        properties = archive.read("docProps/core.xml").decode()
    assert "2026-11-20T12:00:00Z" in properties
    assert "A title" in properties
