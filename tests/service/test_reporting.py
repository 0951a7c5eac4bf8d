from datetime import date

import pytest

from perfledger.bundle import DeclaredThroughput, FleetUse, Pricing
from perfledger.metrics import CPU_ACTIVE, STEP_TIME
from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import Failure, Side, Why
from perfledger_baselines.verdict import Outcome
from perfledger_cost_models.quote import Provenance
from perfledger_service.report import Conclusion, ExitCode
from perfledger_service.usecases.reporting import report_on

TODAY = date(2026, 11, 20)


@pytest.fixture
def reported(make_bundle):
    def report(**values):
        return report_on(make_bundle(**values), today=TODAY, is_local=True)

    return report


def failure(workload="gpt:step", why=Why.RAISED):
    return Failure(workload=workload, side=Side.HEAD, why=why, detail="boom")


@pytest.mark.parametrize(
    ("values", "conclusion", "exit_code", "title"),
    [
        pytest.param({"ratio": 1.2}, "failure", 1, "Performance regressed", id="slower"),
        pytest.param({"ratio": 0.8}, "success", 0, "Performance improved", id="faster"),
        pytest.param({"ratio": 1.0}, "success", 0, "Performance unchanged", id="the same"),
        pytest.param({"pairs": 3}, "action_required", 3, "Undecided", id="too few pairs"),
        pytest.param(
            {"pairs": 3, "undecided": "neutral"}, "neutral", 3, "Undecided", id="as configured"
        ),
        pytest.param(
            {"ratio": 1.0, "failures": (failure(),)}, "failure", 3, "Not measured", id="failed"
        ),
        pytest.param(
            {"workloads": (), "runs": ()}, "failure", 3, "Not measured", id="nothing at all"
        ),
        pytest.param(
            {"workloads": (), "runs": (), "new_workloads": ("gpt:new",)},
            "success",
            0,
            "Nothing to compare",
            id="only new ones",
        ),
    ],
)
def test_how_a_check_ends(reported, values, conclusion, exit_code, title):
    report = reported(**values)

    assert report.conclusion is Conclusion(conclusion)
    assert report.exit_code is ExitCode(exit_code)
    assert report.title == title
    assert report.headline.startswith(f"{title}: ")


def test_a_regression_is_said_before_what_was_not_measured(reported):
    report = reported(workloads=("gpt:step", "vit:step"), failures=(failure("vit:step"),))

    assert report.exit_code is ExitCode.REGRESSION
    assert report.headline == ("Performance regressed: 1 regressed, 1 not measured of 2 workloads")


def test_a_workload_counts_once_by_its_worst_verdict(reported):
    report = reported(new_workloads=("gpt:new",), skipped={"vit:step": "same kernels"})

    assert report.headline.endswith("1 regressed, 1 new, 1 skipped of 3 workloads")
    assert report.skipped == (("vit:step", "same kernels"),)


def test_less_activity_in_less_time_fails_no_check(make_bundle):
    bundle = make_bundle(ratio=0.7)
    busy = {Side.BASE: 0.9, Side.HEAD: 0.5}
    runs = tuple(
        type(run)(
            **{name: getattr(run, name) for name in run.__slots__}
            | {"samples": dict(run.samples) | {CPU_ACTIVE.name: (busy[run.side],)}}
        )
        for run in bundle.runs
    )
    bundle = make_bundle(ratio=0.7, runs=runs, metrics=(STEP_TIME, CPU_ACTIVE))

    report = report_on(bundle, today=TODAY, is_local=True)

    assert report.verdicts_of(Outcome.REGRESSED)[0].metric == CPU_ACTIVE
    assert report.conclusion is Conclusion.SUCCESS
    assert report.headline == "Performance improved: 1 improved of 1 workload"


def test_a_change_is_priced_on_the_fleet_that_is_declared(reported):
    fleet = FleetUse(workload="gpt:*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0)

    (price,) = reported(pricing=Pricing(fleet=(fleet,))).change_prices

    assert float(price.usd) == pytest.approx(6.88 * 1000 * 0.2, rel=0.01)
    assert price.low < price.usd < price.high
    assert "measured on" in price.note


def test_what_is_not_known_on_this_device_is_unknown_and_what_is_declared_says_so(reported):
    declared = DeclaredThroughput(
        workload="gpt:*", device="H100-80GB", units_per_second=1000.0, source="for illustration"
    )

    costs = reported(pricing=Pricing(declared=(declared,))).unit_costs

    known = {cost.rate.accelerator: cost.provenance for cost in costs}
    assert known["H100-80GB"] is Provenance.DECLARED
    assert known["TPU-v4"] is Provenance.UNKNOWN
    assert all(cost.usd is None for cost in costs if cost.provenance is Provenance.UNKNOWN)


def test_profiles_of_both_sides_are_explained_and_one_alone_is_not(reported):
    def profile(side, seconds):
        operation = Operation(name="aten::mm", bucket=Bucket.CPU, seconds=seconds, count=1.0)
        return Profile(
            workload="gpt:step",
            side=side,
            tool="torch.profiler",
            steps=4,
            step_seconds=seconds,
            operations=(operation,),
        )

    both = (profile(Side.BASE, 0.010), profile(Side.HEAD, 0.012))

    (explanation,) = reported(profiles=both).explanations

    assert explanation.causes[0].name == "aten::mm"
    assert reported(profiles=both[:1]).explanations == ()
