"""`perfledger history detect` on other tools' histories, as the page on moving here has it."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from perfledger_profiles.benchmark_histories.results import HistoryFormat
from perfledger_service.cli.app import app
from perfledger_service.errors import UsageError
from tests.runners.profiles import history_samples as samples
from tests.runners.profiles.benchmark_histories.conftest import RECORDINGS
from tests.service.git_history import GitHistory

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "how-to" / "move-here.md").read_text(encoding="utf-8")
# Those of `history import` have tests of their own: they need commits of the files, or a service.
COMMANDS = re.findall(r"^perfledger (history detect .*)$", PAGE, re.MULTILINE)
CUSTOM: list[dict[str, Any]] = [{"name": "decode", "unit": "ms", "value": 41.2}]
NAMED_BY_COMMIT: dict[str, Any] = {
    "bmf": samples.BENCHER_BMF,
    "custom": CUSTOM,
    "google": json.loads((RECORDINGS / "google_benchmark.json").read_text(encoding="utf-8")),
    "nvbench": samples.NVBENCH,
    "perfherder": samples.PERFHERDER,
}


def detect(*arguments):
    done = CliRunner().invoke(
        app, ["history", "detect", *arguments], env={"COLUMNS": "100"}, catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.stdout


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the page names, and a clone with their commits."""
    monkeypatch.chdir(tmp_path)
    history = GitHistory(tmp_path / "models")
    commits = [history.commit() for _ in range(3)]
    shutil.copytree(RECORDINGS / "pytest_benchmark", tmp_path / ".benchmarks")
    shutil.copytree(RECORDINGS / "asv", tmp_path / "results")
    for name in ("data.js", "timings.csv"):
        shutil.copy(ROOT / "examples" / "commands" / name, tmp_path)
    write(tmp_path / "perf.json", samples.BENCHER_PERF)
    write(tmp_path / "otava.csv", samples.OTAVA_CSV)
    write(tmp_path / "values.csv", samples.PLAIN_CSV)
    records = zip(samples.PYTORCH_V3, commits, strict=True)
    write(tmp_path / "records.json", [record | {"head_sha": commit} for record, commit in records])
    for name, content in NAMED_BY_COMMIT.items():
        for commit in commits:
            write(tmp_path / name / f"results-{commit[:10]}.json", content)
    for number, commit in enumerate(commits, start=1):
        write(tmp_path / "skia" / f"{number}.json", samples.SKIA_PERF | {"git_hash": commit})
        run = samples.LNT["run"] | {"llvm_project_revision": str(265649 + number)}
        write(tmp_path / "lnt" / f"{number}.json", samples.LNT | {"run": run})
        result = samples.VLLM_SERVE | {"date": f"2026052{number}-114606"}
        write(tmp_path / "vllm" / f"{number}.json", result)
    write(tmp_path / "mlperf" / "1.log", (RECORDINGS / "mlperf.log").read_text(encoding="utf-8"))
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_runs(command):
    _, _, *arguments = shlex.split(command)

    output = detect(*arguments)
    assert output or "--output" in arguments


def test_the_page_has_a_section_for_every_tool():
    titles = set(re.findall(r"^## (.*)$", PAGE, re.MULTILINE)) - {"Store it"}

    assert len(titles) == len(HistoryFormat)
    assert {tool for tool in HistoryFormat if f"`{tool}`" not in PAGE} == set()


@pytest.mark.usefixtures("folder")
def test_a_change_has_its_commit_its_direction_and_the_order_of_commits():
    document = json.loads(detect("data.js", "--json"))
    decode, encode = document["series"]

    (change,) = decode["changes"]
    assert (decode["name"], decode["unit"], decode["worse"]) == ("decode time", "s", "higher")
    assert (change["index"], encode["changes"]) == (24, [])
    assert change["change"] == pytest.approx(0.06, abs=0.01)
    assert document["notes"] == ["commits are in the order of the file"]
    (event,) = document["events"]
    assert event["harm"] == "worse"


@pytest.mark.usefixtures("folder")
def test_what_is_left_out_is_said_below():
    output = detect("results")

    assert "Commits are in the order of their dates." in output
    assert "Series without a value, which are left out: 1." in output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("data.js", "--column", "absent"), "data.js has no series 'absent': choose from 'decode"),
        (("timings.csv", "--clone", "models"), "timings.csv is not read as another tool's history"),
        (("bmf",), "with --clone"),
        (("records.json",), "with --clone"),
        (
            ("data.js", "--from", "excel"),
            "'excel' is not a tool whose history can be read: choose from",
        ),
        (("data.js", "--from", "asv"), r"data\.js has no benchmarks\.json"),
    ],
)
def test_a_history_that_cannot_be_read_says_what_to_do(arguments, words):
    with pytest.raises(UsageError, match=words):
        detect(*arguments)


def test_a_chosen_column_of_a_csv_is_read_as_before_whatever_its_dates_are(folder):
    write(folder / "own.csv", "date,ms,watts\n31/12/2026,1,2\n1/1/2027,3,4\n")

    (series,) = json.loads(detect("own.csv", "--column", "ms", "--json"))["series"]

    assert (series["name"], series["points"]) == ("ms", 2)
    with pytest.raises(UsageError, match="line 2 has no time"):
        detect("own.csv")
