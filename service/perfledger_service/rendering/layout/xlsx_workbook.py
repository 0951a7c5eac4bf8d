"""Writes cells, formulas and names into an XLSX file; the only module that uses XlsxWriter.

A text is always a text: untrusted text is never taken for a formula or an address.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from io import BytesIO
from typing import Any

import xlsxwriter  # pyright: ignore[reportMissingTypeStubs] - it ends here


class CellStyle(StrEnum):
    """The style of a cell."""

    PLAIN = "plain"
    WRAPPED = "wrapped"  # a text of several lines
    HEAD = "head"
    TITLE = "title"
    MONEY = "money"
    NUMBER = "number"
    SHARE = "share"
    ENTRY = "entry"  # for the reader to change
    SUM = "sum"


_A4 = 9
# Characters across a printed page; with more, the print is too small to read.
_PRINTED_CHARACTERS = 160
_MONEY = "#,##0.00"
_NUMBER = "#,##0.######"
_FORMATS: dict[CellStyle, dict[str, object]] = {
    CellStyle.PLAIN: {},
    CellStyle.WRAPPED: {"text_wrap": True, "valign": "top"},
    CellStyle.HEAD: {"bold": True, "bg_color": "#F3F1EC", "text_wrap": True, "valign": "top"},
    CellStyle.TITLE: {"bold": True, "font_size": 14},
    CellStyle.MONEY: {"num_format": _MONEY},
    CellStyle.NUMBER: {"num_format": _NUMBER},
    CellStyle.SHARE: {"num_format": "0.0%"},
    CellStyle.ENTRY: {"num_format": _NUMBER, "font_color": "#0000FF", "bg_color": "#FFF8E1"},
    CellStyle.SUM: {"num_format": _MONEY, "bold": True, "top": 1},
}


class Worksheet:
    """One sheet of a workbook; rows and columns count from 0."""

    def __init__(self, sheet: object, looks: dict[CellStyle, Any]) -> None:
        self._sheet: Any = sheet
        self._looks = looks

    def text(self, row: int, column: int, text: str, look: CellStyle = CellStyle.PLAIN) -> None:
        """Write a text."""
        self._sheet.write_string(row, column, text, self._looks[look])

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
        """Write a formula, without "=", and its value, for readers that do not compute."""
        self._sheet.write_formula(row, column, f"={formula}", self._looks[look], value)


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
        sheet = Worksheet(added, self._looks)
        for column, title in enumerate(titles):
            sheet.text(0, column, title, CellStyle.HEAD)
        return sheet

    def name(self, name: str, cell: str) -> None:
        """Give a cell, such as "Inputs!$E$2", a name for formulas."""
        self._book.define_name(name, f"={cell}")

    def to_bytes(self) -> bytes:
        """Return the file; the workbook is then closed."""
        self._book.close()
        return self._target.getvalue()
