import pytest

from perfledger_profiles.timeline.step_windows import NO_STEPS, keep_one_process, steps_of


def lengths(steps):
    return (steps.windows.end_ns - steps.windows.start_ns).tolist()


def test_the_numbers_are_those_of_the_markers_that_are_kept(trace):
    for number, (begin, length) in {8: (0, 50), 9: (50, 10), 10: (60, 11), 11: (71, 90)}.items():
        trace.step(number, begin, length)

    steps = steps_of(trace.columns())

    assert (steps.numbers, lengths(steps)) == ((9, 10), [10_000, 11_000])
    assert len(steps.notes) == 1


def test_the_thread_with_the_most_steps_takes_them(trace):
    trace.step(1, 0, 500, thread=(1, 2)).step(1, 0, 10).step(2, 10, 10)

    steps = steps_of(trace.columns())

    assert lengths(steps) == [10_000, 10_000]
    assert steps.is_marker.all()


def test_what_only_looks_like_a_marker_is_work(trace):
    trace.add("step 3", 0, 10, cat="user_annotation").add("ProfilerStep#x", 0, 10)

    steps = steps_of(trace.columns())

    assert not steps.is_marker.any()
    assert (steps.has_markers, steps.notes) == (False, (NO_STEPS,))


def test_without_markers_the_thread_with_the_most_time_is_the_main_one(trace):
    columns = trace.add("a", 0, 10).add("b", 0, 20, thread=(1, 2)).columns()

    steps = steps_of(columns)

    assert columns.lanes[steps.main].thread == 2
    assert lengths(steps) == [20_000]


@pytest.mark.parametrize("number", ["9" * 400, "007"])
def test_absurd_numbers_are_read(trace, number):
    trace.add(f"ProfilerStep#{number}", 0, 10, cat="user_annotation")

    assert len(steps_of(trace.columns()).numbers) == 1


def test_of_joined_files_no_rank_is_told_from_the_others(trace):
    for process in (1, 2):
        trace.step(1, 0, 100, thread=(process, 1))
        trace.add(
            "cudaLaunchKernel", process, 1, cat="cuda_runtime", thread=(process, 1), correlation=5
        )
        trace.add("k", 10, 10, cat="kernel", thread=(process, 7), stream=7, correlation=5)
    columns = trace.columns()

    assert keep_one_process(columns) is columns
