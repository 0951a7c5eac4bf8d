from datetime import UTC, datetime

import pytest

from perfledger_cost_models.job_logs.readers import read_job_log
from perfledger_cost_models.job_logs.table import JobLogError
from perfledger_cost_models.job_logs.time_columns import TimeColumns


def seconds(*texts):
    times = TimeColumns()
    return [times.seconds(text, line, "start") for line, text in enumerate(texts, start=2)]


def at(year, month, day, *clock):
    hour, minute, second = (*clock, 0, 0, 0)[:3]
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "number"), [("99999999999", 99_999_999_999), ("100000000000", 100_000_000)]
)
def test_a_number_from_ten_to_the_eleventh_on_is_milliseconds(text, number):
    assert seconds(text) == [number]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("19900101", at(1990, 1, 1)),
        ("20240131", at(2024, 1, 31)),
        (" 21001231 ", at(2100, 12, 31)),
        ("202401311230", at(2024, 1, 31, 12, 30)),
        ("20240131123059", at(2024, 1, 31, 12, 30, 59)),
        ("20240131123059.0", at(2024, 1, 31, 12, 30, 59)),
        ("2.0240131123059E13", at(2024, 1, 31, 12, 30, 59)),
        ("202401311230.0", at(2024, 1, 31, 12, 30)),
    ],
)
def test_a_date_without_separators_is_that_day(text, moment):
    assert seconds("", "0", text, text) == [None, 0, moment, moment]


@pytest.mark.parametrize("text", ["19891231", "21010101", "20240231", "20241301", "20240131.0"])
def test_other_numbers_are_seconds(text):
    assert seconds(text) == [float(text)]


def test_a_column_that_begins_with_seconds_has_seconds():
    assert seconds("0", "37", "20240131") == [0, 37, 20_240_131]


@pytest.mark.parametrize("text", ["20240190", "1706659200", "20240131.5"])
def test_a_column_that_may_have_dates_or_seconds_asks_which(text):
    with pytest.raises(
        JobLogError,
        match=r"line 3, start: .* begins with 20240131, which may be a date or seconds. Write dates"
        r" as 2026-11-01, or seconds as 20240131\.0",
    ):
        seconds("20240131", text)


def test_a_column_of_dates_with_times_of_day_has_no_seconds():
    with pytest.raises(
        JobLogError, match=r"begins with 20240131123059, which is a date. Write dates as 2026-11-01"
    ):
        seconds("20240131123059", "60")


def test_a_column_of_floats_beside_one_of_whole_numbers_has_the_same_dates():
    jobs = read_job_log(
        "start_time,end_time,gpus\n"
        "20240131120000,20240131130000.0,8\n20240131120000,,4\n"  # without it pandas has no floats
    ).jobs

    assert jobs.run_ms.tolist() == [3_600_000, -1]


def test_a_day_in_a_log_is_not_a_moment_of_1970():
    jobs = read_job_log("submit_time,duration,gpus\n20240131,60,1\n20240201,60,1\n").jobs

    assert jobs.start_s == at(2024, 1, 31)
    assert jobs.submit_ms.tolist() == [0, 86_400_000]


def test_columns_named_in_milliseconds_are_read_in_seconds():
    jobs = read_job_log(
        "Submit_Time_ms,duration_ms,wait_ms,limit_ms,gpus\n0,3600000,1500,7200000,8\n"
        "60000,nan,,,4\n"
    ).jobs

    assert jobs.submit_ms.tolist() == [0, 60_000]
    assert jobs.run_ms.tolist() == [3_600_000, -1]
    assert (jobs.wait_ms[0], jobs.limit_ms[0]) == (1_500, 7_200_000)


def test_a_column_in_seconds_takes_precedence_over_one_in_milliseconds():
    jobs = read_job_log("submit_time,duration,duration_ms,gpus\n0,60,1,8\n").jobs

    assert jobs.run_ms.tolist() == [60_000]


def test_moments_since_1970_named_in_milliseconds_are_dates():
    jobs = read_job_log("submit_time_ms,duration,gpus\n1700000000500,60,8\n").jobs

    assert jobs.start_s == 1_700_000_000.5


def test_a_log_of_decades_in_seconds_asks_whether_they_are_milliseconds():
    rows = "".join(f"{day * 86_400_000},3600000,8\n" for day in range(3))

    with pytest.raises(JobLogError, match=r"cover 5 years as seconds: .*submit_time_ms"):
        read_job_log(f"submit_time,duration,gpus\n{rows}")
    assert read_job_log(f"submit_time_ms,duration_ms,gpus\n{rows}").jobs.submit_ms[-1] == 2 * (
        86_400_000
    )


def test_jobs_of_weeks_without_dates_ask_whether_they_are_milliseconds():
    rows = "0,3600000,8\n60000,1800000,8\n120000,60000,8\n"

    with pytest.raises(JobLogError, match=r"jobs ran for 20 days or more as seconds: .*_time_ms"):
        read_job_log(f"submit_time,duration,gpus\n{rows}")
    dated = "".join(f"{1_700_000_000 + job},3600000,8\n" for job in range(3))
    assert read_job_log(f"submit_time,duration,gpus\n{dated}").jobs.run_ms[0] == 3_600_000_000


def test_dates_before_2000_and_years_of_dates_are_seconds():
    jobs = read_job_log("submit_time,duration,gpus\n749458803,60,8\n1700000000,60,8\n").jobs

    assert jobs.start_s == 749_458_803
