"""What is left of a budget when a pair of every workload no longer fits."""

from collections import Counter
from dataclasses import replace
from itertools import cycle

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import WorkloadSpec
from perfledger_runners.children.harness import ChildLimits
from perfledger_runners.measuring.paired_runs import measure_pairs

TWO = """
@perfledger.workload()
def a():
    return lambda: sum(range(100))

@perfledger.workload()
def b():
    return lambda: sum(range(100))
"""
A, B = "benchmarks.w:a", "benchmarks.w:b"
SPECS = tuple(WorkloadSpec(id=name, module="benchmarks.w", function=name[-1]) for name in (A, B))


class Undecided:
    """Never knows enough, and learns most from the workloads in `wishes`, one after another."""

    def __init__(self, *wishes):
        self.wishes = list(wishes)
        self.offered = []

    def start(self, workloads):
        self.workloads = frozenset(workloads)

    def add(self, base, head):
        pass

    def decision(self):
        return self.workloads

    def next_pair(self, seconds):
        self.offered.append(dict(seconds))
        return self.wishes.pop(0) if self.wishes else None


class Heard:
    """Remembers what it was told of the pairs."""

    def __init__(self):
        self.done = []

    def measuring(self, *_):
        pass

    def pair_done(self, *, pairs, waiting, seconds_left):
        self.done.append((pairs, waiting, seconds_left))


class Rounds:
    """A clock at which each round of pairs ends `round_s` after the one before it."""

    def __init__(self, round_s):
        self.times = [0.0, 0.0, 0.0]  # the beginning, what is spent, and the first group's turn
        self.round_s = round_s

    def __call__(self):
        return self.times.pop(0) if self.times else self.round_s


class Hours:
    """A clock that moves on by what is being done, which it hears and reads for.

    Both sides set a workload up at once, for so long as `set_ups_s` says of one after the other.
    Each then samples for 2 s, and takes 2.5 s to end when all are done.
    """

    def __init__(self, set_ups_s):
        self.now = 0.0
        self.set_ups_s = cycle([each for seconds in set_ups_s for each in (seconds, 0.0)])
        self.sampling = 0

    def __call__(self):
        return self.now

    def measuring(self, *_):
        self.now += next(self.set_ups_s)

    def pair_done(self, **_):
        pass

    def start(self):
        self.now += 2.0
        self.sampling += 1

    def stop(self):
        self.now += 0.0 if self.sampling else 2.5
        self.sampling = max(0, self.sampling - 1)
        return ()


def conversation(workload, set_up_s):
    """Return what a child that takes turns says of a workload."""
    run = {
        "started_at": "2026-11-20T00:00:00Z",
        "samples": {STEP_TIME.name: [1.0, 1.0]},
        "warmups_s": [set_up_s],
        "device": "cpu",
    }
    events = {"ready": {}, "started": {}, "sampling": {}, "turn": {}, "run": run}
    return [{"event": event, "workload": workload, **said} for event, said in events.items()]


@pytest.fixture
def in_turns(scripted, sides):
    """Return a function that measures workloads that set up for so many seconds, on that clock."""

    def measure(set_ups_s, rule, *, budget_s):
        said = [each for told in set_ups_s.items() for each in conversation(*told)]
        harness = scripted(*said, {"event": "ready", "workload": ""}, {"event": "done"})
        hours = Hours(set_ups_s.values())
        measure_pairs(
            replace(harness, clock=hours, limits=ChildLimits(workload_s=1e6, startup_s=1e6)),
            {side: replace(each, is_interleaved=True) for side, each in sides("pass").items()},
            [WorkloadSpec(id=name, module="benchmarks.w", function="f") for name in set_ups_s],
            rule,
            seed=1,
            max_pairs=9,
            budget_s=budget_s,
            telemetry=hours,
            progress=hours,
            clock=hours,
        )

    return measure


@pytest.mark.slow
def test_what_both_sides_do_at_once_is_counted_once(in_turns):
    rule = Undecided()

    in_turns({A: 10.0, B: 10.0}, rule, budget_s=60)

    assert rule.offered == [{A: 19.0, B: 19.0}]


@pytest.mark.slow
def test_a_long_set_up_is_charged_to_its_own_workload(in_turns):
    rule = Undecided()

    in_turns({A: 100.0, B: 1.0}, rule, budget_s=225)

    assert rule.offered == [{A: 109.0, B: 10.0}]


@pytest.mark.slow
def test_nothing_is_offered_when_the_budget_is_spent(in_turns):
    rule = Undecided()

    in_turns(dict.fromkeys("abcd", 10.0), rule, budget_s=60)

    assert rule.offered == [{}]


@pytest.mark.slow
def test_the_rest_goes_to_whom_the_rule_learns_most_from(harness, sides):
    rule = Undecided(B, B)

    measured = measure_pairs(
        harness, sides(TWO), SPECS, rule, seed=1, max_pairs=9, budget_s=100, clock=Rounds(60.0)
    )

    pairs = Counter((run.workload, run.pair) for run in measured.runs)
    assert pairs == {(A, 0): 2, (B, 0): 2, (B, 1): 2, (B, 2): 2}
    assert len(measured.order) == 3
    firsts = {run.pair: run.side for run in measured.runs if run.position == 0}
    assert [firsts[pair] for pair in range(3)] == list(measured.order)


@pytest.mark.slow
def test_only_what_there_is_time_and_a_place_for_is_offered(harness, sides):
    rule, hurried = Undecided(B), Undecided(B)

    measure_pairs(
        harness, sides(TWO), SPECS, rule, seed=1, max_pairs=2, budget_s=100, clock=Rounds(60.0)
    )
    measure_pairs(
        harness, sides(TWO), SPECS, hurried, seed=1, max_pairs=2, budget_s=60, clock=Rounds(60.0)
    )

    assert [offered.keys() for offered in rule.offered] == [{A, B}, {A}]
    assert all(0 < seconds < 60 for seconds in rule.offered[0].values())
    assert hurried.offered[0] == {}


@pytest.mark.slow
def test_each_pair_of_the_rest_is_told_when_it_is_done(harness, sides):
    heard = Heard()

    measure_pairs(
        harness,
        sides(TWO),
        SPECS,
        Undecided(B, A),
        seed=1,
        max_pairs=9,
        budget_s=100,
        progress=heard,
        clock=Rounds(60.0),
    )

    assert heard.done == [(1, 2, 40.0), (2, 2, 40.0), (2, 2, 40.0)]
