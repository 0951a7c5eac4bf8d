"""`perfledger history detect` as a user runs it, on files."""

import json
import math
import os
import signal
import sys
import threading
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from perfledger_service.__main__ import main
from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.rendering.layout import number_format


def a_history(*, points=80, place=50, ratio=1.1, seed=1):
    noise = np.random.default_rng(seed).standard_normal(points)
    values = 10 * np.exp(0.005 * noise)
    values[place:] *= ratio
    return values.tolist()


@pytest.fixture
def detect(tmp_path):
    def detect(content, *arguments, name="history.csv"):
        path = tmp_path / name
        path.write_text(content)
        done = CliRunner().invoke(
            app, ["history", "detect", str(path), *arguments], env={"COLUMNS": "80"}
        )
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0
        return done.stdout

    return detect


def as_csv(values):
    rows = [f"c{place:03d},{'' if math.isnan(v) else v}" for place, v in enumerate(values)]
    return "\n".join(["commit,ms", *rows]) + "\n"


def test_a_step_has_its_position_size_and_confidence(detect):
    output = detect(as_csv(a_history()))

    assert "ms: 80 points: 1 change point" in output
    assert "c050" in output
    assert "point 51" in output
    assert "> 99.99 %" in output.replace(number_format.NBSP, " ")
    assert max(map(len, output.splitlines())) <= 80


def test_json_has_all_fields_with_indices_from_zero(detect):
    document = json.loads(detect(as_csv(a_history()), "--format", "json"))

    (series,) = document["series"]
    (change,) = series["changes"]
    assert (series["name"], series["points"], series["gaps"]) == ("ms", 80, 0)
    assert (change["index"], change["label"], change["movement"]) == (50, "c050", "up")
    assert change["earliest"] <= 50 <= change["latest"]
    assert change["low"] < change["change"] < change["high"]


def test_markdown_goes_to_a_file_and_the_terminal_stays_silent(detect, tmp_path):
    written = tmp_path / "found.md"

    output = detect(as_csv(a_history()), "--format", "markdown", "--output", str(written))

    assert output == ""
    assert "```text" in written.read_text()
    assert "| 1 | up | `c050` | point 51" in written.read_text()


def test_a_table_goes_to_a_file_and_to_the_terminal(detect, tmp_path):
    written = tmp_path / "found.txt"

    output = detect(as_csv(a_history()), "--output", str(written))

    assert written.read_text().splitlines() == [line.rstrip() for line in output.splitlines()]


def test_markdown_of_a_quiet_series_has_no_table(detect):
    output = detect("ms\n" + "5\n" * 30, "--format", "markdown")

    assert "30 points: nothing moved" in output
    assert "|:--|" not in output


def test_a_file_that_cannot_be_written_is_an_error(detect, tmp_path):
    with pytest.raises(UsageError, match="cannot write"):
        detect(as_csv(a_history()), "--output", str(tmp_path / "absent" / "found.txt"))


def test_gaps_are_counted_and_few_points_show_nothing(detect):
    assert "3 points and 1 gap: at least 8 are needed" in detect("ms\n1\nnan\n2\n3\n")
    assert "30 points: nothing moved" in detect("ms\n" + "5\n" * 30)


def test_a_newest_point_that_lies_off_is_suspect_and_no_change(detect):
    values = a_history(points=60, place=59, ratio=1.08)

    output = detect(as_csv(values))

    assert "60 points: nothing moved; the last one is suspect" in output
    assert "c059" in output
    suspect = json.loads(detect(as_csv(values), "--format", "json"))["series"][0]["suspect"]
    assert (suspect["label"], suspect["observations"]) == ("c059", 1)
    assert suspect["change"] == pytest.approx(0.08, abs=0.02)


def test_several_suspect_points_are_reported_from_the_first_on(detect):
    output = detect(as_csv(a_history(points=60, place=58, ratio=1.03)))

    assert "the last 2 are suspect" in output
    assert "from point 59 on" in output


def test_a_name_that_someone_else_chose_is_only_text(detect):
    name = "[red]`x`|<b>\x1b[31m"

    output = detect(f'commit,"{name}"\n' + "".join(f"a,{v}\n" for v in a_history()))
    laid_out = detect(
        f'commit,"{name}"\n' + "".join(f"a,{v}\n" for v in a_history()), "--format", "markdown"
    )

    assert "[red]`x`|<b>[31m" in output
    assert "\x1b" not in output + laid_out
    assert laid_out.startswith("### ``[red]`x`|<b>[31m``")


def test_a_drawing_stands_alone_and_has_levels_points_and_the_change(detect):
    drawing = ElementTree.fromstring(detect(as_csv(a_history()), "--format", "svg"))

    tags = [shape.tag.partition("}")[2] for shape in drawing.iter()]
    assert (tags.count("circle"), tags.count("polyline")) == (80, 2 + 1)  # two levels, one change
    titles = [shape.text or "" for shape in drawing.iter() if shape.tag.endswith("title")]
    (said_title,) = [title for title in titles if title.startswith("up ")]
    assert said_title.startswith("up +")
    assert "c050, point 51" in said_title


def test_a_name_cannot_leave_a_drawing(detect):
    rows = "".join(f'"<script>&\x1b{place}",{v}\n' for place, v in enumerate(a_history()))

    output = detect('commit,"</title><script>alert(1)</script>"\n' + rows, "--format", "svg")

    tags = {shape.tag.partition("}")[2] for shape in ElementTree.fromstring(output).iter()}
    shapes = {"rect", "text", "line", "polyline", "circle", "g"}
    assert tags == {"svg", "title", "desc", "style"} | shapes


def test_several_series_are_drawn_one_by_one(tmp_path, make_bundle):
    for seed in range(2):
        (tmp_path / f"{seed}.json").write_text(make_bundle(seed=seed).to_json())
    arguments = ["history", "detect", str(tmp_path), "--format", "svg"]

    every = CliRunner().invoke(app, arguments)
    one = CliRunner().invoke(app, [*arguments, "--column", "gpt:step peak_memory"])

    assert isinstance(every.exception, UsageError)
    assert "choose it with --column: 'gpt:step step_time_p50'" in str(every.exception)
    assert one.stdout.startswith("<svg")


def test_the_command_itself_exits_with_2_for_what_it_cannot_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["perfledger", "history", "detect", "absent.csv"])
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # of a whole process

    with pytest.raises(SystemExit) as ending:
        main()

    assert ending.value.code == NotFoundError.exit_code == 2
    assert capsys.readouterr().err.startswith("perfledger: there is no file absent.csv")


def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(as_csv(a_history()),))
    writer.start()
    try:
        done = CliRunner().invoke(app, ["history", "detect", str(pipe), "--json"])
    finally:
        writer.join()

    (searched,) = json.loads(done.stdout)["series"]
    assert [change["index"] for change in searched["changes"]] == [50]
