"""Tests reading job logs for queue plans and simulations, on logs that are made up."""

import pytest

from perfledger_cost_models.job_logs.csv_rows import SkipReason
from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_cost_models.review.quarter import quarter_of
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.files import NamedBytes
from perfledger_service.usecases.plan.job_logs import job_log_of

QUARTER = quarter_of("2026Q3")
HEADER = "team,gpu_num,submit_time,start_time,end_time\n"


def row(submitted, *, hours=1):
    """Return the row of a job that starts when it is submitted; None hours: it never ended."""
    end = "" if hours is None else f"{submitted} 0{hours}:00:00"
    return f"vision,1,{submitted} 00:00:00,{submitted} 00:00:00,{end}\n"


def file(*rows):
    return NamedBytes("jobs.csv", (HEADER + "".join(rows)).encode())


def test_a_log_is_read_in_the_format_that_it_looks_like():
    log = job_log_of(file(row("2026-07-01"), row("2026-10-01")), None)

    assert (log.format, len(log.jobs), log.left_out) == (LogFormat.CSV, 2, ())


def test_a_given_format_is_the_only_one_that_is_tried():
    with pytest.raises(UsageError, match=r"^jobs\.csv: .*SWF"):
        job_log_of(file(row("2026-07-01")), LogFormat.SWF)


@pytest.mark.parametrize("data", [b"", b"[", b"\xff\xfe", b"\x1f\x8b"])
def test_a_log_that_cannot_be_read_is_named(data):
    with pytest.raises(UsageError, match=r"jobs\.csv"):
        job_log_of(NamedBytes("jobs.csv", data), None)


def test_jobs_of_a_quarter_count_from_its_first_and_the_others_are_left_out():
    rows = [row(day) for day in ("2026-06-30", "2026-07-01", "2026-09-30", "2026-10-01")]

    log = job_log_of(file(*rows), None, QUARTER)

    assert log.jobs.submit_ms.tolist() == [0, 91 * 86_400_000]
    assert dict(log.left_out) == {SkipReason.OTHER_QUARTER: 2}


def test_a_log_of_the_quarter_alone_leaves_nothing_out():
    assert job_log_of(file(row("2026-07-01")), None, QUARTER).left_out == ()


def test_a_row_is_left_out_for_one_reason():
    rows = [row("2026-06-30", hours=None), row("2026-07-01", hours=None), row("2026-07-02")]

    whole_job_log = job_log_of(file(*rows), None)
    quarter = job_log_of(file(*rows), None, QUARTER)

    assert dict(whole_job_log.left_out) == {SkipReason.STILL_RUNNING: 2}
    assert dict(quarter.left_out) == {SkipReason.STILL_RUNNING: 1, SkipReason.OTHER_QUARTER: 1}


def test_a_job_that_ended_at_once_ran():
    assert job_log_of(file(row("2026-07-01", hours=0)), None, QUARTER).left_out == ()


def test_a_quarters_jobs_without_an_end_are_told_by_whether_they_started():
    rows = ["1,2026-07-01,2026-07-02,,2", "2,2026-07-03,,,2"]
    text = "\n".join(("job_id,submit_time,start_time,end_time,gpus", *rows))

    log = job_log_of(NamedBytes("jobs.csv", text.encode()), None, QUARTER)

    assert dict(log.left_out) == {SkipReason.STILL_RUNNING: 1, SkipReason.NEVER_RAN: 1}
