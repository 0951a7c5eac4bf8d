"""A workload's projection onto other hardware."""

from datetime import date
from decimal import Decimal

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


def projection_view() -> ProjectionView:
    """Return a view with a calibrated projection, one that is not, and a device without one."""
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
