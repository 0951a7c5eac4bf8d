import pytest
from rich.table import Table

from perfledger_service.cli.output import Format, Output, check_writable, write_text
from perfledger_service.errors import UsageError


@pytest.fixture
def table():
    table = Table("name", box=None)
    table.add_row("gpt")
    return table


def test_a_text_is_printed_as_it_is(capsys):
    Output(format=Format.CSV).write(3, {Format.CSV: lambda number: f"n\n{number}\n"})

    assert capsys.readouterr().out == "n\n3\n"


def test_a_text_for_a_file_is_not_printed(capsys, tmp_path):
    path = tmp_path / "result.csv"

    Output(format=Format.CSV, output=path).write(3, {Format.CSV: lambda number: f"n\n{number}\n"})

    assert (path.read_text(), capsys.readouterr().out) == ("n\n3\n", "")


def test_a_table_for_a_file_is_shown_as_well(capsys, tmp_path, table):
    path = tmp_path / "result.txt"

    Output(format=Format.TABLE, output=path).write(table, {Format.TABLE: lambda each: each})

    assert "gpt" in path.read_text()
    assert "gpt" in capsys.readouterr().out


def test_json_goes_before_the_format():
    assert Output(format=Format.TABLE, json=True).chosen is Format.JSON
    assert Output(format=Format.SVG).chosen is Format.SVG


def test_a_file_that_cannot_be_written_says_which_and_why(tmp_path):
    with pytest.raises(UsageError, match=r"cannot write .*gone/result: No such file"):
        write_text("text", tmp_path / "gone" / "result")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "it is a folder"),
        ("gone/result", "there is no folder .*gone"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_file_is_known_to_be_unwritable_before_its_content(tmp_path, name, reason):
    with pytest.raises(UsageError, match=f"cannot write .*: {reason}"):
        check_writable(tmp_path / name)


def test_a_file_that_can_be_written_passes(tmp_path):
    (tmp_path / "there").write_text("")

    check_writable(tmp_path / "there")
    check_writable(tmp_path / "new")

    assert not (tmp_path / "new").exists()
