import math
from dataclasses import replace

import numpy as np
import pytest

from perfledger.bundle import KnownSpread
from perfledger.metrics import Metric, MetricKind, MetricScale, WorseDirection
from perfledger.records import Device
from perfledger_baselines.judging.explanation import explain_verdict
from perfledger_baselines.judging.judge import judge_bundle, judgement_of
from perfledger_baselines.judging.pair_spreads import pair_differences
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import CheckPlanError
from perfledger_baselines.significance.spread_prior import MAX_VALUES

PAIRS = [(1.0, 1.01), (1.0, 1.03), (1.0, 1.02), (1.0, 1.01), (1.0, 1.03)]
LOGS = [math.log(head / base) for base, head in PAIRS]
RECOMPILES = Metric(
    name="recompiles",
    unit="1",
    worse=WorseDirection.HIGHER,
    kind=MetricKind.MEMORY,
    scale=MetricScale.EXACT,
)


def differences_in(bundle):
    return pair_differences(judgement_of(bundle).tests, bundle.machines())


def test_a_series_differs_by_what_its_pairs_do(build):
    (pair_difference,) = differences_in(build.bundle({"m:f": {"step_time_p50": PAIRS}}))

    assert pair_difference.values == pytest.approx(LOGS)
    assert (pair_difference.workload, pair_difference.metric) == ("m:f", "step_time_p50")
    assert pair_difference.machine_class == "cpu:made up:1"


def test_it_is_what_the_judge_takes_the_mean_of(build):
    """Where runs took turns, a pair's difference is that of its turns, and not of its locations."""
    base, head = [1.0, 2.0, 3.0, 4.0], [1.1, 2.2, 3.3, 9.0]
    bundle = build.bundle({"m:f": {"step_time_p50": [(base, head)] * 5}})
    in_turns = replace(
        bundle, runs=tuple(build.with_turns(run, (1, 1, 1, 1)) for run in bundle.runs)
    )

    (pair_difference,) = differences_in(in_turns)

    (verdict,) = judge_bundle(in_turns)
    assert verdict.estimate is not None
    assert np.mean(pair_difference.values) == pytest.approx(math.log1p(verdict.estimate.change))
    assert pair_difference != differences_in(bundle)[0]


def test_workloads_with_other_numbers_of_pairs_are_as_each_is_alone(build):
    shares = [(0.97, 0.96), (0.98, 0.95), (0.97, 0.97), (0.99, 0.96)]
    values = {
        "m:f": {"step_time_p50": PAIRS},
        "m:g": {"step_time_p50": PAIRS[:4], "sm_active": shares},
    }

    together_pair_differences = differences_in(build.bundle(values))

    alone = [differences_in(build.bundle({name: of_one})) for name, of_one in values.items()]
    assert together_pair_differences == (*alone[0], *alone[1])
    assert [len(one.values) for one in together_pair_differences] == [5, 4, 4]


def test_every_metric_of_every_workload_is_a_series(build):
    workloads = {
        "m:f": {"step_time_p50": PAIRS, "peak_memory": PAIRS},
        "m:g": {"step_time_p50": PAIRS, "flops_per_step": PAIRS},
    }

    found_pair_differences = differences_in(build.bundle(workloads))

    assert [(one.workload, one.metric) for one in found_pair_differences] == [
        ("m:f", "step_time_p50"),
        ("m:f", "peak_memory"),
        ("m:g", "step_time_p50"),
    ]


def test_two_pairs_are_enough(build):
    (pair_difference,) = differences_in(build.bundle({"m:f": {"step_time_p50": PAIRS[:2]}}))

    assert pair_difference.values == pytest.approx(LOGS[:2])


def test_what_was_called_changed_tells_its_spread_too(build):
    slower = [(base, 2 * head) for base, head in PAIRS]
    bundle = build.bundle({"m:f": {"step_time_p50": slower}})

    (pair_difference,) = differences_in(bundle)

    assert judge_bundle(bundle)[0].outcome is Outcome.REGRESSED
    assert pair_difference.values == pytest.approx([each + math.log(2) for each in LOGS])


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param(PAIRS[:1], id="a single pair"),
        pytest.param([(1.0, 0.0)] * 5, id="a zero"),
        pytest.param([(1.0, math.inf)] * 5, id="no number"),
        pytest.param([], id="none"),
    ],
)
def test_what_says_nothing_of_a_spread_is_left_out(build, pairs):
    metrics = {"step_time_p50": pairs} if pairs else {}

    assert differences_in(build.bundle({"m:f": metrics})) == ()


def test_a_count_that_never_varies_has_no_spread(build):
    bundle = build.bundle({"m:f": {"recompiles": [(3.0, 4.0)] * 5}}, metrics=(RECOMPILES,))

    assert differences_in(bundle) == ()


def test_a_failed_workload_tells_nothing(build):
    bundle = build.bundle({"m:f": {"step_time_p50": PAIRS}}, failures=(build.failure("m:f"),))

    assert differences_in(bundle) == ()


def test_a_pair_that_lacks_the_metric_is_left_out(build):
    holes = [(1.0, None), *PAIRS]
    bundle = build.bundle({"m:f": {"step_time_p50": [(1.0, 1.0), *PAIRS], "peak_memory": holes}})

    _, memory = differences_in(bundle)

    assert memory.values == pytest.approx(LOGS)


def test_pairs_beyond_the_plan_are_none(build):
    bundle = build.bundle({"m:f": {"step_time_p50": PAIRS}}, plan=build.plan(looks=(4,)))

    assert len(differences_in(bundle)[0].values) == 4


def test_no_more_is_kept_than_history_has_use_for(build):
    many = build.plan(looks=())
    bundle = build.bundle({"m:f": {"step_time_p50": PAIRS * 50}}, plan=many)

    assert len(differences_in(bundle)[0].values) == MAX_VALUES


def test_a_workload_beside_the_accelerator_is_of_another_class(build):
    bundle = build.bundle({"m:f": {"step_time_p50": PAIRS}})
    machine = replace(bundle.machine, device=Device.CUDA, model="a GPU", cpu_model="a CPU")
    runs = tuple(replace(run, device=Device.CPU) for run in bundle.runs)

    (pair_difference,) = differences_in(replace(bundle, machine=machine, runs=runs))

    assert pair_difference.machine_class == "cpu:a CPU:1"


def test_an_impossible_plan_is_an_error(build):
    with pytest.raises(CheckPlanError):
        differences_in(build.bundle({}, plan=build.plan(looks=(6, 4))))


def a_known(**values):
    return KnownSpread(
        **{
            "workload": "m:f",
            "metric": "step_time_p50",
            "machine_class": "cpu:made up:1",
            "variance": 0.005**2,
            "degrees": 12.0,
            "pairs": 40,
            **values,
        }
    )


def test_a_bundle_is_judged_by_what_its_stopping_knew(build):
    plan = build.plan(looks=(2, 3), spreads=(a_known(),))
    bundle = build.bundle({"m:f": {"step_time_p50": [(1.0, 1.05)] * 2}}, plan=plan)

    (verdict,) = judge_bundle(bundle)

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.prior is not None
    assert verdict.prior.values == 40
    assert verdict.reason.endswith("(Holm) after 2 pairs; uses the spread of 40 earlier pairs")


def test_whoever_knows_better_is_heard_instead(build):
    plan = build.plan(looks=(2, 3), spreads=(a_known(),))
    bundle = build.bundle({"m:f": {"step_time_p50": [(1.0, 1.05)] * 2}}, plan=plan)

    (verdict,) = judge_bundle(bundle, priors={})

    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.prior is None
    assert verdict.reason.startswith("2 of the 4 pairs needed;")


@pytest.mark.parametrize("ratio", [1.005, 1.05, 3.0])
def test_a_check_that_ended_after_one_pair_decides_nothing(build, ratio):
    """What drifts meanwhile goes one way through a single pair, and no history shows it."""
    plan = build.plan(looks=(2, 3), spreads=(a_known(),))
    bundle = build.bundle({"m:f": {"step_time_p50": [(1.0, ratio)]}}, plan=plan)

    (verdict,) = judge_bundle(bundle)

    assert (verdict.outcome, verdict.estimate) == (Outcome.UNDECIDED, None)
    assert verdict.reason.startswith("1 of the 2 pairs needed;")
    assert explain_verdict(verdict, plan).pairs_needed == 2


def test_a_test_without_a_history_says_how_many_pairs_it_waits_for(build):
    plan = build.plan(looks=(1, 2, 3, 4, 5), spreads=(a_known(),))
    workloads = {
        name: {"step_time_p50": [(1.0, 1.0 + 0.001 * k) for k in range(4)]}
        for name in ("m:f", "m:g")
    }

    known_verdict, unknown = judge_bundle(build.bundle(workloads, plan=plan))

    assert known_verdict.estimate is not None
    assert unknown.reason.startswith("4 of the 5 pairs needed;")
