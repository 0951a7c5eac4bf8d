"""`perfledger bench time` as a user runs it, and how its result looks."""

import csv
import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from perfledger.records import Device, FindingLevel, HostFinding, Machine
from perfledger_service.cli.app import app
from perfledger_service.errors import NotMeasuredError, UsageError
from perfledger_service.rendering.bench.time import time_document
from perfledger_service.rendering.layout.writers import plain_lines, to_markdown, to_terminal
from perfledger_service.usecases.bench.time import TimeRequest
from perfledger_service.values.timed_statement import TimedProcess, TimedStatement

pytestmark = pytest.mark.usefixtures("short_runs")

FAST = TimedProcess(
    typical_s=1.2e-8, p5_s=1e-8, p25_s=1.1e-8, p75_s=1.4e-8, p95_s=2e-8, readings=250
)
SLOW = TimedProcess(
    typical_s=2e-8, p5_s=1.6e-8, p25_s=1.8e-8, p75_s=2.5e-8, p95_s=4e-8, readings=250
)
TIMED = TimedStatement(
    statement="x + 1",
    set_up="x = 1",
    machine=Machine(device=Device.CPU, model="a CPU"),
    processes=(FAST, SLOW),
    typical_s=1.5e-8,
    low_s=1.2e-8,
    high_s=1.8e-8,
    calls=100_000,
    cpu_time_s=1.6e-8,
    memory_bytes=20e6,
    findings=(),
)


def plain_text(timed):
    printed = plain_lines(to_terminal(time_document(timed)))
    return printed.replace("\N{NO-BREAK SPACE}", " ").splitlines()


def test_the_typical_time_has_its_interval_and_what_it_is_made_of():
    text = " ".join(" ".join(plain_text(TIMED)).split())

    assert "15.0 ns a call: 95 % interval 12.0 to 18.0 ns (±20.0 %)" in text
    assert "from 500 readings of 100,000 calls in 2 fresh processes." in text
    assert "16.0 ns of CPU time a call" in text


def test_the_spread_of_each_process_is_drawn_on_one_scale():
    lines = plain_text(TIMED)
    scale = next(index for index, line in enumerate(lines) if line.startswith("10.0 ns"))

    fast, slow = lines[scale + 1 : scale + 3]
    assert lines[scale].endswith("40.0 ns")
    assert fast.index("●") < slow.index("●")
    assert fast.startswith("─")
    assert len(slow) == 78


def test_equal_readings_have_no_picture():
    same = TimedProcess(typical_s=1e-8, p5_s=1e-8, p25_s=1e-8, p75_s=1e-8, p95_s=1e-8, readings=2)

    lines = plain_text(replace(TIMED, processes=(same, same)))

    assert not any("●" in line for line in lines)


def test_a_busy_machine_is_named():
    busy = HostFinding(name="load", level=FindingLevel.BUSY, detail="3 tasks a core")

    lines = plain_text(replace(TIMED, findings=(busy,)))

    assert "The machine was busy (load: 3 tasks a core)." in lines


def test_a_statement_is_code_in_markdown():
    assert "`x + 1`" in to_markdown(time_document(TIMED))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [({"statement": " \n"}, "the statement is empty"), ({"processes": 1}, "--processes 1: give")],
)
def test_what_cannot_be_timed_is_refused(changes, complaint):
    with pytest.raises(UsageError, match=complaint):
        TimeRequest(**{"statement": "1", **changes})


@pytest.mark.slow(ci_only=True)
def test_a_statement_is_timed_in_as_many_processes_as_asked_for(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    timed = json.loads(
        run(
            "bench",
            "time",
            "sum(numbers)",
            "--setup",
            "numbers = [1] * 100",
            "--processes",
            "2",
            "--json",
        )
    )

    assert (timed["statement"], timed["set_up"]) == ("sum(numbers)", "numbers = [1] * 100")
    assert len(timed["processes"]) == 2
    assert 0 < timed["low_s"] <= timed["typical_s"] <= timed["high_s"]
    assert timed["calls"] > 1


@pytest.mark.slow(ci_only=True)
def test_a_statement_sees_the_packages_of_its_folder(run, tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "ours.py").write_text("def work():\n    return sum(range(10))\n")
    monkeypatch.chdir(tmp_path)

    printed = run(
        "bench",
        "time",
        "work()",
        "--setup",
        "from ours import work",
        "--processes",
        "2",
        "--format",
        "csv",
    )

    rows = list(csv.DictReader(printed.splitlines()))
    assert [row["statement"] for row in rows] == ["work()", "work()"]
    assert all(float(row["typical_s"]) > 0 for row in rows)


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("1 +", "not measured: <statement>: line 1: invalid syntax: 1 +"),
        ("1 / 0", "not measured: ZeroDivisionError: division by zero (<statement>:1)"),
    ],
)
def test_the_error_of_a_statement_begins_with_its_own_frame(
    statement, complaint, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(app, ["bench", "time", statement])

    assert isinstance(result.exception, NotMeasuredError)
    assert str(result.exception).startswith(complaint)
