import json
import math
from dataclasses import asdict, replace

import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import METRICS, STEP_TIME, MetricKind
from perfledger_baselines.judging.judge import judge_bundle, judge_unpaired
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.unpaired_t_tests import UnpairedTest

pytestmark = pytest.mark.slow

RULE = DecisionRule(looks=(), alpha=0.05, margin=0.01, floor=0.003)
FLIPPED = {Outcome.REGRESSED: Outcome.IMPROVED, Outcome.IMPROVED: Outcome.REGRESSED}

anything = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from(
    [0.0, -1.0, 1.0, 1e-300, 1e300, 5e-324, math.nan, math.inf, -math.inf]
)
any_samples = st.lists(anything, min_size=1, max_size=4)
any_pairs = st.lists(st.tuples(any_samples, any_samples), min_size=1, max_size=8)
times = st.floats(0.9, 1.1) | st.sampled_from([1.0, 1e-3])
processes = st.lists(st.lists(times, min_size=1, max_size=30), min_size=1, max_size=10)
sides = st.lists(st.floats(1e-300, 1e300) | st.floats(0.9, 1.1), min_size=1, max_size=8)


@given(st.sampled_from(list(METRICS)), any_pairs)
def test_whatever_was_read_every_verdict_has_a_reason_and_can_be_written(build, name, pairs):
    verdicts = judge_bundle(build.bundle({"m:f": {name: pairs}}))

    assert verdicts
    for verdict in verdicts:
        assert verdict.reason
        assert json.dumps(asdict(verdict), allow_nan=False)


@given(any_pairs, st.sampled_from([math.nan, math.inf, -1.0]))
def test_a_reading_that_is_no_size_is_never_green_nor_red(build, pairs, wrong):
    spoilt = [*pairs, ([1.0, wrong], [1.0])]

    (verdict,) = judge_bundle(build.bundle({"m:f": {STEP_TIME.name: spoilt}}))

    assert verdict.outcome is Outcome.NOT_MEASURED
    assert verdict.reason


@pytest.mark.slow(ci_only=True)
@given(processes, processes, st.randoms(use_true_random=False))
def test_the_order_of_the_samples_of_a_process_is_irrelevant(build, base, head, random):
    bundle = build.bundle({"m:f": {STEP_TIME.name: list(zip(base, head, strict=False))}})
    shuffled = replace(
        bundle,
        runs=tuple(
            replace(
                run,
                samples={
                    name: tuple(random.sample(values, len(values)))
                    for name, values in run.samples.items()
                },
            )
            for run in bundle.runs
        ),
    )

    assert judge_bundle(shuffled) == judge_bundle(bundle)


@pytest.mark.slow(ci_only=True)
@given(processes, processes)
def test_swapping_the_sides_mirrors_the_estimate(build, base, head):
    pairs = list(zip(base, head, strict=False))
    metrics = {STEP_TIME.name: pairs}, {STEP_TIME.name: [(b, a) for a, b in pairs]}

    # A step that is done in a hundredth of the time is in doubt, one that takes a hundred is not.
    accepted = (replace(build.bundle({"m:f": each}), accepted_work=("m:f",)) for each in metrics)

    (there,), (back,) = (judge_bundle(bundle) for bundle in accepted)

    assert (there.estimate is None) == (back.estimate is None)
    if there.estimate is not None and back.estimate is not None:
        assert 1 + back.estimate.change == pytest.approx(1 / (1 + there.estimate.change))
        assert 1 + back.estimate.low == pytest.approx(1 / (1 + there.estimate.high))
        assert back.estimate.p_value == pytest.approx(there.estimate.p_value, abs=1e-12)


@given(sides, sides, st.sampled_from(list(METRICS.values())))
def test_unpaired_runs_are_judged_alike_from_either_side(base, head, metric):
    if metric.kind is MetricKind.UTILIZATION:
        base, head = ([min(value, 1.0) for value in side] for side in (base, head))
    sides_of = {"workload": "m:f", "metric": metric}

    (there,) = judge_unpaired(
        [UnpairedTest(**sides_of, base=tuple(base), head=tuple(head))], rule=RULE
    )
    (back,) = judge_unpaired(
        [UnpairedTest(**sides_of, base=tuple(head), head=tuple(base))], rule=RULE
    )

    assert back.outcome is FLIPPED.get(there.outcome, there.outcome)
    assert json.dumps(asdict(there), allow_nan=False)


@given(sides, st.sampled_from(list(METRICS.values())))
def test_unpaired_runs_never_regress_against_themselves(side, metric):
    share = [min(value, 1.0) for value in side] if metric.kind is MetricKind.UTILIZATION else side
    test = UnpairedTest(workload="m:f", metric=metric, base=tuple(share), head=tuple(share))

    (verdict,) = judge_unpaired([test], rule=RULE)

    assert verdict.outcome not in FLIPPED
