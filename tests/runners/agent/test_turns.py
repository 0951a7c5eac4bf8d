"""Base and head in turns: scripted sides for the order, real children for the rest."""

import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from perfledger.records import Framework, Side, Why, WorkloadSpec
from perfledger_runners.pairs import alternate, measure_pairs

FINE = """
@perfledger.workload()
def {name}():
    return lambda: sum(range(100))
"""


class Rule:
    """Wants `pairs` pairs of every workload, and remembers what it was told."""

    def __init__(self, pairs):
        self.pairs = pairs
        self.added = []
        self.started = []

    def start(self, workloads):
        self.started = list(workloads)

    def add(self, base, head):
        self.added.append((base, head))

    def decision(self):
        counts = Counter(base.workload for base, _ in self.added)
        return frozenset(name for name in self.started if counts[name] < self.pairs)


def spec(name, framework=Framework.HOST):
    return WorkloadSpec(
        id=f"benchmarks.w:{name}", module="benchmarks.w", function=name, framework=framework
    )


def waiting(*names, told):
    """A side that waits for its turn at each of these workloads, noting when it goes on."""
    for name in names:
        yield name
        told(name)


def test_sides_take_turns_first_second_second_first():
    order = []
    first = waiting("a", "a", "a", "b", told=lambda name: order.append(f"1{name}"))
    second = waiting("a", "a", "a", "b", told=lambda name: order.append(f"2{name}"))

    alternate(first, second, ["a", "b"])

    assert order == ["1a", "2a", "2a", "1a", "1a", "2a", "2b", "1b"]


def test_the_side_that_is_behind_catches_up_before_turns_go_on():
    order = []
    first = waiting("a", "b", told=lambda name: order.append(f"1{name}"))
    second = waiting("a", "a", "a", "b", told=lambda name: order.append(f"2{name}"))

    alternate(first, second, ["a", "b"])

    assert order[:4] == ["1a", "2a", "2a", "2a"]
    assert sorted(order[4:]) == ["1b", "2b"]


def test_a_side_that_never_waits_or_lost_its_workloads_holds_nobody_up():
    order = []
    second = waiting("a", "b", told=lambda name: order.append(f"2{name}"))

    alternate(iter(()), second, ["a", "b"])

    assert order == ["2a", "2b"]


NOTING = """
import os, time
import perfledger

@perfledger.workload()
def {name}():
    side = os.path.basename(os.getcwd())
    def step():
        time.sleep(0.03)
        with open({log!r}, "a") as log:
            log.write(side[0])
    return step
"""
DYING = """
import os
import perfledger

@perfledger.workload()
def a():
    calls = []
    def step():
        calls.append(1)
        if len(calls) > 6:
            os.kill(os.getpid(), 9)
    return step
"""


def in_turns(requests):
    effort = replace(next(iter(requests.values())).effort, min_steps=8, max_steps=8)
    return {
        side: replace(request, takes_turns=True, effort=effort)
        for side, request in requests.items()
    }


@pytest.mark.slow
def test_real_children_take_turns_and_both_have_all_their_samples(harness, sides, tmp_path):
    log = tmp_path / "log"
    requests = in_turns(sides(NOTING.format(name="a", log=str(log))))

    measured = measure_pairs(
        harness, requests, [spec("a")], Rule(1), seed=3, max_pairs=1, budget_s=600
    )

    assert measured.failures == ()
    assert [len(run.samples["step_time_p50"]) for run in measured.runs] == [8, 8]
    steps = log.read_text()
    assert steps.count("b") == steps.count("h") == 3 + 8  # warm-up and samples
    # One side after the other would be one change.
    assert sum(one != other for one, other in pairwise(steps)) >= 4


@pytest.mark.slow
def test_a_side_that_dies_in_its_turn_costs_only_its_own_workload(harness, sides):
    base = FINE.format(name="b") + NOTING.format(name="a", log=os.devnull)
    requests = in_turns(sides(base, FINE.format(name="b") + DYING))

    measured = measure_pairs(
        harness, requests, [spec("a"), spec("b")], Rule(1), seed=3, max_pairs=1, budget_s=600
    )

    (failure,) = measured.failures
    assert (failure.workload, failure.side, failure.why) == (
        "benchmarks.w:a",
        Side.HEAD,
        Why.KILLED,
    )
    assert Counter(run.side for run in measured.runs if run.workload == "benchmarks.w:b") == {
        Side.BASE: 1,
        Side.HEAD: 1,
    }
