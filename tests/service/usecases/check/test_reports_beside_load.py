"""What a report says of a step that became slower while other programs used the cores."""

from dataclasses import replace
from datetime import date

import pytest

from perfledger.bundle import FleetUse, PricingConfig
from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.records import CoreTimes, Device, Machine, Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.cost.change import measured_changes

TODAY = date(2026, 11, 20)
H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=85_520_809_984)
# As recorded beside twenty busy loops: wall time +438 %, of which waiting for a core explains most.
WALL = {Side.BASE: 1.0, Side.HEAD: 5.38}
QUEUED = {Side.BASE: 0.4, Side.HEAD: 3.85}


@pytest.fixture
def loaded_bundle(make_bundle):
    """Return a function that makes a bundle of steps that waited; `helpers` are seconds."""

    def loaded_bundle(helpers=0.0, cpu_times=None):
        fleet = FleetUse(
            workload="gpt:*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0
        )
        bundle = make_bundle(pricing=PricingConfig(fleet=(fleet,)), machine=H100)
        runs = tuple(
            replace(
                run,
                samples={
                    STEP_TIME.name: (WALL[run.side] * (1 + 0.01 * (run.pair % 3)),),
                    CPU_TIME.name: (
                        (cpu_times or {side: WALL[side] - QUEUED[side] for side in Side})[run.side]
                        * (1 + 0.001 * (run.pair % 2)),
                    ),
                },
                core_times=CoreTimes(
                    elapsed_s=(WALL[run.side],),
                    queued_s=(QUEUED[run.side] * (1 + 0.001 * (run.pair % 3)),),
                    helpers_s=(helpers,),
                ),
            )
            for run in bundle.runs
        )
        return replace(bundle, runs=runs, metrics=(STEP_TIME, CPU_TIME))

    return loaded_bundle


def test_the_headline_and_the_price_are_those_without_the_waits(loaded_bundle):
    report = build_report(loaded_bundle(), today=TODAY, is_local=True)

    assert report.headline == (
        "gpt:step is 155\N{NO-BREAK SPACE}% slower (600\N{NO-BREAK SPACE}ms \N{RIGHTWARDS ARROW} "
        "1.53\N{NO-BREAK SPACE}s without waits for a core), CPU time +155\N{NO-BREAK SPACE}%"
    )
    (price,) = report.change_prices
    assert price.usd is not None
    assert float(price.usd) == pytest.approx(6.88 * 1000 * 1.55, rel=0.01)
    step_time = next(one for one in report.verdicts if one.metric == STEP_TIME)
    assert "+438 % with the waits for other programs, 6" in step_time.reason


def test_of_several_threads_the_price_is_what_their_waits_leave_open(loaded_bundle):
    """It is unknown which of their waits were for other programs."""
    bundle = loaded_bundle(helpers=0.3, cpu_times={Side.BASE: 0.9, Side.HEAD: 1.83})

    report = build_report(bundle, today=TODAY, is_local=True)

    outcomes = {one.metric.name: one.outcome for one in report.verdicts}
    assert outcomes == {
        STEP_TIME.name: Outcome.REGRESSED,
        CPU_TIME.name: Outcome.REGRESSED,
    }
    assert "438" not in report.headline
    (change,) = measured_changes(bundle, report.verdicts)
    assert change.change[0] < 1.033 < change.change[2] < 4.38
