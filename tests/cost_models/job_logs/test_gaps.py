"""Tests of finding the stretches of a log in which rows are missing."""

from random import Random

import pytest

from perfledger_cost_models.job_logs.gaps import (
    LogGap,
    are_few,
    gap_sentence,
    gaps_between,
    log_gaps,
    span_gaps,
)
from perfledger_cost_models.job_logs.table import Job, table_of

HOUR_S, DAY_S = 3600, 86_400
MONDAY_S = 1_767_571_200  # 2026-01-05


def busy_jobs(days, *, a_day=60, seed=1, is_quiet=lambda _: False):
    """Return submissions and ends of a cluster's jobs; none is submitted in quiet seconds."""
    rng = Random(seed)
    jobs = []
    for _ in range(days * a_day):
        submit = rng.randrange(days * DAY_S)
        run = rng.choice((600, 7200, 20 * HOUR_S, rng.randrange(60, 3 * DAY_S)))
        if not is_quiet(submit):
            jobs.append((MONDAY_S + submit, MONDAY_S + submit + run))
    return sorted(jobs)


def exported(jobs, *windows):
    """Return the jobs of exports of some days each: those that were in the system then."""
    return [
        (submit, end)
        for submit, end in jobs
        if any(
            submit < MONDAY_S + last * DAY_S and end >= MONDAY_S + first * DAY_S
            for first, last in windows
        )
    ]


def gaps_of(jobs):
    log_jobs = (
        Job(submit_s=float(submit), run_s=float(end - submit), devices=1, wait_s=0.0)
        for submit, end in jobs
    )
    return log_gaps(table_of(log_jobs))


def days_of(gap):
    return ((gap.start_s - MONDAY_S) / DAY_S, (gap.end_s - MONDAY_S) / DAY_S)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("first", "last"), [(20, 21), (12, 19), (31, 59)])
def test_the_days_between_two_exports_are_a_gap(first, last, seed):
    whole_log = busy_jobs(90, seed=seed)

    gaps = gaps_of(exported(whole_log, (0, first), (last, 90)))

    assert gaps_of(whole_log) == ()
    ((start, end),) = map(days_of, gaps)
    assert first - 0.2 < start <= first
    assert last <= end < last + 0.2


def test_two_missing_months_are_two_gaps():
    gaps = gaps_of(exported(busy_jobs(150), (0, 30), (60, 90), (120, 150)))

    assert [tuple(map(round, days_of(gap))) for gap in gaps] == [(30, 60), (90, 120)]


def test_quiet_nights_and_weekends_are_no_gaps():
    def is_quiet(second):
        return second % (7 * DAY_S) >= 5 * DAY_S or second % DAY_S > 10 * HOUR_S

    whole_log = [(start, start + 900) for start, _ in busy_jobs(56, a_day=300, is_quiet=is_quiet)]

    assert gaps_of(whole_log) == ()
    (gap,) = gaps_of(exported(whole_log, (0, 21), (28, 56)))
    assert tuple(map(round, days_of(gap))) == (18, 28)


@pytest.mark.parametrize("days", [3, 7])
def test_a_short_log_has_too_few_other_days_to_show_a_gap(days):
    assert gaps_of(exported(busy_jobs(days), (0, 1), (2, days))) == ()


def test_a_cluster_that_is_used_now_and_then_has_no_gaps():
    weeks = [(start, start + 2) for start in range(0, 120, 14)]

    assert gaps_of(exported(busy_jobs(120), *weeks)) == ()


def test_few_jobs_a_day_show_no_gap():
    assert gaps_of(exported(busy_jobs(90, a_day=3), (0, 40), (42, 90))) == ()


def test_gaps_that_rows_make_evident_are_joined_with_those_found():
    jobs = exported(busy_jobs(90), (0, 20), (22, 90))
    log_jobs = [
        Job(submit_s=float(start), run_s=float(end - start), devices=1) for start, end in jobs
    ]
    evident = LogGap(MONDAY_S + 19.5 * DAY_S, MONDAY_S + 21.0 * DAY_S)
    other = LogGap(MONDAY_S + 70.0 * DAY_S, MONDAY_S + 70.5 * DAY_S)

    first, second = log_gaps(table_of(log_jobs), evident=(other, evident))

    assert (first.start_s, second) == (evident.start_s, other)
    assert first.end_s > MONDAY_S + 22 * DAY_S


def test_spans_have_the_gaps_of_their_log():
    jobs = exported(busy_jobs(90), (0, 31), (59, 90))

    assert span_gaps(reversed(jobs)) == gaps_of(jobs)
    assert span_gaps([]) == ()


def test_jobs_that_never_ran_show_no_time():
    jobs = exported(busy_jobs(90), (0, 31), (59, 90))
    log_jobs = [
        Job(submit_s=float(start), run_s=float(end - start), devices=1) for start, end in jobs
    ]
    pending = Job(submit_s=MONDAY_S + 40.0 * DAY_S, run_s=None, devices=1)

    assert log_gaps(table_of([*log_jobs, pending])) == log_gaps(table_of(log_jobs)) != ()
    assert log_gaps(table_of([pending])) == ()


def test_gaps_are_cut_at_the_ends_of_a_time():
    gaps = (LogGap(0.0, 10.0), LogGap(20.0, 30.0), LogGap(40.0, 50.0))

    assert gaps_between(gaps, 5.0, 40.0) == (LogGap(5.0, 10.0), LogGap(20.0, 30.0))


def test_a_twentieth_of_a_log_is_few():
    assert are_few([LogGap(0.0, 3.0), LogGap(5.0, 7.0)], seconds=100.0)
    assert not are_few([LogGap(0.0, 3.1), LogGap(5.0, 7.0)], seconds=100.0)
    assert are_few([], seconds=0.0)


def test_a_sentence_names_the_longest_gaps():
    first = LogGap(MONDAY_S, MONDAY_S + 36.0 * HOUR_S)
    shorter = [LogGap(MONDAY_S + at * DAY_S, MONDAY_S + at * DAY_S + HOUR_S) for at in range(3, 6)]

    assert gap_sentence([first]) == (
        "No job was submitted and ended from 2026-01-05 00:00 to 2026-01-06 12:00 UTC (36 h): rows "
        "are missing, or the cluster stood still."
    )
    assert "UTC (1 h), and in 1 shorter gap: rows" in gap_sentence([*shorter, first])


def test_a_log_that_counts_from_its_first_job_has_hours():
    assert "from hour 48 to hour 1,500 (1,452 h):" in gap_sentence([LogGap(172_800.0, 5_400_000.0)])


def test_a_gap_of_a_log_from_1993_has_dates():
    sentence = gap_sentence([LogGap(756_716_400.0, 757_234_800.0)])

    assert "from 1993-12-24 07:00 to 1993-12-30 07:00 UTC (144 h)" in sentence
