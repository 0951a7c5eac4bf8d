"""Reviews whole: cells of workbooks, values for who does not compute, looks, charts and pages."""

import io
import re

import openpyxl
import pytest

from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.review.html import review_html
from perfledger_service.rendering.review.json_file import review_json
from perfledger_service.rendering.review.plots import review_charts
from perfledger_service.rendering.review.xlsx import review_xlsx

pytestmark = pytest.mark.slow

STYLES = re.compile("(?s)<style>.*?</style>")  # a file of its own, and the same on every page
# Another processor may add in another order: what is compared has nine digits.
LONG_NUMBER = re.compile(r"-?\d+\.\d{6,}(?:e-?\d+)?")


def comparable(text):
    return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.9g}", text)


def lines_of(content):
    """Yield each sheet's columns and cells: value or formula with its value, and number format."""
    books = [
        openpyxl.load_workbook(io.BytesIO(content), data_only=is_value)
        for is_value in (False, True)
    ]
    for sheet in books[0]:
        widths = [
            f"{one.min}-{one.max} {one.width:.4g}" for one in sheet.column_dimensions.values()
        ]
        yield f"== {sheet.title}: {', '.join(widths)}"
        values = books[1][sheet.title]
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value is not None:
                    yield line_of(cell, values[cell.coordinate].value)
    for name, defined in books[0].defined_names.items():
        yield f"{name} = {defined.attr_text}"


def line_of(cell, value):
    shown_cell = cell.value if cell.value == value else f"{cell.value} -> {value}"
    looks = "" if cell.number_format == "General" else f" [{cell.number_format}]"
    return f"{cell.coordinate}{' bold' if cell.font.bold else ''}{looks} {shown_cell}"


def test_the_workbook_is_its_golden_dump(matches_golden, content):
    matches_golden("review_workbook.txt", comparable("\n".join(lines_of(content))) + "\n")


def test_the_charts_are_their_golden_pictures(matches_golden, example):
    embedded_svgs = [embedded_svg(chart, label=chart.title) for chart in review_charts(example)]

    matches_golden("review_charts.svg.txt", comparable("\n".join(embedded_svgs)) + "\n")


def test_a_review_without_records_is_its_golden_dump_too(matches_golden, small):
    dump = "\n".join(lines_of(review_xlsx(small)))

    matches_golden("review_workbook_small.txt", comparable(dump) + "\n")


@pytest.mark.parametrize("which", ["example", "small"])
def test_the_page_and_the_json_are_golden_files(matches_golden, request, which):
    review = request.getfixturevalue(which)

    matches_golden(f"review_{which}.json", comparable(review_json(review)))
    page = STYLES.sub("", review_html(review)).replace("><", ">\n<")
    matches_golden(f"review_{which}.html", comparable(page))
