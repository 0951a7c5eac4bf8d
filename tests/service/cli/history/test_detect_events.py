"""`perfledger history detect FOLDER`: what one commit did to many series is one event."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from perfledger.records import Device, Machine, Revision
from perfledger_service.cli.app import app

COMMITS, MOVED_AT = 24, 14
WORKLOADS = ("gpt:step", "gpt:eval", "data:load")


@pytest.fixture
def folder(tmp_path, make_bundle):
    """Write a bundle for each commit; the workloads of gpt become slower at one of them."""

    def write(machine_of=lambda _: Machine(device=Device.CPU, model="Test CPU"), moves=("gpt",)):
        for commit in range(COMMITS):
            bundle = make_bundle(
                workloads=WORKLOADS,
                ratio=1.0,
                pairs=4,
                samples=2,
                seed=commit,
                pull_request=None,
                created_at=f"2026-11-{commit + 1:02}T12:00:00+00:00",
                base=Revision(sha=f"{commit:040x}"),
                head=Revision(sha=f"{commit + 1:040x}"),
                machine=machine_of(commit),
            )
            level = 1.05 if commit >= MOVED_AT else 1.0
            runs = tuple(
                replace(run, samples=scaled(run, level)) if run.workload.startswith(moves) else run
                for run in bundle.runs
            )
            path = tmp_path / f"{commit:02}.json"
            path.write_text(replace(bundle, runs=runs).to_json())
        return tmp_path

    return write


def scaled(run, level):
    times = tuple(level * one for one in run.samples["step_time_p50"])
    return {**run.samples, "step_time_p50": times}


def output(folder, *arguments):
    done = CliRunner().invoke(
        app, ["history", "detect", str(folder), *arguments], env={"COLUMNS": "120"}
    )
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.slow
def test_series_that_moved_at_one_commit_are_one_event(folder):
    document = json.loads(output(folder(), "--format", "json"))

    [event] = document["events"]
    names = {(one["workload"], one["metric"]) for one in event["members"]}
    assert names == {("gpt:step", "step_time_p50"), ("gpt:eval", "step_time_p50")}
    assert (event["harm"], event["is_believed"], event["watched"]) == ("worse", True, 6)
    assert event["first"] <= MOVED_AT <= event["last"]
    assert event["members"][0]["change"] == pytest.approx(0.05, abs=0.005)
    assert document["environment_changes"] == []


@pytest.mark.slow(ci_only=True)
def test_the_terminal_and_markdown_say_who_moved(folder):
    tmp_path = folder()

    text, markdown = output(tmp_path), output(tmp_path, "--format", "markdown")

    assert "Across all series" in text
    assert "2 of 6 series" in text
    assert "### Across all series" in markdown
    assert "gpt:step step time +5" in markdown
    assert "data:load step time" not in text


@pytest.mark.slow(ci_only=True)
def test_a_machine_that_changed_under_most_workloads_is_no_commits_doing(folder):
    def machine(commit):
        kernel = "6.8" if commit >= MOVED_AT else "6.1"
        return Machine(device=Device.CPU, model="Test CPU", kernel=kernel)

    document = json.loads(output(folder(machine, moves=WORKLOADS), "--format", "json"))

    [change] = document["environment_changes"]
    assert (change["moved_workloads"], change["watched_workloads"]) == (3, 3)
    assert document["events"] == []
    assert "no commit is responsible" in output(folder(machine, moves=WORKLOADS))


def test_a_single_series_of_a_file_has_no_events(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("ms\n" + "".join(f"{10 + place % 3}\n" for place in range(30)))

    assert "events" not in json.loads(output(path, "--format", "json"))
