import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from perfledger.records import Device, FailureReason, Framework, Side, WorkloadSpec
from perfledger_runners.machine.nvml import GpuActivity, GpuState
from perfledger_runners.machine.telemetry import TelemetrySample
from perfledger_runners.measuring.paired_runs import measure_pairs
from perfledger_runners.measuring.rounds.pair_order import pair_order
from perfledger_runners.measuring.throttled_pairs import OF_THROTTLED_TRIES
from tests.suite.without_kernels import WithoutKernels

FINE = """
@perfledger.workload()
def {name}():
    return lambda: sum(range(100))
"""

ON_GPU = """
@perfledger.workload(framework="torch")
def {name}():
    return lambda: sum(range(100))
"""


class Rule(WithoutKernels):
    """Wants `pairs` pairs of every workload, and remembers what it was told."""

    def __init__(self, pairs):
        self.pairs = pairs
        self.added = []
        self.started = []
        self.next_pair = lambda _: None
        self.futile = lambda _: frozenset()
        self.changes = frozenset

    def start(self, workloads):
        self.started = list(workloads)

    def add(self, base, head):
        self.added.append((base, head))

    def unfinished(self):
        counts = Counter(base.workload for base, _ in self.added)
        return frozenset(name for name in self.started if counts[name] < self.pairs)


class Heard:
    """Remembers what the agent said it was doing."""

    def __init__(self):
        self.workloads = []
        self.pairs = []

    def measuring(self, workload, side, pair):
        self.workloads.append((pair, side, workload))

    def pair_done(self, *, pairs, waiting, seconds_left):
        self.pairs.append((pairs, waiting, seconds_left >= 0))


class Hot:
    """A device that was too hot whenever one looked."""

    def __init__(self):
        self.calls = []

    def start(self):
        self.calls.append("start")

    def stop(self):
        self.calls.append("stop")
        state = GpuState(reasons=0x40, clock_mhz=900.0, power_w=300.0, temperature_c=95.0)
        active = GpuActivity(sm_active=0.5)
        return (TelemetrySample(since_s=0.0, at_s=0.0, state=state, activity=active),)


def spec(name, framework=Framework.HOST):
    return WorkloadSpec(
        id=f"benchmarks.w:{name}", module="benchmarks.w", function=name, framework=framework
    )


@pytest.mark.slow
def test_a_pair_is_a_run_of_each_side_in_the_order_that_was_drawn(answering, sides):
    rule, heard = Rule(2), Heard()

    measured = measure_pairs(
        answering,
        sides(FINE.format(name="a") + FINE.format(name="b")),
        [spec("a"), spec("b")],
        rule,
        seed=3,
        max_pairs=5,
        budget_s=600,
        progress=heard,
    )

    assert measured.failures == ()
    assert measured.order == pair_order(3, 5)[:2]
    assert Counter((run.workload, run.side) for run in measured.runs) == {
        (f"benchmarks.w:{name}", side): 2 for name in "ab" for side in Side
    }
    for run in measured.runs:
        assert run.position == (0 if measured.order[run.pair] is run.side else 1)
    assert {run.process for run in measured.runs} == {0, 1, 2, 3}
    assert [(base.side, head.side) for base, head in rule.added] == [(Side.BASE, Side.HEAD)] * 4
    assert len(heard.workloads) == 8
    assert heard.pairs == [(1, 2, True), (2, 0, True)]


@pytest.mark.slow(ci_only=True)
def test_what_fails_on_one_side_is_not_measured_again_and_costs_the_others_nothing(harness, sides):
    base = FINE.format(name="good") + FINE.format(name="bad")
    head = (
        FINE.format(name="good")
        + "import os\n"
        + ("@perfledger.workload()\ndef bad():\n    return lambda: os._exit(4)\n")
    )
    rule = Rule(2)

    measured = measure_pairs(
        harness,
        sides(base, head),
        [spec("bad"), spec("good")],
        rule,
        seed=0,
        max_pairs=4,
        budget_s=600,
    )

    (failure,) = measured.failures
    assert (failure.workload, failure.side) == ("benchmarks.w:bad", Side.HEAD)
    assert (failure.why, failure.pair) == (FailureReason.RAISED, 0)
    assert {base.workload for base, _ in rule.added} == {"benchmarks.w:good"}
    assert Counter(run.workload for run in measured.runs)["benchmarks.w:good"] == 4
    assert len(measured.order) == 2


@pytest.mark.slow(ci_only=True)
def test_a_workload_that_one_side_lacks_is_missing_there(harness, sides):
    measured = measure_pairs(
        harness,
        sides(FINE.format(name="a"), FINE.format(name="renamed")),
        [spec("a")],
        Rule(4),
        seed=0,
        max_pairs=4,
        budget_s=600,
    )

    assert [(each.side, each.why) for each in measured.failures] == [
        (Side.HEAD, FailureReason.MISSING)
    ]


@pytest.mark.slow(ci_only=True)
def test_a_failure_is_told_in_the_words_of_its_own_workload_alone(harness, sides):
    text = (
        "import os\n"
        "@perfledger.workload()\ndef a():\n    print('look here')\n    raise KeyError\n"
        "@perfledger.workload()\ndef b():\n    os._exit(0)\n"
    )

    measured = measure_pairs(
        harness, sides(text), [spec("a"), spec("b")], Rule(1), seed=0, max_pairs=1, budget_s=600
    )

    failed = {(each.workload, each.side): each for each in measured.failures}
    assert len(failed) == 4
    assert "look here" in measured.logs["0"]
    for side in Side:
        first, second = failed["benchmarks.w:a", side], failed["benchmarks.w:b", side]
        assert "look here" in first.log_tail
        assert "look here" not in second.log_tail
        assert second.detail.endswith("before it was done: it printed nothing")


@pytest.mark.slow
def test_frameworks_do_not_share_a_process(answering, sides):
    text = FINE.format(name="a") + FINE.format(name="b")

    measured = measure_pairs(
        answering,
        sides(text),
        [spec("a"), spec("b", Framework.TORCH)],
        Rule(1),
        seed=0,
        max_pairs=1,
        budget_s=600,
    )

    processes = {(run.workload, run.process) for run in measured.runs}
    assert len(processes) == len({process for _, process in processes}) == 4


@pytest.mark.slow(ci_only=True)
def test_a_device_that_slowed_down_makes_a_failure_and_keeps_the_samples(
    harness, sides, fake_torch
):
    hot, pauses = Hot(), []
    requests = {
        side: replace(request, device="auto")
        for side, request in sides(ON_GPU.format(name="a") + FINE.format(name="b")).items()
    }
    for request in requests.values():
        for name, text in fake_torch.items():
            file = Path(request.root, "torch", f"{name}.py")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    measured = measure_pairs(
        harness,
        requests,
        [spec("a", Framework.TORCH), spec("b")],
        Rule(1),
        seed=0,
        max_pairs=1,
        budget_s=600,
        telemetry=hot,
        wait=pauses.append,
    )

    assert pauses == [5.0, 10.0, 20.0, 40.0]
    (failure,) = measured.failures
    assert failure.detail.startswith("in each of 5 tries, with pauses: the GPU was throttled in ")
    assert (failure.workload, failure.why) == ("benchmarks.w:a", FailureReason.THROTTLED)
    slowed, base, head = measured.runs
    assert (slowed.device, slowed.left_out) == (
        Device.CUDA,
        {"throttled": 1, OF_THROTTLED_TRIES: 4 * len(slowed.samples["step_time_p50"])},
    )
    assert slowed.samples["sm_active"] == (0.5,)
    assert [run.device for run in (base, head)] == [Device.CPU] * 2
    assert not any("throttled" in run.left_out for run in (base, head))
    assert hot.calls[0] == "start"


@pytest.mark.slow(ci_only=True)
def test_a_hang_ends_with_its_time_and_the_rest_is_measured(harness, hang, sides):
    text = FINE.format(name="b") + hang + "@perfledger.workload()\ndef a():\n    return hang\n"

    measured = measure_pairs(
        harness,
        sides(text),
        [spec("a"), spec("b")],
        Rule(1),
        seed=0,
        max_pairs=1,
        budget_s=600,
    )

    assert {(each.workload, each.side, each.why) for each in measured.failures} == {
        ("benchmarks.w:a", side, FailureReason.HUNG) for side in Side
    }
    assert [run.workload for run in measured.runs] == ["benchmarks.w:b"] * 2
    assert replace(measured.failures[0], log_tail="").detail.startswith(
        "it did not end within 1,800 s"
    )


NOTING = """
import os, time
import perfledger

@perfledger.workload()
def {name}():
    side = os.path.basename(os.getcwd())
    def step():
        time.sleep(0.04)  # longer than a turn, so that each step is one
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
    effort = replace(next(iter(requests.values())).effort, min_steps=4, max_seconds=0.4)
    changes = {"is_interleaved": True, "effort": effort}
    return {side: replace(request, **changes) for side, request in requests.items()}


@pytest.mark.slow(ci_only=True)
def test_real_children_take_turns_and_both_have_all_their_samples(harness, sides, tmp_path):
    log = tmp_path / "log"
    requests = in_turns(sides(NOTING.format(name="a", log=str(log))))

    measured = measure_pairs(
        harness, requests, [spec("a")], Rule(1), seed=3, max_pairs=1, budget_s=600
    )

    assert measured.failures == ()
    steps = log.read_text()
    for run in measured.runs:
        samples = len(run.samples["step_time_p50"])
        # Warm-ups before them, and after them one step whose result is looked at, and unless steps
        # are long one whose calls are.
        assert steps.count(run.side[0]) - 3 - samples in {1, 2}
        assert len(run.turns) >= 4  # how many more, the machine's speed says
        assert sum(run.turns) == samples
    # One side after the other would be one change.
    assert sum(one != other for one, other in pairwise(steps)) >= 4


class BriefRule(Rule):
    """Wants two turns of each pair but the first."""

    def pair_lengths(self, seconds):
        return {name: 2 for name, pair_s in seconds.items() if pair_s > 0}


def test_later_pairs_measure_as_long_as_the_rule_says(harness, sides):
    requests = in_turns(sides(FINE.format(name="a")))

    measured = measure_pairs(
        harness, requests, [spec("a")], BriefRule(2), seed=3, max_pairs=2, budget_s=600
    )

    turns = [max(len(run.turns) for run in measured.runs if run.pair == pair) for pair in (0, 1)]
    assert turns[1] <= 2 < turns[0]


@pytest.mark.slow(ci_only=True)
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
        FailureReason.KILLED,
    )
    assert Counter(run.side for run in measured.runs if run.workload == "benchmarks.w:b") == {
        Side.BASE: 1,
        Side.HEAD: 1,
    }
