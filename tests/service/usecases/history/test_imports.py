"""Imports of real files into a running service: round trips, interruptions, hostile files."""

import json

import pytest
from sqlmodel import select

from perfledger.records import short_sha
from perfledger_baselines.history.detection.detect import detect
from perfledger_runners.bundles import upload
from perfledger_service.errors import PerfledgerError, UsageError
from perfledger_service.store.database import read_session
from perfledger_service.store.page_queries import series_view
from perfledger_service.store.tables import ObservationRow, SeriesRow, UploadRow
from perfledger_service.usecases.history.imported_bundles import content_of
from perfledger_service.usecases.history.imports import (
    import_history,
    read_import,
    summarize_import,
)
from perfledger_service.usecases.inputs import benchmark_histories
from perfledger_service.usecases.inputs.benchmark_histories import read_benchmark_histories
from perfledger_service.usecases.inputs.history_sources import read_histories
from perfledger_service.usecases.inputs.upload_target import UploadTarget
from tests.runners.profiles import history_samples as samples
from tests.runners.profiles.benchmark_histories.conftest import RECORDINGS

TOKEN = "pl_0123abcd_" + "s" * 43
REPOSITORY = "octo/models"


class Watcher:
    """Counts what is uploaded, and may end it as an interruption would."""

    def __init__(self, most=None):
        self.tables, self.rows, self.done, self.most = [], 0, 0, most

    def began(self, table, *, rows):
        self.tables.append(table)
        self.rows = rows

    def advanced(self, rows):
        self.done += rows
        if self.done == self.most:
            raise KeyboardInterrupt


@pytest.fixture
def target(site):
    return UploadTarget(url=site.url, token=TOKEN)


def write(path, document):
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def read_history(paths, *, repository=REPOSITORY, **values):
    return read_import(paths, repository=repository, watcher=Watcher(), **values)


def stored(site, table):
    with read_session(site.engine) as session:
        return session.exec(select(table)).all()


def judge_all(site):
    for work in site.jobs.works:
        site.judge(work.upload_id)


def long_history(commits):
    """Return a history of github-action-benchmark whose time rises by half in its middle."""
    runs = [
        samples.ACTION_RUNS[0]
        | {
            "commit": samples.ACTION_RUNS[0]["commit"] | {"id": f"{number + 1:040x}"},
            "date": 1_767_600_000_000 + number * 86_400_000,
            "benches": [
                {
                    "name": "fib_10",
                    "unit": "ns/iter",
                    "value": (200 if number < commits // 2 else 300) + number % 3,
                }
            ],
        }
        for number in range(commits)
    ]
    return samples.ACTION | {"entries": {"C++ Benchmark": runs}}


@pytest.mark.slow(ci_only=True)
def test_the_stored_series_has_the_points_and_changes_of_the_files(site, target, tmp_path):
    path = write(tmp_path / "data.json", long_history(24))
    history, _ = read_history([path])
    import_history(history, target, watcher=Watcher())
    judge_all(site)

    with read_session(site.engine) as session:
        points = sorted(series_view(session, 1).points, key=lambda one: one.position)
    (of_file,) = read_benchmark_histories(path)

    assert [short_sha(one.sha) for one in points] == list(of_file.labels)
    assert tuple(one.center for one in points) == of_file.values
    (change,) = detect([one.center for one in points]).changes
    assert change == detect(of_file.values).changes[0]
    assert change.index == 12


def test_bundles_of_an_import_in_a_folder_have_the_changes_of_the_files(tmp_path):
    path = write(tmp_path / "data.json", long_history(24))
    history, _ = read_history([path])
    folder = tmp_path / "bundles"
    folder.mkdir()
    for number, bundle in enumerate(history.bundles):
        (folder / f"{number}.json").write_bytes(content_of(bundle))

    (of_bundles,) = read_histories(folder)
    (of_file,) = read_benchmark_histories(path)

    assert of_bundles.values == pytest.approx(of_file.values)
    assert of_bundles.labels == of_file.labels


@pytest.mark.slow(ci_only=True)
def test_recordings_of_asv_are_series_with_their_units_directions_and_readings(site, target):
    history, read = read_history([RECORDINGS / "asv"])
    import_history(history, target, watcher=Watcher())
    judge_all(site)

    series = {one.workload: one for one in stored(site, SeriesRow)}
    memory = series["sums.mem_list"]
    assert (memory.metric, memory.unit, memory.worse) == ("memory (B)", "B", "higher")
    assert memory.machine_class == "imported:asv, box existing-py:1"
    of_files = {one.name: one for one in read_benchmark_histories(RECORDINGS / "asv")}
    centers = [one.center for one in stored(site, ObservationRow) if one.series_id == memory.id]
    assert sorted(centers) == sorted(of_files["sums.mem_list memory"].values)
    page = site.get(f"/runs/{site.jobs.works[0].upload_id}").text
    assert "sums.mem_list" in page
    assert "perfledger check" not in page
    assert "pairs of fresh processes" not in page
    assert dict(summarize_import(history, read, repository="", is_dry_run=True).left_out) == {
        "without a value (the benchmark failed or was skipped)": 2,
        "without a direction (--worse states it)": 4,
    }


def test_an_interrupted_import_goes_on_with_the_rest_and_a_repeated_one_adds_nothing(
    site, target, tmp_path
):
    path = write(tmp_path / "data.js", samples.ACTION_SCRIPT)
    history, _ = read_history([path])

    with pytest.raises(KeyboardInterrupt):
        import_history(history, target, watcher=Watcher(most=2))
    assert len(stored(site, UploadRow)) == 2
    watcher = Watcher()
    for _ in range(2):
        watcher.done = 0
        import_history(history, target, watcher=watcher)

    assert watcher.done == watcher.rows == 3
    assert len(stored(site, UploadRow)) == 3


def test_more_commits_add_only_those(site, target, tmp_path):
    for commits in (2, 3):
        path = write(tmp_path / "data.json", long_history(commits))
        history, _ = read_history([path])
        import_history(history, target, watcher=Watcher())

    assert len(stored(site, UploadRow)) == 3


def test_files_that_overlap_are_imported_once(tmp_path):
    path = write(tmp_path / "data.js", samples.ACTION_SCRIPT)

    history, _ = read_history([path, path])

    assert [one.points for one in history.series] == [3]


def test_the_commits_of_a_clone_are_read_once_for_all_files(tmp_path, monkeypatch):
    paths = [write(tmp_path / f"{name}.js", samples.ACTION_SCRIPT) for name in "ab"]
    commits = [one["commit"]["id"] for one in samples.ACTION_RUNS]
    clones = []

    def branch_of_clone(clone):
        clones.append(clone)
        return commits

    monkeypatch.setattr(benchmark_histories, "branch_of_clone", branch_of_clone)

    history, read = read_history(paths, clone=tmp_path)

    assert clones == [tmp_path]
    assert read.line.place_of(history.bundles[0].head.sha) == history.bundles[0].head.depth


def test_a_refusal_says_how_many_are_stored_and_never_the_token(site, tmp_path):
    path = write(tmp_path / "data.js", samples.ACTION_SCRIPT)
    history, _ = read_history([path], repository="octo/elsewhere")

    with pytest.raises(PerfledgerError, match=r"; 0 of 3 bundles are imported$") as error:
        import_history(history, UploadTarget(url=site.url, token=TOKEN), watcher=Watcher())

    assert TOKEN not in str(error.value)


def test_a_service_that_does_not_answer_now_may_later(tmp_path, monkeypatch):
    path = write(tmp_path / "data.js", samples.ACTION_SCRIPT)
    history, _ = read_history([path])
    monkeypatch.setattr(upload, "MAX_ATTEMPTS", 1)
    nobody = UploadTarget(url="http://127.0.0.1:1", token=TOKEN)

    with pytest.raises(PerfledgerError, match="imported; the same command goes on with the rest"):
        import_history(history, nobody, watcher=Watcher())


@pytest.mark.parametrize("name", ["", "models", "octo/models/x", "octo/mo dels", "octo/\x1b[31m"])
def test_a_project_is_a_repositorys_name(tmp_path, name):
    path = write(tmp_path / "data.js", samples.ACTION_SCRIPT)

    with pytest.raises(UsageError, match="give the repository as OWNER/NAME"):
        read_history([path], repository=name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("seconds\n1\n2\n", "name the tool with --from"),
        ('{"lastUpdate": 1, "entries": {}}', "no result of github-action-benchmark"),
        ("window.BENCHMARK_DATA = {", "data.js"),
    ],
)
def test_a_file_that_is_no_history_is_an_error_of_ours(tmp_path, content, message):
    with pytest.raises(UsageError, match=message):
        read_history([write(tmp_path / "data.js", content)])


def test_one_tool_is_imported_at_a_time(tmp_path):
    other = write(tmp_path / "perf.json", samples.BENCHER_PERF)

    with pytest.raises(UsageError, match="import one tool at a time"):
        read_history([RECORDINGS / "asv", other])


def test_if_nothing_can_be_imported_the_error_has_the_reasons(tmp_path):
    path = write(tmp_path / "run.json", {"context": {"date": "2026-01-01T00:00:00+00:00"}})
    google = {"name": "b", "real_time": 1.0, "cpu_time": 1.0, "time_unit": "ms"}
    write(path, {"context": {"num_cpus": 1, "host_name": "h"}, "benchmarks": [google]})

    with pytest.raises(UsageError, match="no result can be imported: 2 without a commit"):
        read_history([path])
