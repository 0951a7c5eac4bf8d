"""What is projected, as agreed: nothing in it can be taken for measured."""

from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.projection.projection import (
    MissingProjection,
    ProjectedCost,
    Projection,
)
from perfledger_cost_models.projection.roofline import ResourceSeconds
from perfledger_cost_models.projection.workload_descriptor import (
    ArithmeticWork,
    CommunicationPattern,
    CommunicationVolume,
    FixedTime,
    MemoryTraffic,
    WorkloadDescriptor,
)
from perfledger_cost_models.quote import HourlyRate
from perfledger_service.rendering.chart.marks import BarMark, LineMark
from perfledger_service.rendering.cost.project import (
    projection_document,
)
from perfledger_service.rendering.cost.projection_plot import projection_svg, speed_chart
from perfledger_service.rendering.layout.writers import plain_lines, to_csv, to_terminal
from perfledger_service.values.projection_views import ProjectionRow, ProjectionView

SECONDS = ResourceSeconds(arithmetic=2e-3, memory=1e-3, communication=0.0, fixed=1e-4)
RATE = HourlyRate(
    option="p5.48xlarge/on_demand",
    label="AWS p5.48xlarge, on demand",
    accelerator="H100-80GB",
    usd_per_device_hour=Decimal("7.20"),
    low=Decimal("7.20"),
    high=Decimal("7.20"),
    as_of=date(2026, 11, 9),
    is_read_date=False,
    source="price list",
    assumed=("utilization 0.4",),
    warnings=("price is 120 days old",),
)


def a_projection(target, speed, *, is_calibrated):
    return Projection(
        workload="gpt:step <p50> & more",
        unit="tokens",
        source="a100-sxm4-80gb",
        target=target,
        speed=speed,
        low=speed / 2,
        high=speed * 2,
        source_seconds=SECONDS,
        target_seconds=SECONDS,
        dtypes=("float8", "bfloat16"),
        unexplained=0.4,
        is_calibrated=is_calibrated,
    )


@pytest.fixture
def view():
    h100 = a_projection("h100-sxm5-80gb", 2.5, is_calibrated=True)
    cost = ProjectedCost(
        projection=h100,
        rate=RATE,
        usd=Decimal("2.00"),
        low=Decimal("1.00"),
        high=Decimal("4.00"),
    )
    return ProjectionView(
        descriptor=WorkloadDescriptor(
            name="gpt:step <p50> & more",
            unit="tokens",
            arithmetic=(ArithmeticWork(dtypes=("float8", "bfloat16"), flops=1.8e9, source="6 N"),),
            memory=(MemoryTraffic(bytes=4.2e6, source="a rule", is_assumed=True),),
            communication=(
                CommunicationVolume(
                    pattern=CommunicationPattern.ALL_REDUCE, bytes=1.2e4, source="gradients"
                ),
            ),
            fixed=FixedTime(seconds=1e-6, source="a profile"),
            devices=8,
        ),
        source="A100-80GB",
        units_per_second=(390.0, 400.0, 410.0),
        is_measured=True,
        rows=(
            ProjectionRow(device="H100-80GB", projection=h100, costs=(cost,)),
            ProjectionRow(
                device="TPU-v4", projection=a_projection("tpu-v4", 0.75, is_calibrated=False)
            ),
            ProjectionRow(
                device="T4",
                projection=MissingProjection(
                    workload="gpt:step",
                    source="a100-sxm4-80gb",
                    target="t4",
                    reason="t4 has no published peak for float8 or bfloat16",
                ),
            ),
        ),
        published=70,
    )


def test_a_projection_is_written_for_a_terminal_as_agreed(view, matches_golden):
    matches_golden("projection_80.txt", plain_lines(to_terminal(projection_document(view))))


def test_a_projection_is_drawn_as_agreed(view, matches_golden):
    matches_golden("projection.svg", projection_svg(view))


def test_a_projections_bars_and_intervals_are_its_speeds(view, marks_of):
    chart = speed_chart(view)

    assert [bar.x for bar in marks_of(chart, BarMark)] == [(0.0, 2.5), (0.0, 0.75)]
    ends = [[x for x, _ in line.points] for line in marks_of(chart, LineMark)]
    assert ends == [[1.25, 5.0], [0.375, 1.5]]
    assert [tick.label for tick in chart.y.ticks] == ["H100-80GB", "TPU-v4"]


def test_a_projection_is_a_table_as_agreed(view, matches_golden):
    matches_golden("projection.csv", to_csv(projection_document(view)))
