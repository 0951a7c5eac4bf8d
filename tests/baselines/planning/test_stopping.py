from dataclasses import replace
from pathlib import Path

import pytest

import perfledger_baselines
from perfledger.metrics import CPU_TIME, METRICS, OPTIONAL_METRICS, PEAK_MEMORY, STEP_TIME
from perfledger.records import CoreTimes, Side
from perfledger.stopping_rule import StoppingRule
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.planning.stopping import GroupSequentialStopping
from perfledger_baselines.significance.decision_rule import CheckPlanError
from perfledger_baselines.significance.spread_prior import PriorSource, SpreadPrior
from tests.field_bounds import assert_bounds_are_known

LOOKS = (4, 6, 8)
CLEAR = [(1.0, ratio) for ratio in (1.2, 1.201, 1.199, 1.2, 1.2002, 1.1998, 1.2, 1.2001)]
NOISY = [(1.0, ratio) for ratio in (1.2, 0.85, 1.1, 0.9, 1.15, 0.8, 1.1, 0.95)]
EQUAL = [(1.0, 1.0)] * 8
WILD = [(1.0, ratio) for ratio in (2.0, 0.5, 1.7, 0.6, 1.9, 0.55, 1.8, 0.52)]
NEARLY = [(1.0, ratio) for ratio in (1.04, 0.95, 1.06, 0.97, 1.03, 0.96, 1.04, 0.97)]


def looks_rule(metrics=(STEP_TIME,), looks=LOOKS, **values):
    return GroupSequentialStopping(
        **{"looks": looks, "alpha": 0.05, "margin": 0.01, "floor": 0.003, **values},
        metrics=metrics,
    )


def started(*workloads, **values):
    rule = looks_rule(**values)
    rule.start(workloads)
    return rule


def feed(build, rule, workload, count, **metrics):
    """Add the first `count` pairs and return what the rule said after each."""
    answers = []
    for base, head in build.pairs(workload, **metrics)[:count]:
        rule.add(base, head)
        answers.append(workload in rule.unfinished())
    return answers


def test_it_fills_the_port_that_the_runner_asks_for():
    rule: StoppingRule = started("m:f")

    assert rule.unfinished() == {"m:f"}


def test_a_clear_change_ends_at_the_first_look(build):
    answers = feed(build, started("m:f"), "m:f", 4, step_time_p50=CLEAR)

    assert answers == [True, True, True, False]


def test_equivalence_ends_at_the_first_look(build):
    answers = feed(build, started("m:f"), "m:f", 4, step_time_p50=EQUAL)

    assert answers == [True, True, True, False]


def test_pairs_that_are_to_have_kernels_are_measured_although_the_step_is_decided(build):
    rule = started("m:f", kernel_pairs=6)

    assert feed(build, rule, "m:f", 6, step_time_p50=EQUAL) == [True] * 5 + [False]


def test_a_regression_needs_no_kernels(build):
    answers = feed(build, started("m:f", kernel_pairs=6), "m:f", 4, step_time_p50=CLEAR)

    assert answers == [True, True, True, False]


def test_doubt_ends_with_the_last_look(build):
    answers = feed(build, started("m:f"), "m:f", 8, step_time_p50=NOISY)

    assert answers == [True] * 7 + [False]


def test_between_looks_nobody_looks(build):
    doubtful_then_equal = [(1.0, ratio) for ratio in (1.01, 1.0, 0.996, 1.001)] + [(1.0, 1.0)] * 4
    at_every_pair = feed(
        build, started("m:f", looks=(4, 5, 6, 7, 8)), "m:f", 8, step_time_p50=doubtful_then_equal
    )
    at_two = feed(build, started("m:f", looks=(4, 8)), "m:f", 8, step_time_p50=doubtful_then_equal)

    assert at_every_pair == [True] * 4 + [False] * 4
    assert at_two == [True] * 7 + [False]


def test_a_workload_needs_all_of_its_tests_decided(build):
    rule = started("m:f", metrics=METRICS.values())

    answers = feed(build, rule, "m:f", 8, step_time_p50=CLEAR, cpu_time=NOISY)

    assert answers == [True] * 7 + [False]


def test_nothing_waits_for_the_share_of_a_shared_cpu(build):
    rule = started("m:f", metrics=METRICS.values())

    answers = feed(build, rule, "m:f", 4, step_time_p50=CLEAR, cpu_active=NOISY)

    assert answers == [True] * 3 + [False]


def test_workloads_end_each_at_their_own_look(build):
    rule = started("m:f", "m:g")
    clear = build.pairs("m:f", step_time_p50=CLEAR)
    noisy = build.pairs("m:g", step_time_p50=NOISY)
    for number in range(4):
        rule.add(*clear[number])
        rule.add(*noisy[number])

    assert rule.unfinished() == {"m:g"}


def test_a_workload_that_was_not_looked_at_yet_counts_in_the_family(build):
    pairs = [(1.0, ratio) for ratio in (1.02, 1.023, 1.017, 1.0215)]
    many = [f"m:g{k}" for k in range(200)]

    alone = feed(build, started("m:f"), "m:f", 4, step_time_p50=pairs)
    among = feed(build, started("m:f", *many), "m:f", 4, step_time_p50=pairs)

    assert alone[-1] is False
    assert among[-1] is True


def test_a_decision_can_be_asked_for_twice(build):
    rule = started("m:f", "m:g")
    feed(build, rule, "m:f", 4, step_time_p50=CLEAR)

    assert rule.unfinished() == rule.unfinished() == {"m:g"}


def test_starting_again_forgets_what_was(build):
    rule = started("m:f")
    feed(build, rule, "m:f", 4, step_time_p50=CLEAR)

    rule.start(["m:g"])

    assert rule.unfinished() == {"m:g"}


def test_what_cannot_be_measured_needs_no_more_pairs(build):
    answers = feed(build, started("m:f"), "m:f", 4, step_time_p50=[(0.0, 1.0)] * 4)

    assert answers[-1] is False


@pytest.mark.parametrize("pairs", [CLEAR, EQUAL])
def test_the_judge_says_of_the_bundle_what_the_rule_stopped_for(build, pairs):
    rule = started("m:f")
    count = feed(build, rule, "m:f", 8, step_time_p50=pairs).index(False) + 1

    plan = build.plan(looks=LOOKS)
    (verdict,) = judge_bundle(build.bundle({"m:f": {"step_time_p50": pairs[:count]}}, plan=plan))

    assert verdict.outcome is not Outcome.UNDECIDED
    assert verdict.estimate is not None
    assert verdict.estimate.pairs == count


def test_runs_that_are_no_pair_are_refused(build):
    rule = started("m:f", "m:g")
    base, head = build.pairs("m:f", step_time_p50=[(1.0, 1.0)])[0]
    other, _ = build.pairs("m:g", step_time_p50=[(1.0, 1.0)])[0]
    stranger = build.pairs("m:h", step_time_p50=[(1.0, 1.0)])[0]

    for wrong in ((head, base), (other, head), stranger):
        with pytest.raises(ValueError, match="are not a pair"):
            rule.add(*wrong)


@pytest.mark.parametrize("looks", [(), (2,), (1, 3)])
def test_looks_that_never_see_four_pairs_are_no_plan(looks):
    with pytest.raises(CheckPlanError, match="end before 4 pairs"):
        looks_rule(looks=looks)


def test_one_look_at_four_pairs_is_a_plan(build):
    assert feed(build, started("m:f", looks=(4,)), "m:f", 4, step_time_p50=CLEAR)[-1] is False


def test_a_known_spread_ends_a_clear_change_with_its_second_pair(build):
    prior = SpreadPrior(variance=0.01**2, degrees=10, source=PriorSource.PAIRS, values=30)
    rule = started("m:f", looks=(1, 2, 3), priors={("m:f", STEP_TIME.name): prior})

    answers = feed(build, rule, "m:f", 2, step_time_p50=CLEAR)

    assert answers == [True, False]


def test_the_next_pair_goes_to_the_widest_interval_for_its_price(build):
    rule = started("m:f", "m:g")
    wide = [(1.0, 1.0 + 2 * (head - 1.0)) for _, head in NOISY]
    feed(build, rule, "m:f", 4, step_time_p50=NOISY)
    feed(build, rule, "m:g", 4, step_time_p50=wide)

    assert rule.next_pair({"m:f": 10.0, "m:g": 10.0}) == "m:g"
    assert rule.next_pair({"m:f": 1.0, "m:g": 10.0}) == "m:f"


def test_the_next_pair_goes_first_to_what_has_no_interval(build):
    rule = started("m:f", "m:g", "m:h")
    feed(build, rule, "m:f", 4, step_time_p50=NOISY)
    feed(build, rule, "m:g", 1, step_time_p50=NOISY)

    assert rule.next_pair({"m:f": 1.0, "m:g": 1.0, "m:h": 9.0}) == "m:h"


def test_the_next_pair_goes_to_one_that_soon_has_an_interval(build):
    rule = started("m:f", "m:g", "m:h")
    for workload, pairs in (("m:f", 1), ("m:g", 3), ("m:h", 3)):
        feed(build, rule, workload, pairs, step_time_p50=NOISY)

    assert rule.next_pair({"m:f": 1.0, "m:g": 3.0, "m:h": 2.0}) == "m:h"


def test_the_next_pair_goes_to_one_that_there_is_time_for(build):
    rule = started("m:f", "m:g")
    feed(build, rule, "m:f", 4, step_time_p50=NOISY)

    assert rule.next_pair({"m:f": 9.0, "m:g": 1.0}) == "m:g"
    assert rule.next_pair({"m:f": 9.0}) == "m:f"
    assert rule.next_pair({}) is None


def test_the_next_pair_goes_last_to_what_only_lacks_windows_of_kernels(build):
    rule = started("m:f", "m:g", kernel_pairs=6)
    feed(build, rule, "m:f", 4, step_time_p50=EQUAL)
    feed(build, rule, "m:g", 4, step_time_p50=NOISY)

    assert rule.next_pair({"m:f": 1.0, "m:g": 9.0}) == "m:g"
    assert rule.next_pair({"m:f": 1.0}) == "m:f"
    feed(build, rule, "m:f", 2, step_time_p50=EQUAL)
    assert rule.next_pair({"m:f": 1.0}) is None


def test_nobody_is_next_when_all_is_known(build):
    rule = started("m:f")
    feed(build, rule, "m:f", 4, step_time_p50=CLEAR)

    assert rule.next_pair({}) is None


def test_two_pairs_without_a_history_have_no_interval_either(build):
    rule = started("m:f", "m:g", looks=(2, 4, 8))
    feed(build, rule, "m:f", 4, step_time_p50=NOISY)
    feed(build, rule, "m:g", 2, step_time_p50=NOISY)

    assert rule.next_pair({"m:f": 1.0, "m:g": 9.0}) == "m:g"


def test_the_next_pair_goes_to_nobody_that_the_others_have_decided(build):
    barely = [(1.0, ratio) for ratio in (1.019, 1.028, 1.01, 1.024, 1.019)]
    clear = [f"m:g{k}" for k in range(5)]
    rule = started("m:f", "m:h", *clear)
    answers = feed(build, rule, "m:f", 5, step_time_p50=barely)
    feed(build, rule, "m:h", 4, step_time_p50=NOISY)
    for workload in clear:
        feed(build, rule, workload, 4, step_time_p50=CLEAR)

    assert answers[-1] is True  # at its look, the share of the others was still open
    assert rule.next_pair({"m:f": 1.0, "m:h": 9.0}) == "m:h"
    assert rule.next_pair({"m:f": 1.0}) is None


def test_what_the_pairs_cannot_settle_is_futile(build):
    rule = started("m:quiet", "m:wild", looks=(4, 6, 8, 20), margin=0.05)
    for name, pairs in (("m:quiet", NEARLY), ("m:wild", WILD)):
        feed(build, rule, name, 5, step_time_p50=pairs)

    assert rule.futile({"m:quiet": 20, "m:wild": 20}) == {"m:wild"}
    assert rule.futile({"m:quiet": 20}) == frozenset()


def test_one_test_with_a_chance_keeps_its_workload(build):
    rule = started("m:f", metrics=METRICS.values(), looks=(4, 6, 8, 20), margin=0.05)
    feed(build, rule, "m:f", 5, step_time_p50=NEARLY, peak_memory=WILD)

    assert rule.futile({"m:f": 20}) == frozenset()


@pytest.mark.parametrize(
    ("queued_share", "futile"), [(0.0, {"m:f"}), (0.019, {"m:f"}), (0.021, frozenset())]
)
def test_a_step_that_waits_for_a_core_has_the_chance_of_its_cpu_time(build, queued_share, futile):
    def waiting(run):
        elapsed_s = run.samples[STEP_TIME.name]
        queued_s = tuple(queued_share * each for each in elapsed_s)
        times = CoreTimes(elapsed_s=elapsed_s, queued_s=queued_s, helpers_s=(0.0,))
        return replace(run, core_times=times)

    rule = started("m:f", metrics=(STEP_TIME, CPU_TIME), looks=(4, 6, 8, 20), margin=0.05)
    for base, head in build.pairs("m:f", step_time_p50=WILD[:5], cpu_time=EQUAL[:5]):
        rule.add(waiting(base), waiting(head))

    assert rule.futile({"m:f": 20}) == futile


def test_a_head_that_is_less_parallel_beside_load_has_no_chance(build):
    """Base's second thread waits for a core; its work is done by head's only thread."""

    def with_times(run):
        elapsed_s, is_base = run.samples[STEP_TIME.name], run.side is Side.BASE
        halves = tuple(each / 2 for each in elapsed_s)
        waits = halves if is_base else tuple(0.0 for _ in elapsed_s)
        return replace(
            run, core_times=CoreTimes(elapsed_s=elapsed_s, queued_s=waits, helpers_s=waits)
        )

    rule = started("m:f", metrics=(STEP_TIME, CPU_TIME), looks=(4, 6, 8, 20), margin=0.05)
    for base, head in build.pairs("m:f", step_time_p50=EQUAL[:5], cpu_time=EQUAL[:5]):
        rule.add(with_times(base), with_times(head))

    assert rule.unfinished() == {"m:f"}
    assert rule.futile({"m:f": 20}) == {"m:f"}


def test_too_few_pairs_for_a_test_are_futile_unless_there_is_a_history(build):
    prior = SpreadPrior(variance=1e-4, degrees=10, values=11, source=PriorSource.PAIRS)
    rule = started("m:f")
    known_stopping = started("m:f", looks=(2, 4), priors={("m:f", STEP_TIME.name): prior})
    for each in (rule, known_stopping):
        feed(build, each, "m:f", 1, step_time_p50=EQUAL)

    assert rule.futile({"m:f": 3}) == {"m:f"}
    assert rule.futile({"m:f": 4}) == frozenset()
    assert known_stopping.futile({"m:f": 3}) == frozenset()


def test_a_regression_is_known_from_its_look_on(build):
    rule = started("m:f", "m:g")
    feed(build, rule, "m:f", 3, step_time_p50=CLEAR)
    before = rule.changes()
    feed(build, rule, "m:f", 4, step_time_p50=CLEAR)

    assert (before, rule.changes()) == (frozenset(), {"m:f"})


def test_a_faster_step_needs_time_for_its_profiles_too(build):
    rule = started("m:f", "m:g", metrics=(STEP_TIME, PEAK_MEMORY))
    feed(build, rule, "m:f", 5, step_time_p50=build.changed(0.8))
    feed(build, rule, "m:g", 5, peak_memory=build.changed(0.8), step_time_p50=build.changed(1.0))

    assert rule.changes() == {"m:f"}


def test_fields_and_parameters_have_known_bounds_and_defaults():
    assert_bounds_are_known(perfledger_baselines, Path(__file__).with_name("field_bounds.txt"))


def pair_in_turns(build, turns=24):
    runs = build.pairs("m:f", step_time_p50=[(0.01, 0.01)])[0]
    return [
        build.with_turns(
            replace(run, samples={**run.samples, "step_time_p50": (0.01,) * 3 * turns}),
            (3,) * turns,
        )
        for run in runs
    ]


def test_the_next_pair_of_steady_turns_is_shorter(build):
    rule = started("m:f", "m:g")
    rule.add(*pair_in_turns(build))

    assert rule.pair_lengths({"m:f": 1.5, "m:g": 1.5}) == {"m:f": 20}


def test_a_pair_whose_time_is_unknown_is_not_shortened(build):
    rule = started("m:f")
    rule.add(*pair_in_turns(build))

    assert rule.pair_lengths({}) == {}


def test_tails_need_all_steps(build):
    rule = started("m:f", metrics=(STEP_TIME, OPTIONAL_METRICS["step_time_p99"]))
    rule.add(*pair_in_turns(build))

    assert rule.pair_lengths({"m:f": 1.5}) == {}
