"""Every writer says all of a document, and nothing that others wrote has an effect in any."""

import csv
import io
import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from perfledger_cost_models.money import Usd
from perfledger_service.rendering.layout.document import (
    Document,
    Preformatted,
    TextStyle,
    display,
    fact,
    field_names,
    figure,
    heading,
    name,
    notes,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.writers import (
    json_values,
    to_csv,
    to_json,
    to_markdown,
    to_terminal,
)
from tests.service.rendering.terminal_lines import lines_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Payback:
    """What a purchase returns."""

    years: float | None
    irr: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A purchase option."""

    option: str
    usd: Decimal | None
    share: float
    as_of: date = date(2026, 11, 9)
    payback: Payback | None = None
    assumed: tuple[str, ...] = ()
    team: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What a plan costs and emits."""

    usd: Usd
    kg: float


COLUMNS = (
    name("option", "option", lambda row: row.option),
    figure("usd_per_hour", "USD/h", lambda row: row.usd, "{:,.2f}".format),
    figure("share", "share", lambda row: row.share, "{:.0%}".format),
    display("", lambda row: "#" * round(10 * row.share), style=TextStyle.NOTE),
    words("note", "note", lambda row: "; ".join(row.assumed)),
    fact("payback", lambda row: row.payback, parts=field_names(Payback)),
    fact("as_of", lambda row: row.as_of),
    fact("assumed", lambda row: row.assumed),
)
ROWS = (
    Option(option="aws:p5_on|demand", usd=Decimal("1234.5"), share=0.4, assumed=("pue", "wacc")),
    Option(option="=1+1", usd=None, share=0.1, payback=Payback(years=None, irr=0.25)),
)


def document(**changes):
    """Return a document with a title, two rows and a note."""
    parts = {
        "name": "perfledger-test",
        "facts": {"sheet": "packaged", "total_usd": Decimal("1234.50"), "loss": float("nan")},
        "blocks": (
            title("Hours of two options"),
            table(COLUMNS, ROWS, key="options"),
            *notes(["Prices of 2026; =1 of `evil` is quoted."], names=["evil"]),
        ),
    }
    return Document(**(parts | changes))


def terminal(shown_document, width=80):
    """Return what a terminal of some width shows."""
    return lines_at(to_terminal(shown_document), width=width)


def test_a_terminal_shows_headings_figures_and_a_dash_where_there_is_none():
    lines = terminal(document()).splitlines()

    assert lines[0] == "Hours of two options"
    assert lines[1].split() == ["option", "USD/h", "share", "note"]
    assert lines[2].split() == ["aws:p5_on|demand", "1,234.50", "40%", "####", "pue;", "wacc"]
    assert lines[3].split() == ["=1+1", "-", "10%", "#"]


def test_a_table_that_is_too_wide_becomes_a_list_of_rows():
    shown_lines = terminal(document(), width=30)

    assert max(map(len, shown_lines.splitlines())) <= 30
    assert "USD/h" in shown_lines
    assert shown_lines.index("aws:p5") < shown_lines.index("1,234.50") < shown_lines.index("=1+1")


def test_text_of_others_is_code_in_markdown_and_cannot_end_a_cell():
    text = to_markdown(document())

    assert "### Hours of two options" in text
    assert "| option | USD/h | share |  | note |\n|:--|--:|--:|--:|:--|" in text
    assert "| `aws:p5_on\\|demand` | 1,234.50 | 40% | `####` | pue; wacc |" in text


def test_json_has_raw_values_money_as_text_and_null_for_what_is_unknown():
    parsed = json.loads(to_json(document()))

    assert (parsed["format"], parsed["version"]) == ("perfledger-test", 1)
    assert (parsed["total_usd"], parsed["loss"]) == ("1234.50", None)
    assert parsed["options"][1] == {
        "option": "=1+1",
        "usd_per_hour": None,
        "share": 0.1,
        "note": "",
        "payback": {"years": None, "irr": 0.25},
        "as_of": "2026-11-09",
        "assumed": [],
    }


def test_csv_has_a_column_for_each_part_of_a_record_and_no_formula():
    first, second = csv.DictReader(io.StringIO(to_csv(document())))

    assert first["usd_per_hour"] == "1234.5"
    assert (first["payback_years"], first["assumed"]) == ("", "pue; wacc")
    assert (second["option"], second["usd_per_hour"]) == ("'=1+1", "")
    assert second["payback_irr"] == "0.25"


def test_several_tables_share_a_csv_that_names_them():
    others = table((fact("part", lambda row: row.option),), ROWS[:1], key="parts")
    blocks = (table(COLUMNS, ROWS, key="options"), others)

    rows = list(csv.DictReader(io.StringIO(to_csv(document(blocks=blocks)))))

    assert [row["table"] for row in rows] == ["options", "options", "parts"]
    assert (rows[2]["part"], rows[2]["option"]) == ("aws:p5_on|demand", "")


def test_facts_of_the_rows_begin_every_row_of_the_csv():
    (first, _) = csv.DictReader(io.StringIO(to_csv(document(row_facts=("sheet",)))))

    assert list(first)[:2] == ["sheet", "option"]
    assert first["sheet"] == "packaged"


def test_a_document_without_a_table_is_one_row_of_its_facts_in_csv():
    facts = {"energy_kwh": 1.5, "payback": Payback(years=2.0, irr=0.1), "assumed": ("pue",)}

    text = to_csv(document(blocks=(title("Energy"),), facts=facts))

    assert text == "energy_kwh,payback_years,payback_irr,assumed\n1.5,2.0,0.1,pue\n"


def test_people_see_the_first_rows_and_how_many_more_there_are():
    short = document(blocks=(table(COLUMNS, ROWS, key="options", most=1),))

    assert "and 1 more" in terminal(short)
    assert "and 1 more" in to_markdown(short)
    assert len(json.loads(to_json(short))["options"]) == 2


def test_groups_have_a_heading_and_the_footer_stands_last():
    rows = [Option(option=each, usd=Decimal(1), share=0.5, team=each) for each in "ab"]
    grouped = table(
        COLUMNS[:2], rows, key="options", group=lambda row: row.team, footer=("together", "2.00")
    )

    shown_lines = terminal(document(blocks=(grouped,))).split()
    text = to_markdown(document(blocks=(grouped,)))

    assert shown_lines.index("a") < shown_lines.index("b") < shown_lines.index("together")
    assert text.count("| option |") == 2
    assert text.endswith("| **together** | **2.00** |\n")


def test_an_empty_table_is_not_shown_and_an_empty_list_for_programs():
    empty = document(blocks=(heading("Options"), table(COLUMNS, (), key="options")))

    assert terminal(empty).strip() == "Options"
    assert json.loads(to_json(empty))["options"] == []


def test_preformatted_lines_keep_their_columns():
    drawn_document = document(blocks=(Preformatted("a  b\n  c"),))

    assert terminal(drawn_document) == "a  b\n  c\n"
    assert to_markdown(drawn_document) == "```text\na  b\n  c\n```\n"


def test_no_control_character_reaches_a_terminal():
    evil = (Option(option="\x1b[31mred", usd=None, share=0.0),)

    assert "\x1b" not in terminal(document(blocks=(table(COLUMNS, evil, key="options"),)))


def test_a_value_of_the_type_of_money_is_decimal_text_whatever_its_key():
    facts = {
        "saved_usd": Usd(6.589999999999918),
        "amounts": {"low": Usd(1.5), "high": Usd("inf")},
        "flows": [Usd(-3.0), Decimal(2)],
        "best": Amount(usd=Usd(0.5), kg=0.25),
        "is_usd": True,
        "usd_share": 0.5,
    }

    assert json_values(Document(name="", facts=facts, blocks=())) == {
        "saved_usd": "6.59",
        "amounts": {"low": "1.5", "high": None},
        "flows": ["-3", "2"],
        "best": {"usd": "0.5", "kg": 0.25},
        "is_usd": True,
        "usd_share": 0.5,
    }
