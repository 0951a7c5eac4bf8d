"""Columns say where a value is and how a person reads it; documents hold no key twice."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import pytest

from perfledger_service.rendering.layout import document
from perfledger_service.rendering.layout.document import (
    MAX_BAR,
    CellKind,
    Document,
    Paragraph,
    TextStyle,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payback:
    """What a purchase returns."""

    years: float | None
    irr: float

    @property
    def is_soon(self) -> bool:
        """Whether it returns within a year."""
        return self.years is not None and self.years < 1


SOON = Payback(years=0.5, irr=0.25)
NEVER = Payback(years=None, irr=-0.1)


def test_a_figure_is_written_for_people_and_raw_for_programs():
    years = document.figure("years", "years", lambda row: row.years, "{:.1f} y".format)

    assert (years.value(SOON), years.show(SOON)) == (0.5, "0.5 y")
    assert (years.value(NEVER), years.show(NEVER)) == (None, "-")
    assert years.kind is CellKind.FIGURE


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (False, "no"),
        (12345, "12,345"),
        (1234.5678, "1,235"),
        (float("nan"), "not known"),
        (Decimal("1234.565"), "1,234.56"),
        (Decimal("NaN"), "not known"),
        (Decimal("Infinity"), "not known"),
        (Decimal("1e14"), "100,000,000,000,000.00"),
        (date(2026, 11, 9), "2026-11-09"),
        (datetime(2026, 11, 9, 12, 30), "2026-11-09"),  # noqa: DTZ001 - shown as a day
        ("word", "word"),
    ],
)
def test_a_figure_without_a_form_is_shown_as_its_type_is_read(value, text):
    column = document.figure("x", "x", lambda row: row)

    assert column.show(value) == text


def test_a_name_is_whole_for_programs_and_may_be_another_for_people():
    plain_column = document.name("option", "option", lambda row: row)
    column = document.name("option", "option", lambda row: row, show=str.upper, limit=5)

    assert (plain_column.value(None), plain_column.show(None), plain_column.kind) == (
        None,
        "",
        CellKind.NAME,
    )
    assert (column.value("aws"), column.show("aws"), column.limit) == ("aws", "AWS", 5)


def test_words_are_of_their_kind_and_empty_where_there_are_none():
    remark = document.words("note", "note", lambda row: row, kind=CellKind.REMARK)

    assert (remark.show("so"), remark.show(None), remark.kind) == ("so", "", CellKind.REMARK)


def test_a_column_for_people_has_no_value_and_one_for_programs_no_text():
    for_people = document.display("as of", lambda row: f"{row.irr:.0%}")
    for_programs = document.fact("irr", lambda row: row.irr, in_csv=False)

    assert (for_people.key, for_people.value(SOON), for_people.show(SOON)) == ("", None, "25%")
    assert (for_programs.heading, for_programs.value(SOON), for_programs.show(SOON)) == (
        None,
        0.25,
        "",
    )
    assert not for_programs.in_csv


@pytest.mark.parametrize(
    ("share", "blocks"), [(0.0, 0), (-1.0, 0), (1e-9, 1), (0.5, MAX_BAR // 2), (1.0, MAX_BAR)]
)
def test_bars_are_as_long_as_their_shares_and_never_too_short_to_see(share, blocks):
    column = document.bar(lambda row: row)

    assert column.show(share) == "\N{FULL BLOCK}" * blocks


def test_record_facts_are_a_column_for_each_field():
    columns = document.record_facts(Payback, lambda row: row, without=("irr",))

    assert [column.key for column in columns] == ["years"]
    assert columns[0].value(SOON) == 0.5
    assert columns[0].value(None) is None


def test_a_table_has_the_values_and_texts_of_its_columns_in_their_order():
    table = document.table(
        (
            document.figure("years", "years", lambda row: row.years),
            document.display("soon", lambda row: "soon" if row.is_soon else "later"),
        ),
        (SOON, NEVER),
        key="paybacks",
        group=lambda row: "good" if row.irr > 0 else "bad",
        style=lambda row: TextStyle.BETTER if row.is_soon else TextStyle.WORSE,
        footer=("sum", ""),
    )

    first, second = table.rows
    assert (first.values, first.texts) == ((0.5, None), ("0.5000", "soon"))
    assert (first.group, first.style) == ("good", TextStyle.BETTER)
    assert (second.texts, second.group, second.style) == (("-", "later"), "bad", TextStyle.WORSE)
    assert (table.key, table.footer) == ("paybacks", ("sum", ""))


def test_paragraphs_know_how_much_they_stand_out_and_whom_they_quote():
    assert document.title("t", names=["x"]) == Paragraph(
        text="t", style=TextStyle.TITLE, names=("x",)
    )
    assert document.heading("h").style is TextStyle.HEADING
    assert document.sentences(["a", "b"]) == (Paragraph(text="a"), Paragraph(text="b"))
    assert [note.style for note in document.notes(["n"])] == [TextStyle.NOTE]


@pytest.mark.parametrize("key", ["format", "version", "total_usd", "options"])
def test_a_key_that_a_document_has_twice_is_refused(key):
    blocks = tuple(document.table((), (), key=each) for each in ("options", key))

    with pytest.raises(ValueError, match="has a key twice: format, version, total_usd"):
        Document(name="perfledger-test", blocks=blocks, facts={"total_usd": 1})


def test_a_table_whose_rows_facts_nest_may_share_their_key():
    nested = document.table((), (), key="options", in_json=False)

    made_document = Document(name="perfledger-test", blocks=(nested,), facts={"options": []})

    assert made_document.keyed_tables == (nested,)


def test_fields_and_properties_are_read_by_their_names():
    assert document.field_names(Payback) == ("years", "irr")
    assert document.attributes(SOON, "irr", "is_soon") == {"irr": 0.25, "is_soon": True}
