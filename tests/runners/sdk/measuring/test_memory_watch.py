"""When the memory in use is read, and what is left out."""

from perfledger.measuring.memory_watch import MAX_READINGS, MemoryWatch
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
