import pytest

from perfledger_cost_models.scheduling.wait_queue import WaitQueue

LINE, OTHER = (0, 0), (1, 0)


def queue_of(*jobs):
    """Return a queue of (key, job, time limit) in one line, of 500 thousandths each."""
    queue = WaitQueue()
    for key, job, limit_ms in jobs:
        queue.add(LINE, key=key, job=job, limit_ms=limit_ms, milli=500)
    return queue


def test_a_line_is_sorted_by_key_and_then_by_job():
    queue = queue_of((2, 0, 9), (1, 5, 9), (1, 3, 9))

    assert [queue.rank(LINE, place, {}) for place in range(3)] == [
        (0.0, 1, 3),
        (0.0, 1, 5),
        (0.0, 2, 0),
    ]
    assert queue.rank(LINE, 0, {0: 0.25}) == (0.25, 1, 3)


def test_the_last_job_takes_its_line_along():
    queue = queue_of((0, 0, 9), (0, 1, 9))
    assert (queue.milli, queue.size(LINE), queue.size(OTHER)) == (1000, 2, 0)

    queue.leave(LINE, place=0)
    assert (bool(queue), queue.milli, queue.heads({}, queue.lines)) == (
        True,
        500,
        [((0.0, 0, 1), LINE)],
    )
    queue.leave(LINE, place=0)
    assert (bool(queue), queue.milli, queue.heads({}, queue.lines)) == (False, 0, [])


def test_the_heads_of_lines_are_a_heap_by_rank_without_blocked_classes():
    queue = queue_of((3, 0, 9), (1, 1, 9))
    queue.add(OTHER, key=2, job=2, limit_ms=9, milli=500)
    queue.add((0, 7), key=0, job=3, limit_ms=9, milli=500)

    assert queue.heads({}, queue.lines)[0] == ((0.0, 0, 3), (0, 7))
    assert sorted(queue.heads({0: 0.5}, queue.open_lines({7}))) == [
        ((0.0, 2, 2), OTHER),
        ((0.5, 1, 1), LINE),
    ]


def started(queue, limits, *, within_ms, spare_milli=0, shares=None, blocked=(), misfits=()):
    """Return the jobs that start early, in their order, and what is spare then."""
    jobs = []

    def start(job):
        if job not in misfits:
            jobs.append(job)
        return job not in misfits

    spare_milli = queue.start_early(
        queue.open_lines(blocked),
        start,
        within_ms=within_ms,
        spare_milli=spare_milli,
        limits=limits,
        shares=shares or {},
    )
    return jobs, spare_milli


@pytest.mark.parametrize(
    ("within_ms", "jobs"), [(29, []), (30, [2]), (40, [1, 2]), (90, [0, 1, 2])]
)
def test_jobs_within_a_time_limit_start_up_to_the_limit_itself(within_ms, jobs):
    limits = [90, 40, 30]
    queue = queue_of(*((place, place, limit) for place, limit in enumerate(limits)))

    assert started(queue, limits, within_ms=within_ms, blocked={LINE[1]}) == ([], 0)
    assert started(queue, limits, within_ms=within_ms) == (jobs, 0)
    assert queue.size(LINE) == len(limits) - len(jobs)


def test_the_bound_of_a_line_grows_once_its_shortest_job_has_left():
    limits = [90, 30]
    queue = queue_of((0, 0, 90), (1, 1, 30))
    queue.leave(LINE, place=1)

    assert started(queue, limits, within_ms=40) == ([], 0)
    assert started(queue, limits, within_ms=90) == ([0], 0)


@pytest.mark.parametrize(
    ("spare_milli", "shares", "jobs", "rest"),
    [
        (399, {}, [], 399),
        (400, {}, [1], 0),
        (500, {}, [0], 0),
        (500, {0: 0.5}, [1], 100),
        (899, {}, [0], 399),
        (900, {}, [0, 1], 0),
    ],
)
def test_jobs_that_take_no_more_than_is_spare_may_last_and_teams_have_their_order(
    spare_milli, shares, jobs, rest
):
    limits = [90, 90]
    queue = queue_of((0, 0, 90))
    queue.add(OTHER, key=0, job=1, limit_ms=90, milli=400)

    assert started(queue, limits, within_ms=1, spare_milli=spare_milli, shares=shares) == (
        jobs,
        rest,
    )


def test_a_short_job_takes_nothing_of_what_is_spare_and_starts_once_that_is_gone():
    limits = [90, 1, 90, 1]
    queue = queue_of((0, 0, 90), (1, 1, 1), (2, 2, 90), (3, 3, 1))

    assert started(queue, limits, within_ms=1, spare_milli=500) == ([0, 1, 3], 0)
    assert [queue.rank(LINE, place, {}) for place in range(queue.size(LINE))] == [(0.0, 2, 2)]


def test_no_other_job_of_a_line_is_tried_where_one_does_not_fit():
    limits = [1, 1, 1]
    queue = queue_of((0, 0, 1), (1, 1, 1))
    queue.add(OTHER, key=2, job=2, limit_ms=1, milli=500)

    assert started(queue, limits, within_ms=1, misfits={0}) == ([2], 0)
    assert queue.size(LINE) == 2
