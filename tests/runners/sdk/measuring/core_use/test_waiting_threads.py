"""Threads that work or wait for a core between two turns."""

import pytest

from perfledger.measuring.core_use import CoreWatch, HostProbe


def paused_cores(*times, cpu_s=(0.0,), pause_s=1.0, reading_s=0.0):
    """Return the cores of a process that pauses once for each of `cpu_s`, which it uses.

    `times` are those of its threads, reading by reading.
    """
    now = dict.fromkeys(("wall", "cpu"), 0.0)
    readings = iter(times)

    def threads():
        now["wall"] += reading_s
        return next(readings)

    watch = CoreWatch(
        HostProbe(
            wall=lambda: now["wall"],
            cpu=lambda: now["cpu"],
            thread=lambda: now["cpu"],
            queued=lambda: 0.0,
            clock_step=lambda: 0.0,
            cores=lambda: 2,
            threads=threads,
        )
    )
    with watch.block(1):
        now["wall"] += 1.0
    for used_s in cpu_s:
        with watch.pause():
            now["wall"] += pause_s
            now["cpu"] += used_s
    return watch.use([1.0], settling_s=0.0, turns=[1]).paused_cores


def test_threads_that_work_between_turns_also_want_the_time_they_wait_for_a_core():
    # Thread 1 works all the time, 2 hardly ran, 3 is new and works half the time.
    before, after = {1: (5.0, 7.0), 2: (1.0, 1.0)}, {1: (5.1, 8.9), 2: (1.001, 1.9), 3: (0.5, 1.0)}

    # Reading takes time: the second pause is left out.
    cores = paused_cores(before, after, cpu_s=(0.2, 0.0), pause_s=2.0)

    assert cores == pytest.approx(0.2 / 4.0 + (1.0 - 0.1 / 2.0) + (0.5 - 0.5 / 2.0))


@pytest.mark.parametrize(
    ("ran", "waited", "expected"),
    [
        (0.002, 0.3, 0.002 / 0.7 - 0.002),  # wakes up now and then, beside other programs
        (0.1, 1.2, 0.9),  # a wait that began before the pause counts where it ends
        (0.1, 0.0, 0.0),  # its own time counts elsewhere
        (0.0, 0.0, 0.0),  # a kernel without these statistics
    ],
)
def test_a_thread_lacks_what_it_would_use_if_it_never_waited(ran, waited, expected):
    cores = paused_cores({1: (5.0, 7.0)}, {1: (5.0 + ran, 7.0 + waited)})

    assert cores == pytest.approx(expected)


def test_the_time_of_reading_many_threads_belongs_to_their_pause():
    cores = paused_cores({1: (0.0, 0.0)}, {1: (0.2, 1.8)}, reading_s=1.0)

    assert cores == pytest.approx(1.0 - 0.2 / 2.0)
