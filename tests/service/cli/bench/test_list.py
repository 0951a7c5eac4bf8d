"""`perfledger bench list` as a user runs it: a real repository, a real child process."""

import csv
import json
import subprocess

import pytest

pytestmark = pytest.mark.slow

WORKLOADS = """
import perfledger

@perfledger.workload(unit="tokens", units_per_step=128, params={"size": [1, 2]}, tags=["quick"],
    margin=0.05, metrics=["step_time_p50", "peak_memory"], timeout=90)
def step(size):
    return lambda: None
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "perfledger.toml").write_text('paths = ["benchmarks"]\n')
    (tmp_path / "benchmarks" / "steps.py").write_text(WORKLOADS)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("repository")
def test_every_registered_workload_is_listed_with_what_it_counts(run):
    rows = list(csv.DictReader(run("bench", "list", "--format", "csv").splitlines()))

    assert [row["id"] for row in rows] == [
        "benchmarks.steps:step[size=1]",
        "benchmarks.steps:step[size=2]",
    ]
    assert {(row["unit"], float(row["units_per_step"])) for row in rows} == {("tokens", 128.0)}


@pytest.mark.slow(ci_only=True)
def test_a_file_that_cannot_be_imported_is_named(run, repository):
    (repository / "benchmarks" / "broken.py").write_text("import nothing_like_this\n")

    document = json.loads(run("bench", "list", "--json"))

    assert len(document["workloads"]) == 2
    assert document["not_importable"][0]["path"] == "benchmarks/broken.py"
    assert "not importable: benchmarks/broken.py" in " ".join(run("bench", "list").split())


def test_another_folder_can_be_named(run, repository, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert "benchmarks.steps:step[size=1]" in run("bench", "list", repository)


@pytest.mark.usefixtures("repository")
def test_an_expression_chooses_among_ids_and_tags(run):
    listed = json.loads(run("bench", "list", "-k", "size=2 and quick", "--json"))

    assert [(row["id"], row["tags"]) for row in listed["workloads"]] == [
        ("benchmarks.steps:step[size=2]", "quick")
    ]


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("repository")
def test_what_a_workload_sets_for_itself_is_shown_within_80_columns(run):
    first = json.loads(run("bench", "list", "--json"))["workloads"][0]
    lines = run("bench", "list").splitlines()

    assert (first["margin"], first["timeout_s"]) == (0.05, 90)
    assert first["metrics"] == "step_time_p50, peak_memory"
    words = "margin 5 %; judged by step time, peak memory; at most 90 s in one process; tags quick"
    assert words in " ".join(" ".join(lines).replace("\N{NO-BREAK SPACE}", " ").split())
    assert max(map(len, lines)) <= 80
