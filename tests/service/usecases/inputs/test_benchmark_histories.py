"""Histories of other tools, from files and folders, in the order of a clone."""

import json
import math
import shutil
from pathlib import Path

import pytest

from perfledger.metrics import MetricKind, WorseDirection
from perfledger.records import short_sha
from perfledger_profiles.benchmark_histories.results import HistoryFormat
from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.usecases.inputs import benchmark_histories
from perfledger_service.usecases.inputs.benchmark_histories import (
    is_column,
    read_benchmark_histories,
)
from tests.runners.profiles import history_samples as samples
from tests.runners.profiles.benchmark_histories.conftest import RECORDINGS
from tests.service.git_history import GitHistory


@pytest.fixture
def clone(tmp_path):
    """A repository of three commits, and their hashes."""
    history = GitHistory(tmp_path / "clone")
    return history.folder, [history.commit() for _ in range(3)]


def write(folder, files):
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def google_run(milliseconds, **context):
    entry = {"name": "b", "real_time": milliseconds, "cpu_time": 1, "time_unit": "ms"}
    return {"context": {"num_cpus": 1, "host_name": "h", **context}, "benchmarks": [entry]}


def test_a_file_of_another_tool_is_series_with_commits_units_and_directions(tmp_path):
    path = write(tmp_path / "h", {"data.js": samples.ACTION_SCRIPT}) / "data.js"

    (series,) = read_benchmark_histories(path)

    assert (series.name, series.unit) == ("fib_10 time", "s")
    assert series.values == pytest.approx([199.5e-9, 200.5e-9, 201.5e-9])
    assert series.labels == ("a" * 12, "b" * 12, "c" * 12)
    assert series.series is not None
    assert series.series.metric.worse is WorseDirection.HIGHER
    assert len(series.times) == 3
    assert series.notes == ("commits are in the order of the file",)


def test_the_folder_of_asv_is_one_history():
    series = {one.name: one for one in read_benchmark_histories(RECORDINGS / "asv")}

    memory, ratio = series["sums.mem_list memory"], series["sums.Sums.track_ratio(n=100)"]
    assert memory.labels == ("a6654906691f", "019085a63fb5")
    assert memory.series is not None
    assert memory.series.metric.kind is MetricKind.MEMORY
    assert ratio.series is None
    assert memory.notes[0] == "commits are in the order of their dates"


def test_files_of_pytest_benchmark_are_points_of_one_history():
    first, second = read_benchmark_histories(RECORDINGS / "pytest_benchmark")

    assert first.labels == ("33da2502770f", "5d5c9d37f3fc")
    assert len(second.values) == 2


def test_a_clone_orders_files_that_are_named_by_their_commits(tmp_path, clone):
    folder, commits = clone
    names = [f"run-{commits[2]}.json", f"run-{commits[0][:9]}.json", f"run-{commits[1]}.json"]
    files = {name: google_run(value) for value, name in enumerate(names, start=1)}

    real, _ = read_benchmark_histories(write(tmp_path / "h", files), clone=folder)

    assert real.values == pytest.approx([0.002, 0.003, 0.001])
    assert real.labels == tuple(short_sha(commit) for commit in commits)


def test_without_a_clone_such_files_are_in_the_order_of_measuring(tmp_path):
    files = {"b.json": google_run(1, date="2026-01-02"), "a.json": google_run(2, date="2026-01-01")}

    real, _ = read_benchmark_histories(write(tmp_path / "h", files))

    assert real.values == pytest.approx([0.002, 0.001])
    assert real.labels == ("2026-01-01T00:00+00:00", "2026-01-02T00:00+00:00")


def test_files_without_any_order_are_an_error_that_names_the_option(tmp_path):
    folder = write(tmp_path / "h", {"a.json": samples.BENCHER_BMF, "b.json": samples.BENCHER_BMF})

    with pytest.raises(UsageError, match="with --clone"):
        read_benchmark_histories(folder)


def test_a_file_named_by_no_commit_of_the_clone_is_an_error(tmp_path, clone):
    folder, _ = clone
    files = write(tmp_path / "h", {"deadbeef12.json": google_run(1)})

    with pytest.raises(UsageError, match="name no commit"):
        read_benchmark_histories(files, clone=folder)


def test_a_folder_that_is_no_clone_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="git"):
        read_benchmark_histories(RECORDINGS / "asv", clone=tmp_path)


def test_series_of_several_machines_are_named_by_them(tmp_path):
    files = {
        "a.json": google_run(1, date="2026-01-01"),
        "b.json": google_run(1, date="2026-01-01") | {},
    }
    files["b.json"]["context"] = {"num_cpus": 1, "host_name": "other", "date": "2026-01-01"}

    folder = write(tmp_path / "h", files)
    names = [one.name for one in read_benchmark_histories(folder)]
    real, _ = read_benchmark_histories(folder, is_one_machine=True)

    assert "b real_time on h" in names
    assert "b real_time on other" in names
    assert (real.name, len(real.values)) == ("b real_time", 2)


@pytest.mark.parametrize(
    "content", ["ms\n1\n2\n", "[1, 2, 3]", '{"values": [1]}', '[{"commit": "a", "ms": 1}]', "{", ""]
)
def test_a_table_is_of_no_other_tool(tmp_path, content):
    path = write(tmp_path / "h", {"a.json": content}) / "a.json"

    assert read_benchmark_histories(path) == ()
    assert read_benchmark_histories(tmp_path / "h") == ()


def test_bundles_are_of_no_other_tool(tmp_path):
    folder = write(tmp_path / "h", {"a.json": {"format": "perfledger-bundle"}})

    assert read_benchmark_histories(folder) == ()


def test_a_packed_file_may_be_a_bundle_and_is_read_by_force_only(tmp_path):
    path = tmp_path / "a.json.gz"
    path.write_bytes(b"\x1f\x8b")

    assert read_benchmark_histories(path) == ()


def test_the_format_can_be_given(tmp_path):
    results = [{"name": "decode", "unit": "ms", "value": 5}]
    path = write(tmp_path / "h", {"a.json": results}) / "a.json"

    (series,) = read_benchmark_histories(path, format_=HistoryFormat.ACTION_BENCHMARK)

    assert series.values == (0.005,)
    with pytest.raises(UsageError, match="'name' is missing"):
        read_benchmark_histories(path, format_=HistoryFormat.PYTORCH)


def test_files_of_several_tools_need_a_choice(tmp_path):
    files = {"a.json": samples.ACTION, "b.json": samples.LNT}
    folder = write(tmp_path / "h", files)

    with pytest.raises(UsageError, match="h has files of github-action-benchmark, lnt: choose"):
        read_benchmark_histories(folder)
    assert read_benchmark_histories(folder, format_=HistoryFormat.LNT)


def test_files_that_are_left_out_of_a_history_are_named(tmp_path):
    files = {"data.js": samples.ACTION_SCRIPT, "b.json": samples.LNT}
    others = {f"{place}.json": {"x": 1} for place in range(5)}
    folder = write(tmp_path / "h", files | others)

    series = read_benchmark_histories(folder, format_=HistoryFormat.ACTION_BENCHMARK)

    assert series[0].notes[-1] == (
        "files that are not of github-action-benchmark, which are left out: "
        "0.json, 1.json, 2.json, 3.json, 4.json and 1 more"
    )


def test_no_file_of_asv_is_left_out():
    (series, *_) = read_benchmark_histories(RECORDINGS / "asv")

    assert not any("files" in note for note in series.notes)


def test_a_damaged_file_of_a_history_is_an_error_and_not_left_out(tmp_path):
    shutil.copytree(RECORDINGS / "pytest_benchmark", tmp_path / "h")
    (tmp_path / "h" / "0003.json").write_text('{"machine_info": ')

    with pytest.raises(UsageError, match=r"0003\.json is not complete JSON"):
        read_benchmark_histories(tmp_path / "h")


def test_a_damaged_script_is_an_error(tmp_path):
    path = write(tmp_path / "h", {"data.js": samples.ACTION_SCRIPT[:-5]}) / "data.js"

    with pytest.raises(UsageError, match=r"data\.js is not complete JSON"):
        read_benchmark_histories(path)


def test_rows_of_several_csv_files_have_no_common_order(tmp_path):
    folder = write(tmp_path / "h", {"a.csv": samples.OTAVA_CSV, "b.csv": samples.OTAVA_CSV})

    with pytest.raises(UsageError, match="several CSV files"):
        read_benchmark_histories(folder)


def test_gaps_of_otava_are_gaps(tmp_path):
    path = write(tmp_path / "h", {"a.csv": samples.OTAVA_CSV}) / "a.csv"

    _, second = read_benchmark_histories(path)

    assert second.name == "metric2"
    assert [math.isnan(value) for value in second.values] == [False, True, False]


def test_a_folder_beyond_the_limits_is_an_error(tmp_path, monkeypatch):
    folder = write(tmp_path / "h", {"a.json": samples.LNT, "b.json": samples.LNT})

    monkeypatch.setattr(benchmark_histories, "MAX_HISTORY_FOLDER_BYTES", 10)
    with pytest.raises(TooLargeError, match="more than 0 MiB"):
        read_benchmark_histories(folder)
    monkeypatch.setattr(benchmark_histories, "MAX_HISTORY_FILES", 1)
    with pytest.raises(TooLargeError, match="at most 1 are read"):
        read_benchmark_histories(folder)


def test_a_missing_file_is_an_error():
    with pytest.raises(NotFoundError):
        read_benchmark_histories(Path("absent.json"))


@pytest.mark.parametrize(
    ("name", "text", "column", "is_in"),
    [
        ("a.csv", "time,ms\n", "ms", True),
        ("a.csv", "time; ms\r\n", "ms", True),
        ("a.csv", '\ufeff"ms"\ttime\n', "ms", True),
        ("a.csv", "time,ms\n", "s", False),
        ("a.csv", "time,ms\n", None, False),
        ("a.json", '{"ms": 1}', "ms", False),
        ("data.js", samples.ACTION_SCRIPT, "fib_10 time", False),
    ],
)
def test_a_column_is_one_of_the_first_line_of_a_csv(tmp_path, name, text, column, is_in):
    path = write(tmp_path / "h", {name: text}) / name

    assert is_column(path, column) is is_in


def test_a_benchmark_whose_unit_changes_is_two_series(tmp_path):
    runs = [
        {
            "commit": {"id": f"{number:040x}", "timestamp": "2026-01-01T00:00:00Z"},
            "date": number,
            "tool": "customSmallerIsBetter",
            "benches": [{"name": "n", "unit": unit, "value": 1}],
        }
        for number, unit in enumerate(["widgets", "widgets", "gadgets"])
    ]
    file = {"lastUpdate": 1, "entries": {"s": runs}}
    path = write(tmp_path / "h", {"data.json": file}) / "data.json"

    series = read_benchmark_histories(path)

    assert {one.name for one in series} == {"n (widgets)", "n (gadgets)"}
    assert len({one.series for one in series}) == 2


def test_a_skipped_benchmark_was_not_measured(tmp_path):
    skipped = google_run(0.0)
    skipped["benchmarks"][0] |= {"skipped": True, "skip_message": "no GPU"}
    path = write(tmp_path / "h", {"r.json": skipped}) / "r.json"

    with pytest.raises(UsageError, match="every result failed or was skipped"):
        read_benchmark_histories(path)
