"""Writes cells, formulas and names into an XLSX file; the only module that uses XlsxWriter.

Text is always written as text: untrusted text is never read as a formula or an address. Only
`address` writes a link.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from io import BytesIO
from typing import Any

import xlsxwriter  # pyright: ignore[reportMissingTypeStubs] - it ends here

from perfledger_service.rendering.review.rows import HALF_PERCENT


class CellStyle(StrEnum):
    """The style of a cell."""

    PLAIN = "plain"  # a text, wrapped to its column's width
    HEAD = "head"
    TITLE = "title"
    MONEY = "money"
    USD = "usd"  # a forecast, in whole USD
    NUMBER = "number"
    SHARE = "share"
    CHANCE = "chance"  # of random draws, and so never shown as 0 or 100 %
    ENTRY = "entry"  # an input that the reader may change
    SUM = "sum"


_A4 = 9
# Characters across a printed page; with more, the print is too small.
_PRINTED_CHARACTERS = 160
_FONT_SIZE = 11
_LINE_HEIGHT = 15.0  # points, of a line of the usual font
_MAX_HEIGHT = 400.0  # a spreadsheet allows 409 points
_USABLE_WIDTH = 0.95
_MONEY = "#,##0.00"
_NUMBER = "#,##0.######"
# As `rows.chance` writes it: the cell holds the share of the draws, to be computed with.
_CHANCE = f'[>{1 - HALF_PERCENT}]"> 99 %";[<{HALF_PERCENT}]"< 1 %";0\\ %'
_FORMATS: dict[CellStyle, dict[str, object]] = {
    CellStyle.PLAIN: {"text_wrap": True, "valign": "top", "indent": 1},
    CellStyle.HEAD: {
        "bold": True,
        "bg_color": "#F3F1EC",
        "text_wrap": True,
        "valign": "top",
        "indent": 1,
    },
    CellStyle.TITLE: {"bold": True, "font_size": 14, "text_wrap": True, "valign": "top"},
    CellStyle.MONEY: {"valign": "top", "num_format": _MONEY},
    CellStyle.USD: {"valign": "top", "num_format": "#,##0"},
    CellStyle.NUMBER: {"valign": "top", "num_format": _NUMBER},
    CellStyle.SHARE: {"valign": "top", "num_format": "0.0%"},
    CellStyle.CHANCE: {"valign": "top", "num_format": _CHANCE},
    CellStyle.ENTRY: {
        "valign": "top",
        "num_format": _NUMBER,
        "font_color": "#0000FF",
        "bg_color": "#FFF8E1",
    },
    CellStyle.SUM: {"valign": "top", "num_format": _MONEY, "bold": True, "top": 1},
}


class Worksheet:
    """One sheet of a workbook; rows and columns count from 0."""

    def __init__(
        self, sheet: object, looks: dict[CellStyle, Any], widths: Sequence[int] = ()
    ) -> None:
        self._sheet: Any = sheet
        self._looks = looks
        self._widths = widths
        self._heights: dict[int, float] = {}

    def text(self, row: int, column: int, text: str, look: CellStyle = CellStyle.PLAIN) -> None:
        """Write a text, and make its row high enough for all lines."""
        self._sheet.write_string(row, column, text, self._looks[look])
        self._fit(row, column, text, look)

    def address(self, row: int, column: int, url: str) -> None:
        """Write an https address as a link, and make its row high enough."""
        self._sheet.write_url(row, column, url, self._looks[CellStyle.PLAIN], url)
        self._fit(row, column, url, CellStyle.PLAIN)

    def number(
        self, row: int, column: int, value: float, look: CellStyle = CellStyle.NUMBER
    ) -> None:
        """Write a number."""
        self._sheet.write_number(row, column, value, self._looks[look])

    def formula(
        self,
        row: int,
        column: int,
        formula: str,
        value: float | str,
        look: CellStyle = CellStyle.NUMBER,
    ) -> None:
        """Write a formula, given without "=", and its value for readers that do not compute."""
        self._sheet.write_formula(row, column, f"={formula}", self._looks[look], value)
        if isinstance(value, str):
            self._fit(row, column, value, look)

    def _fit(self, row: int, column: int, text: str, look: CellStyle) -> None:
        """Make a row high enough for a text: in LibreOffice it would overflow into the next row."""
        if column >= len(self._widths):
            return
        size = _FORMATS[look].get("font_size", _FONT_SIZE)
        scale = float(str(size)) / _FONT_SIZE
        # Lines break before the column is full, and bold letters are wider.
        usable = self._widths[column] * _USABLE_WIDTH / scale
        height = _LINE_HEIGHT * scale * max(1, math.ceil(len(text) / usable))
        height = min(height, _MAX_HEIGHT)
        if height > self._heights.get(row, _LINE_HEIGHT):
            self._heights[row] = height
            self._sheet.set_row(row, height)


class Workbook:
    """A workbook in memory."""

    def __init__(self, title: str, created: datetime) -> None:
        self._target = BytesIO()
        options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
        self._book: Any = xlsxwriter.Workbook(self._target, options)
        self._book.set_properties({"title": title, "created": created})
        self._looks = {look: self._book.add_format(form) for look, form in _FORMATS.items()}

    def sheet(self, name: str, titles: Sequence[str], widths: Sequence[int]) -> Worksheet:
        """Add a sheet with a frozen header row."""
        added = self._book.add_worksheet(name)
        for column, width in enumerate(widths):
            added.set_column(column, column, width)
        added.freeze_panes(1, 0)
        added.set_landscape()
        added.set_paper(_A4)
        added.fit_to_pages(math.ceil(sum(widths) / _PRINTED_CHARACTERS), 0)
        added.repeat_rows(0)
        added.repeat_columns(0)
        sheet = Worksheet(added, self._looks, widths)
        for column, title in enumerate(titles):
            sheet.text(0, column, title, CellStyle.HEAD)
        return sheet

    def name(self, name: str, cell: str) -> None:
        """Name a cell, such as "Inputs!$E$2", for use in formulas."""
        self._book.define_name(name, f"={cell}")

    def to_bytes(self) -> bytes:
        """Close the workbook and return the file."""
        self._book.close()
        return self._target.getvalue()
