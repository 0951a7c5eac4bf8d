import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.bottleneck.recommendations import recommendations
from perfledger_profiles.timeline.launch_links import launches_of
from perfledger_profiles.timeline.step_windows import (
    DEVICE_WINDOW,
    ITERATIONS,
    LENT_STEPS,
    NO_STEPS,
    NO_WORK_OF_DEVICES,
    NO_WORK_RECORDED,
    ONLY_COLLECTIVES,
    SHORT_WINDOW,
    STUB,
    is_host_known,
    iterations_of,
    notes_on_missing_work,
    period_of,
    steps_of,
)


def trace_steps(columns, **more):
    return steps_of(columns, launches_of(columns), **more)


def lengths(steps):
    return (steps.windows.end_ns - steps.windows.start_ns).tolist()


def test_the_numbers_are_those_of_the_markers_that_are_kept(trace):
    for number, (begin, length) in {8: (0, 50), 9: (50, 10), 10: (60, 11), 11: (71, 90)}.items():
        trace.step(number, begin, length)

    steps = trace_steps(trace.columns())

    assert (steps.numbers, lengths(steps)) == ((9, 10), [10_000, 11_000])
    assert len(steps.notes) == 1


def marked(trace, lengths, *, last_calls):
    """Return the trace with markers of these lengths; all but the last hold five operators."""
    begin = 0
    for number, length in enumerate(lengths):
        trace.step(number, begin, length)
        is_last = number == len(lengths) - 1
        for call in last_calls if is_last else ("aten::mm",) * 5:
            trace.add(call, begin + 1, 1, cat="cpu_op" if "::" in call else "cuda_runtime")
        begin += length
    return trace


@pytest.mark.parametrize("count", [1, 2, 4, 20])
@pytest.mark.parametrize("stub_calls", [(), ("cudaDeviceSynchronize",)])
def test_the_marker_that_the_profilers_end_cuts_off_is_no_step(trace, count, stub_calls):
    steps = trace_steps(marked(trace, [10_000] * count + [60], last_calls=stub_calls).columns())

    assert lengths(steps) == [10_000_000] * (count - (count > 2))
    assert steps.notes == (STUB,)


def test_a_short_last_step_with_its_calls_is_one(trace):
    columns = marked(trace, [10_000] * 4 + [60], last_calls=("aten::mm",) * 5).columns()

    assert (lengths(trace_steps(columns))[-1], trace_steps(columns).notes) == (60_000, ())


def test_where_no_step_holds_calls_the_last_one_is_kept(trace):
    for number in range(4):
        trace.step(number, 100 * number, 100 if number < 3 else 1)

    assert lengths(trace_steps(trace.columns())) == [100_000, 100_000, 1_000]


def test_the_thread_with_the_most_steps_takes_them(trace):
    trace.step(1, 0, 500, thread=(1, 2)).step(1, 0, 10).step(2, 10, 10)

    steps = trace_steps(trace.columns())

    assert lengths(steps) == [10_000, 10_000]
    assert steps.is_marker.all()


def test_what_only_looks_like_a_marker_is_work(trace):
    trace.add("step 3", 0, 10, cat="user_annotation").add("ProfilerStep#x", 0, 10)

    steps = trace_steps(trace.columns())

    assert not steps.is_marker.any()
    assert (steps.has_markers, steps.notes) == (False, (NO_STEPS,))


def test_without_markers_the_thread_with_the_most_time_is_the_main_one(trace):
    columns = trace.add("a", 0, 10).add("b", 0, 20, thread=(1, 2)).columns()

    steps = trace_steps(columns)

    assert columns.lanes[steps.main].thread == 2
    assert lengths(steps) == [20_000]


@pytest.mark.parametrize("number", ["9" * 400, "007"])
def test_absurd_numbers_are_read(trace, number):
    trace.add(f"ProfilerStep#{number}", 0, 10, cat="user_annotation")

    assert len(trace_steps(trace.columns()).numbers) == 1


def test_without_markers_the_devices_own_window_is_the_step(trace):
    trace.add("load the model", 0, 900)
    trace.launch("cudaGraphLaunch", 950, 5, kernel="k", at=1000, lasts=40, correlation=1)
    trace.add("detokenize", 1100, 500)

    steps = trace_steps(trace.columns())

    assert (lengths(steps), steps.has_markers) == ([40_000], False)
    assert steps.notes == (DEVICE_WINDOW, SHORT_WINDOW.format(1.6, 0.04))


def test_a_window_of_a_tenth_of_the_recording_or_more_is_most_of_it(trace):
    trace.add("load the model", 0, 360)
    trace.launch("cudaGraphLaunch", 350, 5, kernel="k", at=360, lasts=40, correlation=1)

    assert trace_steps(trace.columns()).notes == (DEVICE_WINDOW,)


def test_repeats_of_a_sequence_of_kernels_are_noted_but_are_no_steps(trace):
    for number in range(7):
        trace.add("ab"[number % 2], 1000 * number, 900, cat="kernel", thread=(0, 7), stream=7)

    steps = trace_steps(trace.columns())

    assert lengths(steps) == [6_900_000]
    assert steps.notes[1] == ITERATIONS.format(3, 2, "2")


def test_a_process_without_markers_has_the_steps_of_another(trace):
    marked = trace_steps(trace.step(4, 0, 100).step(5, 100, 100).columns())

    steps = trace_steps(type(trace)().add("a", 0, 150, thread=(2, 1)).columns(), lent=marked)

    assert (lengths(steps), steps.numbers) == ([100_000, 100_000], (4, 5))
    assert steps.notes == (LENT_STEPS,)
    assert not steps.is_marker.any()


@pytest.mark.parametrize(
    ("host", "is_known"),
    [((0, 1000), True), ((400, 1100), True), ((501, 1100), False), ((-500, 100), False)],
)
def test_the_host_is_known_if_its_calls_cover_half_of_the_devices_window(trace, host, is_known):
    begin, end = host
    trace.add("k", 1000, 1000, cat="kernel", thread=(0, 7), stream=7)
    trace.add("aten::mm", 1000 + begin, end - begin)
    columns = trace.columns()

    values = is_host_known(columns, launches_of(columns), trace_steps(columns))

    assert values is is_known


@pytest.mark.parametrize(("name", "is_known"), [("cuInit", False), ("aten::mm", True)])
def test_a_few_calls_of_the_runtime_alone_do_not_show_what_the_host_does(trace, name, is_known):
    category = "cpu_op" if is_known else "cuda_runtime"
    trace.add(name, 0, 10, cat=category).add(name, 1000, 10, cat=category)
    columns = trace.columns()

    values = is_host_known(columns, launches_of(columns), trace_steps(columns))

    assert values is is_known


@pytest.mark.parametrize(("early", "is_known"), [(1, True), (2, False)])
def test_kernels_before_their_launches_show_that_the_clocks_differ(trace, early, is_known):
    for number in range(3):
        at = 100 * number + (-5 if number < early else 5)
        launched = {"kernel": "k", "at": 50 + at, "lasts": 1, "correlation": number + 1}
        trace.launch("cudaLaunchKernel", 50 + 100 * number, 2, **launched)
    columns = trace.step(1, 0, 400).columns()

    values = is_host_known(columns, launches_of(columns), trace_steps(columns))

    assert values is is_known


def test_a_file_of_collectives_alone_does_not_say_what_hides_them(trace):
    for at in (0, 50):
        trace.add("ncclDevKernel_Generic(int)", at, 10, cat="kernel", thread=(0, 7), stream=7)

    profile = trace.read()

    assert ONLY_COLLECTIVES in profile.notes
    assert profile.reading("comm_time") == pytest.approx(20e-6)
    assert profile.reading("comm_overlap") is None
    assert recommendations(profile, classify(profile)) == ()

    trace.add("gemm", 20, 10, cat="kernel", thread=(0, 7), stream=7)

    assert ONLY_COLLECTIVES not in trace.read().notes


def test_the_host_is_unknown_where_launched_work_is_held_up(trace):
    for number, (begin, at) in enumerate(((0, 2), (12, 500)), start=1):
        trace.launch(
            "cudaLaunchKernel", begin, 1, kernel="k", at=at, lasts=10, stream=7, correlation=number
        )
    trace.add("aten::mm", 0, 510)
    columns = trace.columns()

    assert not is_host_known(columns, launches_of(columns), trace_steps(columns))


def test_a_device_without_any_call_of_the_host_waits_for_something_unknown(trace):
    columns = trace.add("k", 0, 10, cat="kernel", thread=(0, 7), stream=7).columns()

    assert not is_host_known(columns, launches_of(columns), trace_steps(columns))


def test_without_a_device_the_host_is_known(trace):
    columns = trace.add("a", 0, 10).columns()

    assert is_host_known(columns, launches_of(columns), trace_steps(columns))


def kernels(trace, names, *, stream=7, begin=0):
    for number, name in enumerate(names):
        where = {"cat": "kernel", "thread": (0, stream), "stream": stream}
        trace.add(name, begin + 10 * number, 9, **where)
    return trace


def test_repeats_are_counted_with_their_length(trace):
    repeats = iterations_of(kernels(trace, "abcabcabcabc").columns())

    assert (repeats.count, repeats.kernels, repeats.mean_ns) == (4, 3, 30_000.0)


def test_the_recording_may_begin_and_end_within_a_repeat(trace):
    repeats = iterations_of(kernels(trace, "cabcabcabca").columns())

    assert (repeats.count, repeats.kernels) == (3, 3)
    assert repeats.repeats == pytest.approx(11 / 3)


@pytest.mark.parametrize(
    "names",
    [
        "abab",  # two may be chance
        "aaaaaaaa",  # one kernel may be an element of a loop
        "eabababah",  # layers between an embedding and a head
        "abcabd",
    ],
)
def test_other_sequences_are_no_repeats(trace, names):
    assert iterations_of(kernels(trace, names).columns()) is None


def test_the_busiest_stream_decides(trace):
    kernels(trace, "abababab")
    kernels(trace, "xyz", stream=8, begin=5)

    assert iterations_of(trace.columns()).count == 4


@given(st.text("abc", min_size=1, max_size=6), st.integers(1, 5), st.integers(0, 5))
def test_the_period_is_the_shortest_of_which_all_names_are_repeats(part, times, rest):
    names = [ord(letter) for letter in part * times + part[:rest]]

    period = period_of(np.array(names, dtype=np.int64))

    is_period = [names[n:] == names[: len(names) - n] for n in range(len(names) + 1)]
    assert period == is_period.index(True, 1)


def shortest_repeat(names):
    """Try every length, as the definition says."""
    return next(
        length
        for length in range(1, len(names) + 1)
        if all(name == names[place % length] for place, name in enumerate(names))
    )


@given(st.lists(st.integers(0, 1), min_size=1, max_size=14))
def test_a_period_is_the_shortest_sequence_that_repeats(names):
    assert period_of(np.array(names)) == shortest_repeat(names)


@pytest.mark.parametrize(
    "text", ["aabaaabaacaabaaabaad", "abacabadabacaba", "aabaabaaab", "ababab"]
)
def test_a_period_of_sequences_that_begin_alike_is_found(text):
    """Sequences that agree for long and then do not, where a search falls back by steps."""
    names = [ord(letter) for letter in text]

    assert period_of(np.array(names)) == shortest_repeat(names)


def test_listed_devices_without_work_and_operators_are_not_called_a_cpus_work(trace):
    trace.header = {"deviceProperties": [{"id": 0, "name": "Tesla T4"}]}
    trace.add("cudaGetDeviceProperties", 0, 5, cat="cuda_runtime")

    assert notes_on_missing_work(trace.columns()) == (NO_WORK_RECORDED,)
    assert notes_on_missing_work(trace.add("aten::mm", 5, 5).columns()) == (NO_WORK_OF_DEVICES,)
