"""What a check's work is projected to cost on hardware that it did not run on; made-up bundles."""

import json
from dataclasses import replace
from datetime import date

import pytest

from perfledger.bundle import FleetUse, PricingConfig
from perfledger.records import Device, Machine, Side, WorkloadSpec
from perfledger.step_work import (
    BYTES,
    FLOPS,
    Count,
    CountedWork,
    StepWork,
)
from perfledger_cost_models.projection.projection import Projection
from perfledger_service.rendering.check.comment import comment
from perfledger_service.rendering.check.report_json import report_json
from perfledger_service.usecases.check.report_builder import build_report

TODAY = date(2026, 11, 20)
NAME = "gpt:<b>|step"


@pytest.fixture
def report(make_bundle):
    def report(*, model="NVIDIA A100-SXM4-80GB", flops=1e12, bytes_moved=4e9, units_per_step=8.0):
        counts = (
            Count(name=FLOPS, unit="FLOP", value=flops, source="FlopCounterMode"),
            Count(name=BYTES, unit="B", value=bytes_moved, source="unfused"),
        )
        bundle = make_bundle(
            ratio=1.0,
            workloads=(NAME,),
            machine=Machine(device=Device.CUDA, model=model, memory_bytes=85_000_000_000),
            work=(CountedWork(workload=NAME, side=Side.HEAD, work=StepWork(counts=counts)),),
        )
        spec = WorkloadSpec(
            id=NAME, module="gpt", function="step", unit="tokens", units_per_step=units_per_step
        )
        fleet = FleetUse(workload="gpt:*", where="p4d/on_demand", device_hours_per_year=1000.0)
        pricing = PricingConfig(fleet=(fleet,))
        priced = replace(bundle, workloads=(spec,), pricing=pricing)
        return build_report(priced, today=TODAY, is_local=True)

    return report


def test_counted_work_is_projected_onto_what_a_team_could_have(report):
    (view,) = report().projections

    assert view.is_measured
    assert [row.device for row in view.rows] == ["H100-80GB", "TPU-v4"]
    assert all(isinstance(row.projection, Projection) for row in view.rows)
    assert all(row.costs for row in view.rows)


def test_the_comment_marks_every_projected_price(report):
    shown_comment = comment(report())

    assert "**Projected, not measured**" in shown_comment
    row = next(line for line in shown_comment.splitlines() if "`H100-80GB` in `bfloat16`" in line)
    assert row.startswith("| `gpt:<b>\\|step` | `tokens` | `A100-80GB` |")
    assert "price read on 2026-11-20" in row
    assert "Prices: sources and assumptions" in shown_comment
    assert "us-east-1; " in shown_comment


def test_the_json_report_has_its_provenance(report):
    (projection,) = json.loads(report_json(report()))["projections"]

    assert projection["provenance"] == "projected"
    assert {row["provenance"] for row in projection["devices"] + projection["costs"]} == {
        "projected"
    }


def test_what_ran_on_a_device_without_known_peaks_is_not_projected(report):
    assert report(model="Unheard Of 9000").projections == ()
    assert "Projected, not measured" not in comment(report(model="Unheard Of 9000"))


@pytest.mark.parametrize("flops", [1e-300, 1e300, 1.7e308])
@pytest.mark.parametrize("bytes_moved", [1e-300, 1e300])
@pytest.mark.parametrize("units_per_step", [1e-300, 1.0, 1e300])
def test_figures_that_cannot_be_are_no_projection_and_no_failure(
    report, flops, bytes_moved, units_per_step
):
    found_report = report(flops=flops, bytes_moved=bytes_moved, units_per_step=units_per_step)

    assert isinstance(comment(found_report), str)
