from dataclasses import replace
from datetime import date

import pytest

from perfledger.bundle import SAME_CODE, DeclaredThroughput, FleetUse, PricingConfig
from perfledger.metrics import PEAK_MEMORY, SM_ACTIVE, STEP_TIME, Metric, MetricKind, WorseDirection
from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import Device, Failure, FailureReason, Machine, Run, Side
from perfledger.step_work import (
    FLOPS,
    Count,
    CountedWork,
    StepWork,
)
from perfledger_baselines.judging.verdict import Outcome
from perfledger_cost_models.quote import Provenance
from perfledger_service.rendering.check.headline import workload_counts
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.values.report import Conclusion, ExitCode

TODAY = date(2026, 11, 20)
QUIET_PAIRS = (0.999, 1.001, 1.0, 1.0005, 0.9995, 1.0002)
SAME = {"vit:step": SAME_CODE}
SAME_CODE_ALONE = {
    "workloads": ("vit:step",),
    "runs": (),
    "skipped": SAME,
    "same_code": ("vit:step",),
}
ONLY_NEW = {"workloads": (), "runs": (), "new_workloads": ("gpt:new",)}
H100 = Machine(
    device=Device.CUDA,
    model="NVIDIA H100 80GB HBM3",
    memory_bytes=85_520_809_984,
    cpu_model="A Xeon",
)


@pytest.fixture
def reported(make_bundle):
    def report(**values):
        return build_report(make_bundle(**values), today=TODAY, is_local=True)

    return report


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


def failure(workload="gpt:step", why=FailureReason.RAISED):
    return Failure(workload=workload, side=Side.HEAD, why=why, detail="boom")


@pytest.mark.parametrize(
    ("values", "conclusion", "exit_code", "title"),
    [
        pytest.param({"ratio": 1.2}, "failure", 1, "Performance regressed", id="slower"),
        pytest.param({"ratio": 0.8}, "success", 0, "Performance improved", id="faster"),
        pytest.param({"ratio": 1.0}, "success", 0, "Performance unchanged", id="the same"),
        pytest.param({"pairs": 3}, "action_required", 3, "Undecided", id="too few pairs"),
        pytest.param(
            {"pairs": 3, "undecided": "neutral"}, "neutral", 0, "Undecided", id="as configured"
        ),
        pytest.param(
            {"ratio": 1.0, "failures": (failure(),)}, "failure", 3, "Not measured", id="failed"
        ),
        pytest.param(
            {"workloads": (), "runs": ()}, "failure", 3, "Not measured", id="nothing at all"
        ),
        pytest.param(
            {"workloads": (), "runs": (), "skipped": {"gpt:step": "no such feature"}},
            "failure",
            3,
            "Not measured",
            id="all skipped",
        ),
        pytest.param(
            {**ONLY_NEW, "skipped": {"gpt:step": "no such feature"}},
            "failure",
            3,
            "Nothing to compare",
            id="new ones and skipped ones",
        ),
        pytest.param(
            {"ratio": 1.0, "skipped": {"vit:step": "no such feature"}},
            "success",
            0,
            "Performance unchanged",
            id="a skipped one among others",
        ),
        pytest.param(
            SAME_CODE_ALONE, "neutral", 0, "Same code: nothing was measured", id="all same code"
        ),
        pytest.param(
            {**SAME_CODE_ALONE, "new_workloads": ("gpt:new",)},
            "neutral",
            0,
            "Same code: nothing was measured",
            id="same code and new ones",
        ),
        pytest.param(
            {**SAME_CODE_ALONE, "failures": (failure(),)},
            "failure",
            3,
            "Not measured",
            id="same code and a failed one",
        ),
        pytest.param(
            {"ratio": 1.2, "skipped": SAME},
            "failure",
            1,
            "Performance regressed",
            id="a skipped one beside a slower one",
        ),
        pytest.param(
            {**ONLY_NEW, "base_configuration": "perfledger.toml"},
            "failure",
            3,
            "Nothing to compare",
            id="only new ones",
        ),
        pytest.param(
            ONLY_NEW, "failure", 3, "Nothing to compare", id="only new ones, in an older bundle"
        ),
        pytest.param(
            {**ONLY_NEW, "base_configuration": "", "other_base_workloads": ("old/bench.py",)},
            "failure",
            3,
            "Nothing to compare",
            id="only new ones, where base has others",
        ),
        pytest.param(
            {"ratio": 1.0, "new_workloads": ("gpt:new",), "base_configuration": ""},
            "success",
            0,
            "Performance unchanged",
            id="a new one among others",
        ),
    ],
)
def test_how_a_check_ends(reported, values, conclusion, exit_code, title):
    report = reported(**values)

    assert report.conclusion is Conclusion(conclusion)
    assert report.exit_code is ExitCode(exit_code)
    assert report.title == title


@pytest.mark.parametrize(
    ("names", "headline"),
    [
        (("gpt:new",), "Nothing to compare yet: 1 new workload"),
        (("gpt:new", "vit:new"), "Nothing to compare yet: 2 new workloads"),
    ],
)
def test_a_change_that_introduces_perfledger_is_let_through(reported, names, headline):
    report = reported(**{**ONLY_NEW, "new_workloads": names}, base_configuration="")

    assert (report.conclusion, report.exit_code) == (Conclusion.NEUTRAL, ExitCode.OK)
    assert report.title == report.headline == headline


@pytest.mark.parametrize("isolated", [True, False])
def test_a_report_knows_whether_its_sides_had_environments_of_their_own(reported, isolated):
    settings = reported(settings={"isolated": isolated}).options.settings

    assert settings == ({"isolated": "true"} if isolated else {})


def test_a_regression_is_said_before_what_was_not_measured(reported):
    report = reported(workloads=("gpt:step", "vit:step"), failures=(failure("vit:step"),))

    assert report.exit_code is ExitCode.REGRESSION
    assert report.headline == (
        "gpt:step is 20.0\N{NO-BREAK SPACE}% slower (10.0 \N{RIGHTWARDS ARROW} "
        "12.0\N{NO-BREAK SPACE}ms); 1 could not be measured"
    )


def test_a_workload_counts_once_by_its_worst_verdict(reported):
    report = reported(new_workloads=("gpt:new",), skipped={"vit:step": "same kernels"})

    assert workload_counts(report) == "1 regressed, 1 new, 1 skipped of 3 workloads"
    assert report.skipped == (("vit:step", "same kernels"),)


def test_what_runs_the_same_code_is_in_the_headline_and_has_no_verdict(reported):
    report = reported(**SAME_CODE_ALONE, code_differences={"gpt:step": "a.py differs"})

    assert report.headline == "Same code: 1 workload was skipped, and nothing was measured"
    assert workload_counts(report) == "1 skipped of 1 workload"
    assert report.verdicts == ()
    assert report.code_differences == (("gpt:step", "a.py differs"),)


def test_less_activity_in_less_time_fails_no_check(make_bundle):
    bundle = make_bundle(ratio=0.7)
    busy = {Side.BASE: 0.9, Side.HEAD: 0.5}
    runs = tuple(
        type(run)(
            **{name: getattr(run, name) for name in run.__slots__}
            | {"samples": dict(run.samples) | {SM_ACTIVE.name: (busy[run.side],)}}
        )
        for run in bundle.runs
    )
    bundle = make_bundle(ratio=0.7, runs=runs, metrics=(STEP_TIME, SM_ACTIVE))

    report = build_report(bundle, today=TODAY, is_local=True)

    assert report.verdicts_of(Outcome.REGRESSED)[0].metric == SM_ACTIVE
    assert report.conclusion is Conclusion.SUCCESS
    assert "takes 30.0" in report.headline
    assert workload_counts(report) == "1 improved of 1 workload"


def test_more_memory_alone_is_not_called_a_slower_step(make_bundle):
    bundle = make_bundle(ratio=1.0)
    bytes_of = {Side.BASE: 1e9, Side.HEAD: 1.2e9}
    runs = tuple(
        replace(run, samples={**run.samples, PEAK_MEMORY.name: (bytes_of[run.side],)})
        for run in bundle.runs
    )
    bundle = replace(bundle, runs=runs, metrics=(STEP_TIME, PEAK_MEMORY))

    report = build_report(bundle, today=TODAY, is_local=True)

    assert report.title == "Peak memory regressed"
    assert report.headline.startswith("gpt:step: peak memory is 20.0\N{NO-BREAK SPACE}% higher (")


def test_another_metric_of_memory_is_not_titled_peak_memory(make_bundle):
    faults = Metric(
        name="page_faults", unit="1", worse=WorseDirection.HIGHER, kind=MetricKind.MEMORY
    )
    bundle = make_bundle(ratio=1.0)
    count_of = {Side.BASE: 1000.0, Side.HEAD: 2000.0}
    runs = tuple(
        replace(run, samples={**run.samples, faults.name: (count_of[run.side],)})
        for run in bundle.runs
    )
    bundle = replace(bundle, runs=runs, metrics=(STEP_TIME, faults))

    assert build_report(bundle, today=TODAY, is_local=True).title == "Performance regressed"


def test_a_warning_is_counted_as_one(make_bundle):
    ratios = {f"m:clear{number}": (1.05, 1.0) for number in range(3)}
    ratios |= {"m:doubtful": (1.01, 8.0), "m:still0": (1.0, 9.0), "m:still1": (1.0, 9.0)}
    bundle = make_bundle(workloads=tuple(ratios), samples=1)
    runs: list[Run] = []
    for run in bundle.runs:
        ratio, spread = ratios[run.workload]
        noisy = ratio * (1 + spread * (QUIET_PAIRS[run.pair] - 1))
        step = 1.0 if run.side is Side.BASE else noisy
        runs.append(replace(run, samples={STEP_TIME.name: (step,)}))

    report = build_report(
        replace(bundle, runs=tuple(runs), metrics=(STEP_TIME,)), today=TODAY, is_local=True
    )

    assert report.headline.startswith("3 of 6 workloads regressed, worst m:clear0 step time +5")
    assert "1 warning" in workload_counts(report)


def test_a_change_is_priced_on_the_fleet_that_is_declared(reported):
    fleet = FleetUse(workload="gpt:*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0)

    (price,) = reported(pricing=PricingConfig(fleet=(fleet,)), machine=H100).change_prices

    assert float(price.usd) == pytest.approx(6.88 * 1000 * 0.2, rel=0.01)
    assert price.low < price.usd < price.high
    assert (price.note, price.projected_from) == ("", "")


def test_a_change_measured_on_a_cpu_tells_nothing_of_an_accelerator(reported):
    fleet = FleetUse(workload="gpt:*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0)

    (price,) = reported(pricing=PricingConfig(fleet=(fleet,))).change_prices

    assert price.usd is None
    assert "measured on a device without a name, which says nothing about H100-80GB" in price.note


def test_what_is_not_known_on_this_device_is_unknown_and_what_is_declared_says_so(reported):
    declared = DeclaredThroughput(
        workload="gpt:*", device="H100-80GB", units_per_second=1000.0, source="for illustration"
    )

    costs = reported(pricing=PricingConfig(declared=(declared,))).unit_costs

    known_provenances = {cost.rate.accelerator: cost.provenance for cost in costs}
    assert known_provenances["H100-80GB"] is Provenance.DECLARED
    assert known_provenances["TPU-v4"] is Provenance.UNKNOWN
    assert all(cost.usd is None for cost in costs if cost.provenance is Provenance.UNKNOWN)


def on_device(bundle, device, devices=1):
    runs = tuple(replace(run, device=device, devices=devices) for run in bundle.runs)
    return replace(bundle, runs=runs)


FLEET = FleetUse(workload="gpt:*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0)


def h100_cost(bundle):
    priced = replace(bundle, pricing=PricingConfig(fleet=(FLEET,)))
    costs = build_report(priced, today=TODAY, is_local=True).unit_costs
    return next(cost for cost in costs if cost.rate.accelerator == "H100-80GB")


def test_what_ran_on_the_cpu_beside_a_gpu_is_not_priced_on_it(make_bundle):
    bundle = on_device(make_bundle(machine=H100), Device.CPU)

    report = build_report(
        replace(bundle, pricing=PricingConfig(fleet=(FLEET,))), today=TODAY, is_local=True
    )

    assert h100_cost(bundle).provenance is Provenance.UNKNOWN
    assert H100.cpu_model in report.change_prices[0].note
    assert report.notes == ("measured on the cpu, not on the cuda: gpt:step",)


def test_nothing_is_priced_where_neither_a_fleet_nor_a_throughput_is_declared(make_bundle):
    bundle = on_device(make_bundle(machine=H100), Device.CUDA)

    report = build_report(bundle, today=TODAY, is_local=True)

    assert (report.unit_costs, report.change_prices, report.projections) == ((), (), ())


def test_a_step_on_eight_devices_costs_what_eight_devices_cost(make_bundle):
    one = h100_cost(on_device(make_bundle(machine=H100), Device.CUDA))
    eight = h100_cost(on_device(make_bundle(machine=H100), Device.CUDA, devices=8))

    assert one.provenance is eight.provenance is Provenance.MEASURED
    assert float(eight.usd) == pytest.approx(8 * float(one.usd))


def test_a_change_is_explained_by_the_profiles_of_both_sides(reported):
    both = (profile(Side.BASE, 0.010), profile(Side.HEAD, 0.012))

    (explanation,) = reported(profiles=both).explanations

    assert explanation.causes[0].name == "aten::mm"


def test_work_that_was_counted_before_it_ran_is_compared_and_gives_achieved_flops(make_bundle):
    bundle = make_bundle()
    name = bundle.workloads[0].id
    sides = tuple(
        CountedWork(
            workload=name,
            side=side,
            work=StepWork(
                counts=(Count(name=FLOPS, unit="FLOP", value=flops, source="a counter"),)
            ),
        )
        for side, flops in ((Side.BASE, 4e12), (Side.HEAD, 8e12))
    )

    report = build_report(replace(bundle, work=sides), today=TODAY, is_local=True)

    (compared_work_count,) = report.work_counts
    assert [change.change for change in compared_work_count.changes] == [1.0]
    assert (report.work[0].base_flops, report.work[0].head_flops) == (4e12, 8e12)
