"""When the memory in use is read, what is left out, and how little the harness itself needs."""

import itertools
import tracemalloc

from perfledger.measuring.memory_watch import MAX_READINGS, MemoryWatch
from perfledger.measuring.step_samples import MAX_SAMPLES, measure
from perfledger.protocol import MeasuringEffort
from perfledger.records import MemoryReadings


def test_each_reading_has_the_steps_before_it():
    watch = MemoryWatch(iter([100.0, 110.0, None, 130.0]).__next__)

    watch.read()
    for _ in range(3):
        watch.read(10)

    assert watch.readings() == MemoryReadings(steps=(0, 10, 30), in_use_bytes=(100.0, 110.0, 130.0))


def test_no_more_is_read_than_a_line_needs():
    watch = MemoryWatch(lambda: 1.0)

    for _ in range(MAX_READINGS + 5):
        watch.read(1)

    assert len(watch.readings().steps) == MAX_READINGS


def test_what_a_system_does_not_tell_is_no_reading():
    watch = MemoryWatch(lambda: None)
    watch.read()

    assert watch.readings() == MemoryReadings()


def traced_growth(clock, effort):
    """Return how many readings were kept, and the bytes that Python has for them."""
    in_use_bytes = []

    def read_memory():
        in_use_bytes.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        samples = measure(
            lambda: list, clock, effort=effort, on_sampling=read_memory, before_last=read_memory
        )
    finally:
        tracemalloc.stop()
    return len(samples.steps_s), in_use_bytes[-1] - in_use_bytes[0]


def test_thousands_of_readings_need_few_bytes_each_while_memory_is_measured(scripted_clock):
    # Head's steps may be so short that it has twenty times base's readings.
    times = (1e-7 * (1 + number / MAX_SAMPLES) for number in itertools.count())
    long_times = (0.1 * (1 + number / MAX_SAMPLES) for number in itertools.count())
    effort = MeasuringEffort()
    traced_growth(scripted_clock(times), effort)  # what Python itself keeps of a first call

    # The least of three: another thread may allocate memory in between.
    few, few_bytes = min(traced_growth(scripted_clock(long_times), effort) for _ in range(3))
    many, many_bytes = min(traced_growth(scripted_clock(times), effort) for _ in range(3))

    assert many == MAX_SAMPLES
    assert many_bytes - few_bytes < 12 * (many - few)
