"""Workloads that are judged by a margin or by metrics of their own."""

from perfledger.metrics import CPU_TIME, PEAK_MEMORY, STEP_TIME
from perfledger.records import FailureReason
from perfledger_baselines.judging.explanation import explain_verdict
from perfledger_baselines.judging.judge import judge_bundle, judgement_of
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.planning.sample_size import pairs_for_margin
from perfledger_baselines.planning.stopping import GroupSequentialStopping

NOISE = 20.0


def judged(build, plan, **samples):
    return {
        (each.workload, each.metric.name): each
        for each in judge_bundle(build.bundle({"m:f": samples, "m:g": samples}, plan=plan))
    }


def test_a_margin_of_its_own_proves_a_noisy_workload_unchanged(build):
    pairs = build.changed(1.0, spread=NOISE)

    verdicts = judged(build, build.plan(margins={"m:g": 0.05}), step_time_p50=pairs)

    other, own = (verdicts[name, STEP_TIME.name] for name in ("m:f", "m:g"))
    assert (other.outcome, own.outcome) == (Outcome.UNDECIDED, Outcome.UNCHANGED)
    assert own.reason == "proven within ±5 % after 6 pairs"


def test_a_margin_of_its_own_hides_no_regression(build):
    plan = build.plan(margins={"m:g": 0.2})

    verdicts = judged(build, plan, step_time_p50=build.changed(1.05))

    assert verdicts["m:g", STEP_TIME.name].outcome is Outcome.REGRESSED


def test_the_pairs_that_are_needed_follow_the_margin(build):
    plan = build.plan(margins={"m:g": 0.05})
    samples = {"step_time_p50": build.changed(1.0, spread=2 * NOISE)}
    judgement = judgement_of(build.bundle({"m:f": samples, "m:g": samples}, plan=plan))

    other, own = pairs_for_margin(judgement)

    assert (other.change, own.change) == (0.01, 0.05)
    assert other.pairs is not None
    assert own.pairs is not None
    assert own.pairs < other.pairs


def test_an_explanation_knows_the_margin_of_its_workload(build):
    plan = build.plan(margins={"m:g": 0.04})
    verdicts = judged(build, plan, step_time_p50=build.changed(1.0, spread=5 * NOISE))

    other, own = (
        explain_verdict(verdicts[name, STEP_TIME.name], plan).pairs_needed
        for name in ("m:f", "m:g")
    )

    assert own is not None
    assert other is None or own < other


def test_a_workload_is_judged_by_the_metrics_that_it_names(build):
    plan = build.plan(metrics={"m:g": (PEAK_MEMORY.name,)})

    verdicts = judged(build, plan, step_time_p50=build.changed(1.2), peak_memory=build.changed(1.0))

    assert set(verdicts) == {
        ("m:f", STEP_TIME.name),
        ("m:f", PEAK_MEMORY.name),
        ("m:g", PEAK_MEMORY.name),
    }
    assert verdicts["m:g", PEAK_MEMORY.name].outcome is Outcome.UNCHANGED


def test_a_chosen_metric_that_was_never_read_is_not_measured(build):
    plan = build.plan(metrics={"m:g": (CPU_TIME.name,)})

    verdict = judged(build, plan, step_time_p50=build.changed(1.0))["m:g", CPU_TIME.name]

    assert verdict.outcome is Outcome.NOT_MEASURED
    assert verdict.reason == "cpu_time was not read on base"


def test_a_step_without_work_is_no_smaller_memory(build):
    plan = build.plan(metrics={"m:g": (PEAK_MEMORY.name,)})
    samples = {"step_time_p50": build.changed(0.001), "peak_memory": build.changed(0.5)}

    judgement = judgement_of(build.bundle({"m:g": samples}, plan=plan))

    assert [(each.workload, each.why) for each in judgement.failures] == [
        ("m:g", FailureReason.UNPROVEN)
    ]
    assert [each.outcome for each in judgement.verdicts] == [Outcome.NOT_MEASURED]


def test_measuring_stops_by_the_rule_of_each_workload(build):
    rule = GroupSequentialStopping(
        looks=(4, 6),
        alpha=0.05,
        margin=0.01,
        floor=0.003,
        metrics=(STEP_TIME, PEAK_MEMORY),
        margins={"m:g": 0.2},
        chosen={"m:h": (PEAK_MEMORY.name,)},
    )
    rule.start(["m:f", "m:g", "m:h"])
    noisy, quiet = build.changed(1.0, spread=NOISE, pairs=4), build.changed(1.0, pairs=4)
    for workload in ("m:f", "m:g", "m:h"):
        for base, head in build.pairs(workload, step_time_p50=noisy, peak_memory=quiet):
            rule.add(base, head)

    assert rule.unfinished() == {"m:f"}
