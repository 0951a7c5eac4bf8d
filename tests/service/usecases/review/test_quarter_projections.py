"""What a quarter measured, projected elsewhere: marked, priced, and never beside a measurement."""

from dataclasses import replace
from datetime import date

import pytest

from perfledger.records import Device, Machine, Side, WorkloadSpec
from perfledger.step_work import (
    BYTES,
    FLOPS,
    Count,
    CountedWork,
    StepWork,
)
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.projection.projection import Projection
from perfledger_cost_models.review.quarter import quarter_of
from perfledger_runners.bundles.files import write_bundle
from perfledger_service.usecases.review.quarter_projections import (
    ProjectionTargets,
    projection_check,
)
from perfledger_service.usecases.review.quarter_records import records_of_bundles, records_of_store

QUARTER = quarter_of("2026Q4")
ELSEWHERE = ProjectionTargets(
    accelerators=("A100-80GB", "H100-80GB", "TPU-v4"),
    sheet=packaged_sheet(),
    today=date(2026, 11, 20),
)
A100 = "NVIDIA A100-SXM4-80GB"


@pytest.fixture
def counted(make_bundle):
    """A bundle, made up, whose step counts on both sides what it asks for; head's is ten-fold."""

    def counted(*, model=A100, sides=tuple(Side), **values):
        def work(flops):
            counts = (
                Count(name=FLOPS, unit="FLOP", value=flops, source="FlopCounterMode"),
                Count(name=BYTES, unit="B", value=4e9, source="unfused"),
            )
            return StepWork(counts=counts)

        bundle = make_bundle(
            machine=Machine(device=Device.CUDA, model=model, memory_bytes=85_000_000_000),
            work=tuple(
                CountedWork(
                    workload="gpt:step", side=side, work=work(1e13 if side is Side.HEAD else 1e12)
                )
                for side in sides
            ),
            **values,
        )
        spec = WorkloadSpec(
            id="gpt:step", module="gpt", function="step", unit="tokens", units_per_step=8.0
        )
        return replace(bundle, workloads=(spec,))

    return counted


def test_the_store_and_bundles_project_the_same(engine, judged_on_branch, counted, tmp_path):
    bundle = counted()
    judged_on_branch(engine, bundle)
    write_bundle(bundle, tmp_path / "one.json")

    stored = records_of_store(engine, QUARTER, origin="the store", targets=ELSEWHERE).projections
    given_projections = records_of_bundles(tmp_path, QUARTER, targets=ELSEWHERE).projections
    assert [one.device for one in stored] == ["H100-80GB", "TPU-v4"]
    assert [replace(one, origin="", day=QUARTER.first) for one in stored] == [
        replace(one, origin="", day=QUARTER.first) for one in given_projections
    ]
    assert all(one.costs for one in stored)


def test_the_base_is_projected_and_not_a_head_that_may_never_land(
    engine, judged_on_branch, counted
):
    judged_on_branch(engine, counted())

    one, *_ = records_of_store(engine, QUARTER, origin="", targets=ELSEWHERE).projections
    assert isinstance(one.projection, Projection)
    # 1e12 FLOP a step of 8 units, 0.01 s a step: the base's. The head's ten-fold would take longer.
    assert one.projection.source_seconds.device < 0.01 / 8


def test_what_ran_on_a_device_is_not_projected_onto_it(counted, tmp_path):
    write_bundle(counted(), tmp_path / "one.json")
    measured = counted(model="NVIDIA H100 80GB HBM3", seed=1)
    write_bundle(measured, tmp_path / "two.json")

    projections = records_of_bundles(tmp_path, QUARTER, targets=ELSEWHERE).projections
    assert {(one.source, one.device) for one in projections} == {
        ("A100-80GB", "TPU-v4"),
        ("H100-80GB", "TPU-v4"),
    }


@pytest.mark.parametrize("values", [{"sides": (Side.HEAD,)}, {"model": "Unheard Of 9000"}])
def test_what_was_not_counted_or_has_no_known_peaks_is_left_out(counted, tmp_path, values):
    write_bundle(counted(**values), tmp_path / "one.json")

    quarter_records = records_of_bundles(tmp_path, QUARTER, targets=ELSEWHERE)
    assert quarter_records.speeds
    assert quarter_records.projections == ()


def test_nothing_is_projected_unless_it_is_asked_for(counted, tmp_path):
    write_bundle(counted(), tmp_path / "one.json")

    assert records_of_bundles(tmp_path, QUARTER).projections == ()


def test_the_check_counts_every_published_ratio():
    found_projection_check = projection_check()

    assert found_projection_check.ratios > 20
    assert 0 < found_projection_check.median_error < 0.2
    assert 0.8 <= found_projection_check.covered_share <= 0.97
