"""Verdicts that use the spreads of earlier uploads."""

from dataclasses import replace
from datetime import date

import pytest

from perfledger.bundle import FleetUse, KnownSpread, Plan, PricingConfig
from perfledger.metrics import PEAK_MEMORY, STEP_TIME, STEP_TIME_P95
from perfledger.records import Device, Machine
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.interim_looks import MIN_PAIRS_WITH_HISTORY, planned_looks
from perfledger_baselines.significance.spread_prior import PriorSource
from perfledger_service.rendering.check.comment import comment
from perfledger_service.store.database import read_session
from perfledger_service.store.projects import project_named
from perfledger_service.store.uploads import verdicts_of
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.spread_priors import (
    history_on_devices,
    priors_of_bundle,
)

CLASS = "cpu:Test CPU:1"
WITH_TAIL = {"metrics": (STEP_TIME, PEAK_MEMORY, STEP_TIME_P95), "samples": 20}


@pytest.fixture
def learn(judged, make_bundle):
    """Judge unchanged bundles, so that there is a history."""

    def learn(engine, count=4, *, first=100, **values):
        for seed in range(first, first + count):
            judged(engine, make_bundle(seed=seed, ratio=1.0, **values), upload_id=f"{seed:032x}")

    return learn


@pytest.fixture
def two_pairs(make_bundle):
    """Return a bundle of two pairs, of a check that could have stopped there."""

    def make(*, ratio=1.05, seed=1, pairs=2, metrics=(STEP_TIME, PEAK_MEMORY), samples=5, **plan):
        planned = Plan(
            seed=1,
            order=("base",) * pairs,
            looks=planned_looks(20, fewest=MIN_PAIRS_WITH_HISTORY),
            **plan,
        )
        shape = {"pairs": pairs, "metrics": metrics, "samples": samples}
        return make_bundle(ratio=ratio, seed=seed, plan=planned, **shape)

    return make


def known_history(engine):
    """What a runner gets from the service before its first pair."""
    with read_session(engine) as session:
        project = project_named(session, "octo/models")
        answer = history_on_devices(session, project.id, [CLASS])
    return {"spreads": answer.priors, "history": answer.history}


def step_time(engine, upload, *, metric=STEP_TIME):
    with read_session(engine) as session:
        return next(v for v in verdicts_of(session, upload.id) if v.metric == metric)


def test_without_a_history_two_pairs_decide_nothing(engine, judged, two_pairs):
    upload = judged(engine, two_pairs())

    assert step_time(engine, upload).outcome is Outcome.UNDECIDED


@pytest.mark.slow(ci_only=True)
def test_one_pair_decides_nothing_whatever_is_known(engine, learn, judged, two_pairs):
    learn(engine)
    upload = judged(engine, two_pairs(ratio=2.0, pairs=1, **known_history(engine)))

    verdict = step_time(engine, upload)

    assert (verdict.outcome, verdict.estimate) == (Outcome.UNDECIDED, None)
    assert verdict.reason.startswith("1 of the 2 pairs needed;")


def test_with_a_history_two_pairs_are_enough(any_engine, learn, judged, two_pairs):
    learn(any_engine)
    upload = judged(any_engine, two_pairs(**known_history(any_engine)))

    verdict = step_time(any_engine, upload)

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.prior is not None
    assert (verdict.prior.values, verdict.prior.source) == (24, PriorSource.PAIRS)
    assert verdict.reason.endswith("after 2 pairs; uses the spread of 24 earlier pairs")


def test_an_upload_never_learns_from_itself(engine, judged, make_bundle):
    upload = judged(engine, make_bundle(pairs=6))

    assert step_time(engine, upload).prior is None


def test_another_machine_has_another_history(engine, learn, judged, two_pairs):
    learn(engine, machine=Machine(device=Device.CPU, model="Another CPU"))
    upload = judged(engine, two_pairs(**known_history(engine)))

    assert step_time(engine, upload).prior is None


@pytest.mark.slow(ci_only=True)
def test_what_was_said_stays_whatever_is_learnt_later(engine, learn, judged, two_pairs):
    """The report's figures belong to the stored verdict, not to what would be judged today."""
    fleet = FleetUse(workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=1000)
    learn(engine)
    upload = judged(
        engine, replace(two_pairs(**known_history(engine)), pricing=PricingConfig(fleet=(fleet,)))
    )
    with read_session(engine) as session:
        then, _ = UploadReports(build_report).report(session, upload)
    learn(engine, first=200)

    with read_session(engine) as session:
        now, _ = UploadReports(build_report).report(session, upload)

    assert now == then
    assert now.verdicts[0].prior is not None
    assert "says nothing about H100-80GB" in now.change_prices[0].note


@pytest.mark.slow(ci_only=True)
def test_the_comment_says_why_two_pairs_were_enough(engine, learn, judged, two_pairs):
    learn(engine)
    upload = judged(engine, two_pairs(**known_history(engine)))

    with read_session(engine) as session:
        report, _ = UploadReports(build_report).report(session, upload)

    text = comment(report)
    assert "uses the spread of 24 earlier pairs" in text
    assert "For 1 of 2 verdicts" in text
    assert "Measured in 2 pairs of fresh processes" in text


@pytest.mark.slow(ci_only=True)
def test_the_runner_is_told_what_the_service_judges_by(engine, learn, judged, two_pairs, now):
    """And what was learnt in between changes nothing: both go by the same numbers."""
    learn(engine)
    history = known_history(engine)
    learn(engine, first=200, count=2)
    bundle = two_pairs(**history)
    local = build_report(bundle, today=now.date(), is_local=True)

    upload = judged(engine, bundle)

    with read_session(engine) as session:
        assert verdicts_of(session, upload.id) == local.verdicts
    assert local.verdicts[0].prior is not None


def test_what_a_bundle_claims_to_know_is_not_believed(engine, judged, two_pairs):
    claimed = KnownSpread(
        workload="gpt:step",
        metric=STEP_TIME.name,
        machine_class=CLASS,
        variance=1e-12,
        degrees=1000.0,
        pairs=10**6,
    )

    upload = judged(engine, two_pairs(spreads=(claimed,), history=10**6))

    assert step_time(engine, upload).outcome is Outcome.UNDECIDED


@pytest.mark.parametrize("pairs", [4, 6])
def test_a_check_that_asked_nobody_is_judged_without_a_history_on_both_sides(
    engine, learn, judged, two_pairs, pairs
):
    learn(engine)
    bundle = two_pairs(pairs=pairs)
    local = build_report(bundle, today=date(2026, 11, 23), is_local=True)

    upload = judged(engine, bundle)

    with read_session(engine) as session:
        assert verdicts_of(session, upload.id) == local.verdicts
    assert step_time(engine, upload).prior is None


@pytest.mark.slow(ci_only=True)
def test_a_test_whose_spread_the_runner_did_not_get_has_none_here(engine, learn, judged, two_pairs):
    """Such as that of a workload that was measured on two classes of devices before."""
    learn(engine)
    history = known_history(engine)

    upload = judged(engine, two_pairs(history=history["history"]))

    assert step_time(engine, upload).prior is None


@pytest.mark.slow(ci_only=True)
def test_a_report_says_where_the_runner_used_spreads_that_the_service_lacks(
    engine, learn, judged, two_pairs
):
    learn(engine)
    history = known_history(engine)
    agreed = judged(engine, two_pairs(**history))
    others = tuple(replace(one, variance=2 * one.variance) for one in history["spreads"])

    upload = judged(engine, two_pairs(**(history | {"spreads": others})), upload_id="2" * 32)

    with read_session(engine) as session:
        reports = UploadReports(build_report)
        fine, doubtful = (reports.report(session, one)[0] for one in (agreed, upload))
    assert not any("not by the spreads" in note for note in fine.notes)
    assert any(
        "service, not by the spreads that the runner used" in note for note in doubtful.notes
    )


def test_what_is_known_are_the_spreads_of_the_bundles_own_series(engine, learn, two_pairs):
    learn(engine, workloads=("gpt:step", "gpt:other"))
    bundle = two_pairs(**known_history(engine))

    with read_session(engine) as session:
        project = project_named(session, "octo/models")
        priors = priors_of_bundle(session, project.id, bundle)

    assert {workload for workload, _ in priors} == {"gpt:step"}


def test_too_short_a_history_is_none(engine, learn, judged, two_pairs):
    learn(engine, count=1, pairs=4)

    upload = judged(engine, two_pairs(**known_history(engine)))

    assert step_time(engine, upload).prior is None


def test_a_tail_has_a_history_like_any_metric(any_engine, learn, judged, two_pairs):
    learn(any_engine, **WITH_TAIL)

    upload = judged(any_engine, two_pairs(**WITH_TAIL, **known_history(any_engine)))

    verdict = step_time(any_engine, upload, metric=STEP_TIME_P95)
    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.prior is not None
    assert (verdict.prior.values, verdict.prior.source) == (24, PriorSource.PAIRS)


def test_a_tail_that_too_few_steps_tell_is_stored_nowhere(engine, judged, make_bundle):
    """Nor does it cost the other metrics their history."""
    upload = judged(engine, make_bundle(**(WITH_TAIL | {"samples": 19})))

    with read_session(engine) as session:
        project = project_named(session, "octo/models")
        history = {
            known_prior.metric
            for known_prior in history_on_devices(session, project.id, [CLASS]).priors
        }
    assert step_time(engine, upload, metric=STEP_TIME_P95).outcome is Outcome.NOT_MEASURED
    assert history == {STEP_TIME.name}
