"""What is left of a budget when a pair of every workload no longer fits."""

from collections import Counter
from dataclasses import replace
from itertools import cycle

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import FailureReason, Framework, Side, WorkloadSpec
from perfledger_runners.children.harness import ChildLimits
from perfledger_runners.measuring.paired_runs import PROFILE_PAIRS, measure_pairs
from perfledger_runners.measuring.rounds.unmeasured import FutileWorkload
from tests.suite.without_kernels import WithoutKernels

A, B = "benchmarks.w:a", "benchmarks.w:b"
SPECS = tuple(WorkloadSpec(id=name, module="benchmarks.w", function=name[-1]) for name in (A, B))


class Undecided(WithoutKernels):
    """Never knows enough, and learns most from the workloads in `wishes`, one after another."""

    def __init__(self, *wishes):
        self.wishes = list(wishes)
        self.offered = []
        self.most_pairs = []
        self.without_hope = self.regressed = frozenset()

    def start(self, workloads):
        self.workloads = frozenset(workloads)

    def add(self, base, head):
        pass

    def unfinished(self):
        return self.workloads

    def futile(self, most_pairs):
        self.most_pairs.append(dict(most_pairs))
        return self.without_hope & most_pairs.keys()

    def changes(self):
        return self.regressed

    def next_pair(self, seconds):
        self.offered.append(dict(seconds))
        return self.wishes.pop(0) if self.wishes else None


class Jumps:
    """A clock that moves on by `step` with each workload that starts on a side."""

    def __init__(self, step):
        self.now = 0.0
        self.step = step

    def __call__(self):
        return self.now

    def measuring(self, *_):
        self.now += self.step

    def pair_done(self, **_):
        pass


class Rounds:
    """A clock at which the first round ends after `round_s`, and nothing else takes time."""

    def __init__(self, round_s):
        self.now = 0.0
        self.round_s = round_s
        self.done = []

    def __call__(self):
        return self.now

    def measuring(self, *_):
        self.now = self.round_s

    def pair_done(self, *, pairs, waiting, seconds_left):
        self.done.append((pairs, waiting, seconds_left))


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
    return [{"event": event, "workload": workload, **fields} for event, fields in events.items()]


@pytest.fixture
def in_turns(scripted, sides):
    """Return a function that measures workloads that set up for so many seconds, on that clock."""

    def measure(set_ups_s, rule, *, budget_s):
        conversations = [each for set_up_s in set_ups_s.items() for each in conversation(*set_up_s)]
        harness = scripted(*conversations, {"event": "ready", "workload": ""}, {"event": "done"})
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


@pytest.mark.slow(ci_only=True)
def test_the_budget_ends_it_between_pairs(answering, sides):
    clock = Jumps(4.0)  # 8 s a pair

    measured = measure_pairs(
        answering,
        sides("pass"),
        SPECS[:1],
        Undecided(),
        seed=0,
        max_pairs=20,
        budget_s=25.0,
        clock=clock,
        progress=clock,
    )

    assert len(measured.order) == 3
    assert len(measured.runs) == 2 * len(measured.order)
    assert measured.failures == ()


@pytest.mark.slow
def test_what_the_budget_did_not_reach_says_so(answering, sides):
    clock = Jumps(4.0)

    measured = measure_pairs(
        answering,
        sides("pass"),
        [replace(SPECS[0], framework=Framework.TORCH), SPECS[1]],
        Undecided(),
        seed=0,
        max_pairs=1,
        budget_s=5.0,
        clock=clock,
        progress=clock,
    )

    assert [(each.workload, each.why) for each in measured.failures] == [(B, FailureReason.BUDGET)]
    assert "the budget of 5 s" in measured.failures[0].detail
    assert {run.workload for run in measured.runs} == {A}


def test_no_budget_at_all_measures_nothing_and_says_so(answering, request_for, tmp_path):
    requests = dict.fromkeys(Side, request_for(tmp_path))

    measured = measure_pairs(
        answering, requests, SPECS[:1], Undecided(), seed=0, max_pairs=1, budget_s=0.0
    )

    assert [each.why for each in measured.failures] == [FailureReason.BUDGET]
    assert (measured.runs, measured.order) == ((), ())


@pytest.mark.slow(ci_only=True)
def test_the_rest_goes_to_whom_the_rule_learns_most_from(answering, sides):
    rule = Undecided(B, B)

    measured = measure_pairs(
        answering,
        sides("pass"),
        SPECS,
        rule,
        seed=1,
        max_pairs=9,
        budget_s=100,
        clock=(clock := Rounds(60.0)),
        progress=clock,
    )

    pairs = Counter((run.workload, run.pair) for run in measured.runs)
    assert pairs == {(A, 0): 2, (B, 0): 2, (B, 1): 2, (B, 2): 2}
    assert len(measured.order) == 3
    firsts = {run.pair: run.side for run in measured.runs if run.position == 0}
    assert [firsts[pair] for pair in range(3)] == list(measured.order)


@pytest.mark.slow(ci_only=True)
def test_only_what_there_is_time_and_a_place_for_is_offered(answering, sides):
    rule, hurried = Undecided(B), Undecided(B)

    measure_pairs(
        answering,
        sides("pass"),
        SPECS,
        rule,
        seed=1,
        max_pairs=2,
        budget_s=100,
        clock=(clock := Rounds(60.0)),
        progress=clock,
    )
    measure_pairs(
        answering,
        sides("pass"),
        SPECS,
        hurried,
        seed=1,
        max_pairs=2,
        budget_s=60,
        clock=(clock := Rounds(60.0)),
        progress=clock,
    )

    assert [offered.keys() for offered in rule.offered] == [{A, B}, {A}]
    assert all(0 < seconds < 60 for seconds in rule.offered[0].values())
    assert hurried.offered[0] == {}


@pytest.mark.slow(ci_only=True)
def test_each_pair_of_the_rest_is_told_when_it_is_done(answering, sides):
    measure_pairs(
        answering,
        sides("pass"),
        SPECS,
        Undecided(B, A),
        seed=1,
        max_pairs=9,
        budget_s=100,
        progress=(clock := Rounds(60.0)),
        clock=clock,
    )

    assert clock.done == [(1, 2, 40.0), (2, 2, 40.0), (2, 2, 40.0)]


@pytest.mark.slow(ci_only=True)
def test_what_the_rest_will_hardly_settle_is_futile(answering, sides):
    rule = Undecided()
    rule.without_hope = frozenset({A})
    clock = Rounds(60.0)

    measured = measure_pairs(
        answering,
        sides("pass"),
        SPECS,
        rule,
        seed=1,
        max_pairs=3,
        budget_s=1000,
        clock=clock,
        progress=clock,
    )

    assert Counter(run.workload for run in measured.runs) == {A: 2, B: 6}
    assert {name: (each.pairs, each.seconds_left) for name, each in measured.futile.items()} == {
        A: (1, 940.0)
    }
    assert rule.most_pairs[0] == {}  # nothing is known before the first pair
    assert rule.most_pairs[1] == {A: 3, B: 3}


@pytest.mark.slow
def test_a_check_ends_where_nothing_that_is_open_can_be_settled(answering, sides):
    rule = Undecided()
    rule.without_hope = frozenset({A, B})

    measured = measure_pairs(
        answering, sides("pass"), SPECS, rule, seed=1, max_pairs=20, budget_s=1000
    )

    assert len(measured.order) == 1
    assert measured.futile.keys() == {A, B}
    assert all(isinstance(each, FutileWorkload) for each in measured.futile.values())


@pytest.mark.slow
def test_time_is_kept_for_the_profiles_of_regressions(in_turns):
    rule = Undecided()
    rule.regressed = frozenset({A})

    in_turns({A: 10.0, B: 10.0}, rule, budget_s=33.0 + 19.0 * PROFILE_PAIRS + 18.0)
    in_turns({A: 10.0, B: 10.0}, rule, budget_s=33.0 + 19.0 * PROFILE_PAIRS + 19.5)

    assert rule.offered == [{}, {A: 19.0, B: 19.0}]
