from perfledger_cost_models.scheduling.expected_ends import NO_END, ExpectedEnds


def run(job, *, milli, expected_ms):
    return expected_ms, job, milli


def ends_of(*runs):
    ends = ExpectedEnds()
    for each in runs:
        ends.add(*each)
    return ends


def test_the_shadow_is_the_first_end_that_frees_enough_devices():
    ends = ends_of(run(1, milli=3000, expected_ms=70), run(0, milli=1000, expected_ms=50))

    assert ends.shadow(2000, free_milli=1000, now_ms=10) == (50, 0)
    assert ends.shadow(2001, free_milli=1000, now_ms=10) == (70, 2999)


def test_a_job_past_its_time_limit_is_expected_to_end_now():
    assert ends_of(run(0, milli=1000, expected_ms=50)).shadow(1000, free_milli=0, now_ms=60) == (
        60,
        0,
    )


def test_running_jobs_that_free_too_little_have_no_shadow():
    ends = ends_of(run(0, milli=1000, expected_ms=50))

    assert ends.shadow(1001, free_milli=0, now_ms=0) == (NO_END, 0)


def test_a_job_that_stops_frees_nothing_later():
    first, second = run(0, milli=1000, expected_ms=50), run(1, milli=1000, expected_ms=50)
    ends = ends_of(first, second)
    ends.remove(*first)

    assert ends.shadow(1000, free_milli=0, now_ms=0) == (50, 0)
    assert ends.shadow(2000, free_milli=0, now_ms=0) == (NO_END, 0)
