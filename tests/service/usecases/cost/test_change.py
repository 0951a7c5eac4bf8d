"""What a report says of the price of a pull request, and how policies end its check."""

from dataclasses import replace
from datetime import date

import pytest

from perfledger.bundle import Commitment, CostPolicy, FleetUse, PricingConfig
from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, Failure, FailureReason, Machine, Side
from perfledger_cost_models.change_price.cost_policy import PolicyOutcome
from perfledger_service.rendering.check.comment import comment
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.cost.change import APPROVAL, OVER_LIMIT
from perfledger_service.values.report import Conclusion, ExitCode

TODAY = date(2026, 11, 20)
A100 = Machine(
    device=Device.CUDA, model="NVIDIA A100-SXM4-80GB", memory_bytes=85_000_000_000, cpu_model="Xeon"
)
SMALL = replace(A100, model="NVIDIA A100-SXM4-40GB", memory_bytes=42_000_000_000)  # the fleet's
FLEET = (
    FleetUse(workload="gpt:*", where="p4d.24xlarge/on_demand", device_hours_per_year=100_000.0),
)


@pytest.fixture
def reported(make_bundle):
    def report(fail=None, ask=None, fleet=FLEET, commitments=(), workloads=("*",), **values):
        policy = CostPolicy(
            team="nlp",
            workloads=workloads,
            fail_above_usd_per_year=fail,
            ask_above_usd_per_year=ask,
        )
        policies = () if fail is None and ask is None else (policy,)
        pricing = PricingConfig(fleet=fleet, commitments=commitments, policies=policies)
        bundle = make_bundle(pricing=pricing, **({"machine": SMALL} | values))
        return build_report(bundle, today=TODAY, is_local=True)

    return report


def test_hours_of_a_workload_that_the_check_left_out_are_not_this_one_s(reported):
    report = reported(ratio=1.2, ask=1.0, unchosen=("gpt:eval",))

    (price,) = report.change_prices
    assert price.usd is None
    assert "2 workloads together (gpt:eval, gpt:step)" in price.note
    assert report.policy_evaluations[0].outcome is PolicyOutcome.NEEDS_APPROVAL


def test_a_weight_is_the_share_of_the_hours_that_is_priced(reported):
    weights = {"gpt:step": 1.0, "gpt:eval": 3.0}
    (divided,) = reported(
        ratio=1.2, fleet=(replace(FLEET[0], weights=weights),), unchosen=("gpt:eval",)
    ).change_prices
    (whole_change_price,) = reported(ratio=1.2).change_prices

    assert 4 * divided.usd == whole_change_price.usd


def failure(workload="gpt:step"):
    return Failure(workload=workload, side=Side.HEAD, why=FailureReason.RAISED, detail="boom")


# 100,000 device-hours at 2.74 USD: a change of 1 % is 2,745 USD a year.
@pytest.mark.parametrize(
    ("values", "conclusion", "code", "title"),
    [
        pytest.param(
            {"ratio": 0.8, "fail": 10.0}, "success", 0, "Performance improved", id="a saving"
        ),
        pytest.param(
            {"ratio": 1.2, "fail": 10.0}, "failure", 1, "Performance regressed", id="both"
        ),
        pytest.param({"ratio": 1.2, "ask": 1e9}, "failure", 1, "Performance regressed", id="cheap"),
        pytest.param({"ratio": 1.0, "ask": 1e6}, "success", 0, "Performance unchanged", id="below"),
        pytest.param({"ratio": 1.0, "ask": 0.01}, "action_required", 3, APPROVAL, id="asks"),
        pytest.param({"ratio": 1.002, "fail": 1.0}, "failure", 1, OVER_LIMIT, id="small but dear"),
        pytest.param(
            {"pairs": 3, "undecided": "neutral", "ask": 1.0},
            "action_required",
            3,
            APPROVAL,
            id="undecided, and no neutral where a policy asks",
        ),
        pytest.param(
            {"ratio": 0.8, "ask": 1.0, "fleet": ()}, "action_required", 3, APPROVAL, id="no price"
        ),
        pytest.param(
            {"ratio": 1.0, "ask": 1e6, "failures": (failure(),)},
            "failure",
            3,
            "Not measured",
            id="not measured",
        ),
    ],
)
def test_how_policies_end_a_check(reported, values, conclusion, code, title):
    report = reported(**values)

    assert report.conclusion is Conclusion(conclusion)
    assert report.exit_code is ExitCode(code)
    assert report.title == title
    assert report.headline.startswith(f"{title}: ") is not title.startswith("Performance ")


def test_without_a_policy_no_price_ends_a_check(reported):
    report = reported(ratio=0.8, fleet=())

    assert (report.conclusion, report.policy_evaluations) == (Conclusion.SUCCESS, ())


def test_what_was_not_measured_asks_its_team(reported):
    (ruling,) = reported(
        ask=1e6, workloads=("*",), failures=(failure("vit:step"),)
    ).policy_evaluations

    assert (ruling.outcome, ruling.unpriced) == (PolicyOutcome.NEEDS_APPROVAL, ("vit:step",))


def test_a_new_workload_has_no_price_and_asks_nobody(reported):
    report = reported(
        ratio=1.0,
        ask=1e6,
        new_workloads=("vit:new",),
        failures=(replace(failure("vit:new"), side=Side.BASE, why=FailureReason.MISSING),),
    )

    assert report.policy_evaluations[0].outcome is PolicyOutcome.PASSES


def test_idle_devices_that_are_paid_for_take_a_regression_without_cash(reported):
    owned = Commitment(where="p4d.24xlarge/on_demand", devices=64, busy_hours_per_year=4e5)

    report = reported(fail=1.0, commitments=(owned,))

    assert report.total_price.high == 0
    assert report.policy_evaluations[0].outcome is PolicyOutcome.PASSES
    assert report.queues[0].absorbed_hours[1] == pytest.approx(20_000, rel=0.02)
    assert report.exit_code is ExitCode.REGRESSION


def with_memory(bundle, base, head):
    peaks = {Side.BASE: (base,), Side.HEAD: (head,)}
    runs = tuple(
        replace(run, samples={**run.samples, PEAK_MEMORY.name: peaks[run.side]})
        for run in bundle.runs
    )
    return replace(bundle, runs=runs, metrics=(STEP_TIME, PEAK_MEMORY))


@pytest.mark.parametrize(
    ("machine", "moves"),
    [
        pytest.param(A100, True, id="a device's memory"),
        pytest.param(Machine(device=Device.CPU, model="x", cpu_model="Xeon"), False, id="a CPU's"),
    ],
)
def test_memory_that_outgrows_the_fleet_s_device_is_priced(make_bundle, machine, moves):
    bundle = make_bundle(ratio=1.0, machine=machine, pricing=PricingConfig(fleet=FLEET))

    report = build_report(with_memory(bundle, 36e9, 43e9), today=TODAY, is_local=True)

    (price,) = report.change_prices
    assert ("AWS p4de.24xlarge" in price.note) is moves
    dearer = 100_000 * (27.44705 - 21.957642) / 8
    assert (price.usd is not None) is moves  # a CPU's change is carried over to no accelerator
    assert float(price.usd or 0) == pytest.approx(dearer if moves else 0, abs=0.05 * dearer)


def test_memory_that_outgrows_the_device_is_said_even_where_the_step_did_not_change(make_bundle):
    bundle = make_bundle(ratio=1.0, machine=A100, pricing=PricingConfig(fleet=FLEET))

    text = comment(build_report(with_memory(bundle, 36e9, 43e9), today=TODAY, is_local=True))

    assert "Could cost" in text  # projected from another A100
    assert "no longer fits" in text
    (source,) = (line for line in text.splitlines() if line.startswith("|") and "p4de" in line)
    assert "as of 2026-11-09" in source


def test_memory_that_outgrows_every_device_is_said_and_asks(make_bundle):
    fleet = (FleetUse(workload="*", where="onprem-8xA100", device_hours_per_year=1e5),)
    policies = (CostPolicy(team="nlp", ask_above_usd_per_year=1e6),)
    machine = replace(A100, model="NVIDIA B200", memory_bytes=180_000_000_000)
    pricing = PricingConfig(fleet=fleet, policies=policies)
    bundle = make_bundle(ratio=1.0, machine=machine, pricing=pricing)

    report = build_report(with_memory(bundle, 70e9, 90e9), today=TODAY, is_local=True)

    assert "has no yearly price. " in comment(report)
    assert report.policy_evaluations[0].outcome is PolicyOutcome.NEEDS_APPROVAL
