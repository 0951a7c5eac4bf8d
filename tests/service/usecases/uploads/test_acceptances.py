"""What an acceptance changes of a report, and what it leaves."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from perfledger.bundle import CostPolicy, FleetUse, PricingConfig
from perfledger.records import Device, Machine
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads.acceptances import (
    acceptable_workloads,
    apply_acceptances,
    is_within,
)
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.report import Conclusion, ExitCode

H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=85_520_809_984)
ACCEPTANCE = Acceptance(
    pull_request=7,
    head_sha="b" * 40,
    login="alice",
    workload="gpt:step",
    reason="worth it",
    accepted_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
    until=None,
)


@pytest.fixture
def report_of(make_bundle):
    def report_of(*acceptances, **values):
        bundle = make_bundle(**values)
        report = build_report(bundle, today=date(2026, 11, 20), is_local=False)
        return report, apply_acceptances(report, bundle, acceptances)

    return report_of


def test_a_report_without_a_regression_has_nothing_to_accept(report_of):
    before, after = report_of(ACCEPTANCE, ratio=1.0)

    assert acceptable_workloads(before) == ()
    assert after == before


def test_the_verdict_stays_and_the_conclusion_is_neutral(report_of):
    before, after = report_of(ACCEPTANCE, ratio=1.2)

    assert acceptable_workloads(before) == ("gpt:step",)
    assert after.verdicts == before.verdicts
    assert (after.conclusion, after.exit_code) == (Conclusion.NEUTRAL, ExitCode.OK)
    assert after.title == "Performance regressed, accepted"
    assert after.headline == f"Performance regressed, accepted: {before.headline}"
    assert after.acceptances == (ACCEPTANCE,)


def test_applying_it_again_changes_nothing(report_of, make_bundle):
    _, after = report_of(ACCEPTANCE, ratio=1.2)

    assert apply_acceptances(after, make_bundle(ratio=1.2), (ACCEPTANCE,)) == after


def test_an_acceptance_of_another_workload_is_not_shown(report_of):
    before, after = report_of(replace(ACCEPTANCE, workload="other:f"), ratio=1.2)

    assert after == before


@pytest.mark.parametrize("workload", ["gpt:step", ""])
def test_a_cost_above_a_policys_limit_still_fails(report_of, workload):
    fleet = FleetUse(
        workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0, source="x"
    )
    policy = CostPolicy(team="nlp", fail_above_usd_per_year=1.0, approvers=("Alice",))
    pricing = PricingConfig(fleet=(fleet,), policies=(policy,))
    acceptance = replace(ACCEPTANCE, workload=workload)
    before, after = report_of(acceptance, ratio=1.2, machine=H100, pricing=pricing)

    assert (before.conclusion, after.conclusion) == (Conclusion.FAILURE, Conclusion.FAILURE)
    assert "accepted" not in after.title
    assert "ignored" not in after.title
    assert after.acceptances == (acceptance,)


def test_an_ignored_commit_is_neutral_whether_it_regressed_or_not(report_of):
    ignored = replace(ACCEPTANCE, workload="")
    for ratio, title in ((1.2, "Performance regressed"), (1.0, "Performance unchanged")):
        _, after = report_of(ignored, ratio=ratio, pairs=10)
        assert (after.conclusion, after.title) == (Conclusion.NEUTRAL, f"{title}, ignored")


@pytest.mark.parametrize(
    ("accepted", "measured", "is_covered"),
    [(1.2, 1.2, True), (1.2, 1.1, True), (1.2, 1.3, False), (1.2, 1.0, True), (1.0, 1.2, False)],
)
def test_an_acceptance_reaches_as_far_as_what_was_measured(
    report_of, accepted, measured, is_covered
):
    accepted_report, _ = report_of(ratio=accepted)
    measured_report, _ = report_of(ratio=measured)

    assert is_within(measured_report.verdicts, accepted_report.verdicts) is is_covered
