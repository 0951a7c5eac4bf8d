from datetime import datetime

import pytest

from perfledger_service.cli.file_or_store import PeriodFlags, curves_of, files_of, log_of
from perfledger_service.errors import UsageError
from perfledger_service.values.fleet_views import ImportKind

FIRST, LAST = datetime(2026, 7, 1), datetime(2026, 10, 1)  # noqa: DTZ001 - as typer reads a day


def test_named_files_are_read(tmp_path):
    path = tmp_path / "usage.csv"
    path.write_text("team,hours\n")

    (file,) = files_of([path], None, ImportKind.USAGE)

    assert (file.name, file.data) == ("usage.csv", b"team,hours\n")


def test_a_named_log_is_read(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("gpu_num\n")

    assert log_of(path, None).data == b"gpu_num\n"


@pytest.mark.parametrize(("has_file", "source"), [(True, "main"), (False, None)])
def test_a_file_and_a_source_are_alternatives(tmp_path, has_file, source):
    path = tmp_path / "usage.csv"
    files = [path] if has_file else []

    with pytest.raises(UsageError, match="give either files or --source NAME"):
        files_of(files, source, ImportKind.USAGE)
    with pytest.raises(UsageError, match="give either files or --source NAME"):
        log_of(path if has_file else None, source)
    with pytest.raises(UsageError, match="give either files or --source NAME"):
        curves_of([str(path)] if has_file else [], source, latency_metric=None)


def test_the_latency_of_imported_curves_was_chosen_when_they_were_imported():
    with pytest.raises(UsageError, match="--latency-metric applies when curves are imported"):
        curves_of([], "main", latency_metric="ttft")


def test_a_period_is_two_days_in_utc():
    period = PeriodFlags(start=FIRST, end=LAST).period

    assert period is not None
    assert (period.start.isoformat(), period.end.isoformat()) == (
        "2026-07-01T00:00:00+00:00",
        "2026-10-01T00:00:00+00:00",
    )
    assert PeriodFlags().period is None


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        (FIRST, None, "go together"),
        (None, LAST, "go together"),
        (LAST, FIRST, "is not before"),
        (FIRST, FIRST, "is not before"),
    ],
)
def test_a_period_that_is_none_is_refused(start, end, reason):
    with pytest.raises(UsageError, match=reason):
        _ = PeriodFlags(start=start, end=end).period
