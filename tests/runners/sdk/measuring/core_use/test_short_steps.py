"""Steps that are too short for CPU time: their times have no part of the harness's."""

import pytest

from perfledger.measuring.core_use import TOO_SHORT, CoreWatch, HostProbe


def test_the_times_of_short_steps_are_without_the_harness_and_with_their_waits():
    now = {"wall": 0.0, "queued": 0.0}
    watch = CoreWatch(
        HostProbe(
            wall=lambda: now["wall"],
            cpu=lambda: now["wall"] - now["queued"],
            thread=lambda: now["wall"] - now["queued"],
            queued=lambda: now["queued"],
            clock_step=lambda: 0.0,
        )
    )
    for wait_s in (0.0, 0.0, 0.5):
        with watch.block(100):
            now["wall"] += 1.0 + wait_s
            now["queued"] += wait_s

    use = watch.use((0.6, 0.6, 1.1), settling_s=0.0, turns=(1, 1, 1))

    assert use.left_out == {TOO_SHORT: 3}
    assert use.times.elapsed_s == pytest.approx((0.006, 0.006, 0.011))
    assert use.times.queued_s == pytest.approx((0.0, 0.0, 0.005))
