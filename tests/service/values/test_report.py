"""Tests what a report answers about its verdicts, workloads and rates of work."""

from dataclasses import replace
from datetime import date

import pytest

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import WorkloadSpec
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.values.report import WorkRate

RATE = WorkRate(
    workload="a:step",
    base_flops=4e12,
    head_flops=6e12,
    base_flops_per_second=200e12,
    head_flops_per_second=300e12,
    peak_flops_per_second=1000e12,
)


@pytest.fixture(scope="module")
def report(make_bundle):
    """A report on two workloads that became a fifth slower and use as much memory as before."""
    bundle = make_bundle(ratio=1.2, workloads=("a:step", "b:step"))
    return build_report(bundle, today=date(2026, 11, 20), is_local=True)


def test_a_share_is_of_the_peak():
    assert (RATE.base_share, RATE.head_share) == (0.2, 0.3)


@pytest.mark.parametrize("peak", [None, 0.0])
def test_without_a_peak_there_is_no_share(peak):
    rate = replace(RATE, peak_flops_per_second=peak)

    assert (rate.base_share, rate.head_share) == (None, None)


def test_verdicts_of_an_outcome_are_in_the_reports_order(report):
    rows = {
        outcome: [(verdict.workload, verdict.metric) for verdict in report.verdicts_of(outcome)]
        for outcome in (Outcome.REGRESSED, Outcome.UNCHANGED, Outcome.IMPROVED)
    }

    assert rows == {
        Outcome.REGRESSED: [("a:step", STEP_TIME), ("b:step", STEP_TIME)],
        Outcome.UNCHANGED: [("a:step", PEAK_MEMORY), ("b:step", PEAK_MEMORY)],
        Outcome.IMPROVED: [],
    }


def test_every_verdict_is_of_one_outcome(report):
    verdicts = [one for outcome in Outcome for one in report.verdicts_of(outcome)]

    assert sorted(map(repr, verdicts)) == sorted(map(repr, report.verdicts))


def test_the_speed_of_a_workload_is_its_step_time(report):
    verdict = report.speed_verdict("b:step")

    assert (verdict.workload, verdict.metric) == ("b:step", STEP_TIME)
    assert report.speed_verdict("c:step") is None


def test_a_workload_is_found_by_its_id(report):
    assert report.spec("b:step") == WorkloadSpec(id="b:step", module="gpt", function="step")
    assert report.spec("c:step") is None
