"""The slowest rank's time is the step's, on every rank."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from perfledger.measuring.rank_clock import LEAD_S, RankClock
from perfledger.measuring.rank_link import RankPlace, join_ranks
from perfledger.measuring.step_samples import measure
from perfledger.protocol import MeasuringEffort
from perfledger.workload import PreparedStep

EFFORT = MeasuringEffort(min_steps=4, max_steps=4, min_seconds=0.0, max_warmups=3)


@dataclass
class ScriptedClock:
    """A clock whose n-th reading is so many seconds."""

    rank: int
    readings: list[float] = field(default_factory=list)

    def time(self, step):
        step()
        self.readings.append(1.0 + self.rank * (1 + len(self.readings) % 2))
        return self.readings[-1]


def on_both_ranks(folder, work):
    def rank(number):
        link = join_ranks(folder, RankPlace(number, 2))
        try:
            return work(RankClock(ScriptedClock(number), link))
        finally:
            link.close()

    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(rank, range(2)))


def test_a_step_takes_as_long_as_its_slowest_rank_and_each_rank_is_kept(tmp_path):
    def work(clock):
        times = [clock.time(lambda: None) for _ in range(3)]
        return times, clock.latest_s(2)

    assert on_both_ranks(tmp_path, work) == [([2.0, 3.0, 2.0], [(1.0, 3.0), (1.0, 2.0)])] * 2


def test_both_ranks_run_as_many_steps_and_keep_the_same_times(tmp_path):
    calls = []

    def work(clock):
        return measure(lambda: lambda: calls.append(1), clock, effort=EFFORT)

    first, second = on_both_ranks(tmp_path, work)

    assert first.steps_s == second.steps_s
    assert first.rank_times_s == second.rank_times_s
    assert first.rank_times_s[0] == (1.0,) * 4
    assert [max(times) for times in zip(*first.rank_times_s, strict=True)] == list(first.steps_s)
    assert len(calls) == 2 * (3 + 4 + 1)


class InstantClock:
    """A clock whose readings take no time: only preparations do."""

    def time(self, step):
        step()
        return 1e-6


def test_ranks_whose_preparations_differ_decide_by_the_slowest(tmp_path):
    effort = MeasuringEffort(
        min_steps=2,
        max_steps=200,
        min_seconds=0.0,
        max_seconds=0.05,
        max_warmups=200,
        max_warmup_seconds=0.02,
    )

    def rank(number):
        step = PreparedStep(prepare=lambda: time.sleep(0.005 * number), run=lambda: None)
        link = join_ranks(tmp_path, RankPlace(number, 2))
        try:
            return measure(lambda: step, RankClock(InstantClock(), link), effort=effort)
        finally:
            link.close()

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(rank, range(2))

    assert first.steps_s == second.steps_s
    assert first.warmups_s == second.warmups_s
    assert len(first.steps_s) < 20


def test_no_rank_starts_before_a_moment_after_all_have_come(tmp_path):
    arrivals_s, starts_s = [], []

    def work(clock):
        arrivals_s.append(time.monotonic())
        clock.time(lambda: starts_s.append(time.monotonic()))

    on_both_ranks(tmp_path, work)

    assert min(starts_s) >= max(arrivals_s) + LEAD_S
