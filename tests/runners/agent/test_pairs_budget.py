"""What is left of a budget when a pair of every workload no longer fits."""

from collections import Counter

import pytest

from perfledger.records import WorkloadSpec
from perfledger_runners.pairs import measure_pairs

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


class Rounds:
    """A clock at which each round of pairs ends `round_s` after the one before it."""

    def __init__(self, round_s):
        self.times = [0.0, 0.0, 0.0]  # the beginning, what is spent, and the first group's turn
        self.round_s = round_s

    def __call__(self):
        return self.times.pop(0) if self.times else self.round_s


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
