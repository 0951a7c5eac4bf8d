"""`perfledger history import`, as a user runs it."""

import json

import pytest

from perfledger_service.errors import UsageError
from tests.runners.profiles import history_samples as samples

TOKEN = "pl_0123abcd_" + "s" * 43


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.js"
    path.write_text(samples.ACTION_SCRIPT)
    return path


def test_a_dry_run_needs_no_service_and_shows_series_points_and_commits(run, data, monkeypatch):
    monkeypatch.delenv("PERFLEDGER_UPLOAD_URL", raising=False)
    words = ("history", "import", data, "--repository", "octo/models", "--dry-run")

    text, document = run(*words), json.loads(run(*words, "--json"))

    assert text.startswith("3 points in 1 series of 3 commits would be imported")
    assert "asks GitHub" in text
    (series,) = document["series"]
    assert (series["workload"], series["unit"], series["worse"]) == ("fib_10", "s", "higher")
    assert (series["points"], series["commits"], document["is_dry_run"]) == (3, 3, True)
    assert document["left_out"] == []


def test_results_that_are_left_out_are_counted_by_reason(run, tmp_path):
    bench = {"name": "fib_10", "unit": "ns/iter", "value": 1.0}
    path = tmp_path / "data.json"
    first = samples.ACTION_RUNS[0] | {"benches": [bench]}
    runs = [first, first | {"date": first["date"] + 60_000}]
    path.write_text(json.dumps(samples.ACTION | {"entries": {"B": runs}}))
    words = ("history", "import", path, "--repository", "octo/models", "--dry-run")

    text, document = run(*words), json.loads(run(*words, "--json"))

    reason = "whose commit already has a value"
    assert document["left_out"] == [{"reason": reason, "results": 1}]
    assert f"Left out: 1 result {reason}." in " ".join(text.split())


def test_a_plain_csv_is_imported_without_saying_which_tool_made_it(run, tmp_path):
    path = tmp_path / "values.csv"
    path.write_text(samples.PLAIN_CSV.replace("aaa", "8c1f0a2b3c4d5e6f708192a3b4c5d6e7f8091a2"))

    document = json.loads(
        run("history", "import", path, "--repository", "octo/models", "--dry-run", "--json")
    )

    series = {one["workload"]: one for one in document["series"]}
    assert {name: (one["unit"], one["worse"], one["points"]) for name, one in series.items()} == {
        "latency": ("s", "higher", 3),
        "throughput": ("images/s", "lower", 1),
    }


@pytest.mark.slow
def test_an_import_stores_each_commit_once(run, site, data):
    words = ("history", "import", data, "--repository", "octo/models", "--upload-url", site.url)

    first = run(*words, PERFLEDGER_UPLOAD_TOKEN=TOKEN)
    second = run(*words, PERFLEDGER_UPLOAD_TOKEN=TOKEN)

    assert first == second
    assert "are imported from" in first
    assert len({work.upload_id for work in site.jobs.works}) == 3


def test_without_a_service_the_command_says_what_to_set(run, data, monkeypatch):
    monkeypatch.delenv("PERFLEDGER_UPLOAD_URL", raising=False)

    with pytest.raises(UsageError, match="--upload-url or set PERFLEDGER_UPLOAD_URL"):
        run("history", "import", data, "--repository", "octo/models")


def test_names_in_the_files_cannot_write_to_the_terminal(run, tmp_path):
    bench = {"name": "a\x1b[31m", "unit": "ns/iter", "value": 1.0}
    hostile = samples.ACTION_RUNS[0] | {"benches": [bench, {**bench, "name": "good"}]}
    path = tmp_path / "data.json"
    path.write_text(json.dumps(samples.ACTION | {"entries": {"B": [hostile]}}))

    text = run("history", "import", path, "--repository", "octo/models", "--dry-run")

    assert "\x1b" not in text
    assert "1 result with a name that is empty, too long or has control" in text
