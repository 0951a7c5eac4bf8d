"""Tests of joining the pieces of runs that sacct --truncate cut."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from perfledger_cost_models.job_logs.csv_rows import SkipReason
from perfledger_cost_models.job_logs.gaps import LogGap
from perfledger_cost_models.job_logs.readers import read_job_log
from perfledger_cost_models.job_logs.table import JobLogError
from perfledger_cost_models.usage.slurm_allocations import read_sacct

HEADER = "Cluster|JobID|Submit|Start|End|Elapsed|State|AllocTRES"
FIRST = datetime(2026, 9, 1, tzinfo=UTC)
DAY_S = 86_400


def moment(seconds):
    return (FIRST + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")


def row(name, submit, start, end, *, devices=2, cluster="c"):
    elapsed = max(end - start, 0)
    clock = f"{elapsed // 3600}:{elapsed % 3600 // 60:02}:{elapsed % 60:02}"
    times = "|".join(map(moment, (submit, start, end)))
    return f"{cluster}|{name}|{times}|{clock}|COMPLETED|gres/gpu={devices}"


def table(*rows):
    return "\n".join((HEADER, *rows)) + "\n"


def truncated(submit, start, end, window):
    """Return start and end as slurmdbd shows them with --truncate, None if outside the window.

    As in as_mysql_jobacct_process.c: a job is selected from its submission on.
    """
    first, last = window
    if submit >= last or end < first:
        return None
    return max(start, first), min(end, last)


def exports(jobs, *, days, length_s=DAY_S, without=()):
    """Return the rows of concatenated exports with --truncate, each of some seconds."""
    starts = [at for at in range(0, days * DAY_S, length_s) if at // DAY_S not in without]
    windows = [(at, at + length_s) for at in starts]
    return [
        row(name, submit, *piece)
        for window in windows
        for name, submit, start, end in jobs
        if (piece := truncated(submit, start, end, window)) is not None
    ]


def random_jobs(seed):
    rng = Random(seed)
    jobs = []
    for name in range(60):
        submit = rng.randrange(1, 6 * DAY_S)
        start = submit + rng.choice((0, rng.randrange(1, 40_000)))
        jobs.append((name, submit, start, start + rng.randrange(1, 3 * DAY_S)))
    return jobs


def known_waits(text):
    jobs = read_job_log(text).jobs
    return sorted((jobs.wait_ms[jobs.has_wait] // 1000).tolist())


@pytest.mark.parametrize("length_s", [DAY_S, DAY_S // 4])
@pytest.mark.parametrize("seed", range(3))
def test_daily_exports_with_truncate_have_the_waits_runs_and_hours_of_the_plain_one(seed, length_s):
    made_random_jobs = random_jobs(seed)
    plain_text = table(*(row(*job) for job in made_random_jobs))
    cut = table(*exports(made_random_jobs, days=12, length_s=length_s))

    whole_jobs, joined = (read_job_log(text).jobs for text in (plain_text, cut))

    assert cut.count("\n") > plain_text.count("\n") + 20
    assert known_waits(cut) == sorted(start - submit for _, submit, start, _ in made_random_jobs)
    assert sorted(joined.run_ms.tolist()) == sorted(whole_jobs.run_ms.tolist())
    assert (joined.cut_jobs, len(joined)) == (0, len(made_random_jobs))
    assert sum(span.device_hours for span in read_sacct(cut, "cut").spans) == pytest.approx(
        sum(span.device_hours for span in read_sacct(plain_text, "plain").spans)
    )


@pytest.mark.parametrize("first_day", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_an_export_that_begins_among_running_jobs_shows_only_true_waits(seed, first_day):
    made_random_jobs = random_jobs(seed)
    window = (first_day * DAY_S, 12 * DAY_S)
    pieces = [
        (*job[:2], *piece)
        for job in made_random_jobs
        if (piece := truncated(job[1], job[2], job[3], window))
    ]
    running = [job for job in made_random_jobs if job[2] < window[0] <= job[3]]

    jobs = read_job_log(table(*(row(*piece) for piece in pieces))).jobs

    waits = sorted((jobs.wait_ms[jobs.has_wait] // 1000).tolist())
    assert waits == sorted(s - submit for _, submit, s, e in made_random_jobs if s >= window[0])
    assert jobs.cut_jobs == len(running) > 1
    cut_at = jobs.start_s + jobs.submit_ms[jobs.is_cut] / 1000
    assert set(cut_at.tolist()) == {FIRST.timestamp() + window[0]}


def test_without_a_day_between_two_exports_the_second_piece_has_no_wait():
    days = [row(7, 3, 63, DAY_S), row(7, 3, 2 * DAY_S, 3 * DAY_S)]

    jobs = read_job_log(table(*days)).jobs

    assert jobs.wait_ms[jobs.has_wait].tolist() == [60_000]
    assert jobs.run_ms.tolist() == [(DAY_S - 63) * 1000, DAY_S * 1000]
    assert jobs.submit_ms[jobs.is_cut].tolist() == [(2 * DAY_S - 3) * 1000]


def test_a_run_that_goes_on_with_other_devices_is_not_joined_and_has_no_second_wait():
    jobs = read_job_log(table(row(7, 3, 63, 900), row(7, 3, 900, 1000, devices=4))).jobs

    assert (jobs.devices.tolist(), jobs.is_cut.tolist()) == ([2, 4], [False, True])


@pytest.mark.parametrize(
    ("rows", "cut"),
    [
        pytest.param([row(1, 0, 901, 999)], [False], id="an ordinary second"),
        pytest.param([row(1, 0, 900, 999)], [True], id="a quarter of an hour"),
        pytest.param([row(1, 900, 900, 999)], [False], id="without a wait"),
        pytest.param([row(1, 0, 901, 999), row(2, 1, 901, 999)], [True, True], id="two jobs"),
        pytest.param([row(1, 0, 901, 999), row(2, 0, 901, 999)], [False, False], id="an array"),
        pytest.param([row(1, 5, 5, 9), row(2, 7, 1800, 1900)], [False, False], id="not first"),
        pytest.param([row(1, 5, 5, 9), row(2, 7, DAY_S, DAY_S + 1)], [False, True], id="midnight"),
    ],
)
def test_a_start_may_be_a_cut_where_an_export_may_begin(rows, cut):
    assert read_job_log(table(*rows)).jobs.is_cut.tolist() == cut


def test_other_runs_that_start_where_one_was_cut_have_no_wait():
    cut_at = 30_001
    pieces = [row(1, 5, 5, cut_at), row(1, 5, cut_at, 40_000), row(2, 9, cut_at, 50_000)]

    jobs = read_job_log(table(*pieces)).jobs

    assert (jobs.wait_ms[jobs.has_wait].tolist(), jobs.is_cut.tolist()) == ([0], [False, True])


def test_each_cluster_has_its_own_first_start_and_its_own_cuts():
    cut_at = 30_007
    pieces = [
        *(row(1, 5, 5, cut_at), row(2, 7, cut_at, 50_000)),
        *(row(name, name, cut_at, 40_000, cluster="b") for name in (3, 4)),
    ]

    jobs = read_job_log(table(*pieces)).jobs

    assert jobs.is_cut.tolist() == [False, False, True, True]
    assert (jobs.wait_ms[jobs.has_wait] // 1000).tolist() == [0, cut_at - 7]


def test_clusters_with_long_names_have_their_own_jobs():
    cut_at = 30_007
    names = [f"{'x' * 300}/{end}" for end in ("a", "b")]
    pieces = [row(1, 5, 5, cut_at, cluster=names[0]), row(1, 5, cut_at, 40_000, cluster=names[1])]

    jobs = read_job_log(table(*pieces)).jobs

    assert (jobs.run_ms // 1000).tolist() == [cut_at - 5, 40_000 - cut_at]
    assert jobs.is_cut.tolist() == [False, False]


def test_clusters_with_a_slash_have_their_own_cuts():
    cut_at = 30_007
    pieces = [
        *(row(1, 5, 5, cut_at, cluster="x/a"), row(1, 5, cut_at, 40_000, cluster="x/a")),
        row(2, 9, cut_at, 50_000, cluster="x/b"),
    ]

    jobs = read_job_log(table(*pieces)).jobs

    assert jobs.is_cut.tolist() == [False, False]


def test_rows_of_one_run_that_overlap_are_refused():
    with pytest.raises(JobLogError, match="rows of job 'c/7' overlap, and its load"):
        read_job_log(table(row(7, 3, 63, 5000), row(7, 3, 4000, 5000)))


def test_a_job_that_waited_through_an_export_counts_once_with_its_own_wait():
    waiting = f"c|7|{moment(50)}|{moment(DAY_S)}|{moment(DAY_S)}|00:00:00|PENDING|"

    jobs = read_job_log(table(waiting, row(7, 50, DAY_S + 50, DAY_S + 99))).jobs

    assert jobs.wait_ms.tolist() == [DAY_S * 1000]


@pytest.mark.parametrize("state", ["PENDING|", "PENDING|gres/gpu=2", "CANCELLED by 7|"])
def test_a_job_that_never_began_has_no_wait_though_slurm_shows_a_start(state):
    never = f"c|7|{moment(50)}|{moment(9000)}|{moment(9000)}|00:00:00|{state}"

    log = read_job_log(table(never))

    assert log.left_out == ((SkipReason.NEVER_RAN, 1),)
    assert log.jobs.wait_ms.tolist() == [-1]


def test_a_run_of_less_than_a_second_has_its_wait():
    assert read_job_log(table(row(7, 0, 67, 67))).jobs.wait_ms.tolist() == [67_000]


def test_the_time_between_the_pieces_of_several_runs_is_a_gap():
    ends, goes_on = 2 * DAY_S + 7, 3 * DAY_S + 7  # at no quarter of an hour
    pieces = [
        piece
        for name in (1, 2)
        for piece in (row(name, 3, 63, ends), row(name, 3, goes_on, 4 * DAY_S))
    ]

    gaps = read_job_log(table(*pieces)).gaps

    assert gaps == (LogGap(FIRST.timestamp() + ends, FIRST.timestamp() + goes_on),)


def test_one_run_shows_a_gap_only_where_an_export_may_end_and_begin():
    at_midnight = read_job_log(table(row(7, 3, 63, DAY_S), row(7, 3, 2 * DAY_S, 3 * DAY_S)))
    at_any_second = read_job_log(table(row(7, 3, 63, DAY_S + 7), row(7, 3, 2 * DAY_S, 3 * DAY_S)))

    assert at_midnight.gaps == (LogGap(FIRST.timestamp() + DAY_S, FIRST.timestamp() + 2 * DAY_S),)
    assert at_any_second.gaps == ()


def test_daily_exports_without_a_day_have_a_gap_there():
    jobs = random_jobs(1)

    complete, cut = (
        read_job_log(table(*exports(jobs, days=12, without=days))).gaps for days in ((), (4,))
    )

    assert complete == ()
    assert cut == (LogGap(FIRST.timestamp() + 4 * DAY_S, FIRST.timestamp() + 5 * DAY_S),)
