import json
from dataclasses import replace

from perfledger_service.rendering.layout.writers import plain_lines, to_json, to_terminal
from perfledger_service.rendering.server.imports import imports_document, new_imports_document
from perfledger_service.values.fleet_views import ImportKind
from tests.service.rendering.terminal_lines import lines_at


def test_a_row_says_what_a_file_is_of_and_since_when_it_is_here(imported):
    (row,) = json.loads(to_json(imports_document((imported,))))["imports"]

    assert (row["id"], row["kind"], row["source"], row["name"]) == (3, "usage", "main", "sacct.txt")
    assert row["period"].replace("\xa0", " ") == "2026-10-01 to 2026-10-02"
    assert (row["summary"], row["day"]) == ("Slurm accounting: 48 device-hours", "2026-11-20")


def test_a_file_without_times_has_no_period(imported):
    files = (replace(imported, since=None), replace(imported, until=None))

    rows = json.loads(to_json(imports_document(files)))["imports"]

    assert [row["period"] for row in rows] == ["", ""]


def test_a_new_import_has_what_the_list_says_of_it_and_whether_it_is_new(imported):
    files = ((imported, True), (replace(imported, name="[bold]x[/]\x1b"), False))
    document = new_imports_document(files)

    new, again = json.loads(to_json(document))["imports"]
    text = lines_at(to_terminal(document), width=120).splitlines()

    (listed,) = json.loads(to_json(imports_document((imported,))))["imports"]
    assert new == {**listed, "is_new": True}
    assert again["is_new"] is False
    assert text[0] == "sacct.txt: imported as 3 of main: Slurm accounting: 48 device-hours"
    assert text[1].startswith("[bold]x[/]")
    assert "is already imported as 3" in text[1]
    assert "\x1b" not in text[1]


def test_files_keep_their_order_and_are_a_table(imported):
    load = replace(imported, id=1, kind=ImportKind.LOAD, since=None, until=None)
    document = imports_document((imported, load))

    lines = lines_at(to_terminal(document), width=120).splitlines()

    assert [line.split()[:2] for line in lines[1:]] == [["3", "usage"], ["1", "load"]]
    assert [one["id"] for one in json.loads(to_json(document))["imports"]] == [3, 1]


def test_names_of_others_are_only_text(imported):
    evil = replace(imported, source="\x1b[31mred", name="[bold]x[/]", summary="\u202eevil")

    text = lines_at(to_terminal(imports_document((evil,))), width=120)

    assert not {"\x1b", "\u202e"} & set(text)
    assert "[bold]x[/]" in text


def test_without_an_import_the_command_that_makes_one_is_named():
    text = plain_lines(to_terminal(imports_document(())))

    assert "No imported files yet; to import one: perfledger server import usage FILE" in text
