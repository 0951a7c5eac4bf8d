"""Values that example reports are made of."""

from datetime import date
from decimal import Decimal
from typing import Any

from perfledger.metrics import (
    PEAK_MEMORY,
    SM_ACTIVE,
    STEP_TIME,
    Metric,
)
from perfledger.profile import (
    Bucket,
    Kernel,
    Operation,
    OperationFamily,
    Profile,
    ProfiledDevice,
    ProfileReading,
    StepSlice,
    StreamIdle,
)
from perfledger.records import (
    Device,
    Framework,
    Machine,
    Side,
    WorkloadSpec,
)
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome, Verdict
from perfledger_cost_models.quote import HourlyRate, Provenance, UnitCost
from perfledger_profiles.bottleneck.classification import (
    Bottleneck,
    BottleneckConfidence,
    BottleneckDetail,
    BottleneckShare,
    Classification,
    Recommendation,
)
from perfledger_profiles.diff.cause import Cause, ChangeKind, ChangeReason
from perfledger_profiles.hardware.roofline import Roofline, RooflineCeilings, RooflinePoint
from perfledger_service.values.trace_views import TraceView

GPT = "benchmarks.gpt:train_step[batch=8]"
RESNET = "benchmarks.resnet:infer[batch=32]"
TRANSFORMER = "benchmarks.transformer:train_step"
ATTENTION = "benchmarks.attention:causal[seq=2048]"

H100 = Machine(
    device=Device.CUDA,
    model="NVIDIA H100 80GB HBM3",
    uuid="GPU-5b1e4c1e-9d0f-7c70-9a2e-0d7f6f6a1c11",
    memory_bytes=85_520_809_984,
    driver="570.86.15",
    runtime="CUDA 12.8",
    clock_mhz=1980.0,
    is_clock_locked=True,
    power_cap_w=700.0,
    has_ecc=True,
    cpu_model="Intel(R) Xeon(R) Platinum 8480C",
    cores=112,
    governor="performance",
    kernel="6.8.0-51-generic",
    python="3.11.9",
    frameworks={"torch": "2.13.0", "jax": "0.10.2"},
)
CPU = Machine(
    device=Device.CPU,
    model="Intel(R) Xeon(R) Processor @ 2.80GHz",
    cpu_model="Intel(R) Xeon(R) Processor @ 2.80GHz",
    cores=2,
    kernel="6.1.0-28-cloud-amd64",
    python="3.11.2",
    frameworks={"torch": "2.13.0+cpu", "jax": "0.10.2"},
)


def rate(
    option: str, label: str, accelerator: str, usd: tuple[str, str, str], **other: Any
) -> HourlyRate:
    low, mode, high = map(Decimal, usd)
    known_fields: dict[str, Any] = {
        "as_of": date(2026, 7, 20),
        "is_read_date": False,
        "source": "catalog @6fc13b52",
    }
    return HourlyRate(
        option=option,
        label=label,
        accelerator=accelerator,
        usd_per_device_hour=mode,
        low=low,
        high=high,
        **(known_fields | other),
    )


P5 = rate("p5.48xlarge/on_demand", "AWS p5.48xlarge, on demand", "H100-80GB", ("6.88",) * 3)
P4D = rate("p4d.24xlarge/on_demand", "AWS p4d.24xlarge, on demand", "A100-40GB", ("2.744705",) * 3)
TPU_V4 = rate(
    "tpu-v4/on_demand",
    "Google TPU v4, on demand",
    "TPU-v4",
    ("3.22",) * 3,
    as_of=date(2026, 11, 20),
    is_read_date=True,
    warnings=("the price's own date is not known",),
)
ONPREM = rate(
    "onprem-8xH100",
    "8 x H100 server on premises",
    "H100-80GB",
    ("3.50", "4.30", "5.25"),
    as_of=date(2026, 11, 20),
    is_read_date=True,
    source="on-premises inputs, total cost of ownership over 5 years",
    assumed=("support share of capex", "staff per node", "utilization"),
)


def spec(identifier: str, *, unit: str, units_per_step: float) -> WorkloadSpec:
    module, _, function = identifier.partition("[")[0].partition(":")
    return WorkloadSpec(
        id=identifier,
        module=module,
        function=function,
        unit=unit,
        units_per_step=units_per_step,
        framework=Framework.TORCH,
    )


SPECS = (
    spec(GPT, unit="tokens", units_per_step=8192),
    spec(RESNET, unit="images", units_per_step=32),
    spec(TRANSFORMER, unit="tokens", units_per_step=4096),
    spec(ATTENTION, unit="sequences", units_per_step=1),
)


def verdict(
    workload: str,
    metric: Metric,
    outcome: Outcome,
    values: tuple[float, float] | None,
    *,
    spread: float = 0.0,
    pairs: int = 6,
    is_warning: bool = False,
    reason: str = "",
) -> Verdict:
    estimate = None
    if values is not None:
        change = values[1] / values[0] - 1
        estimate = EffectEstimate(
            base=values[0],
            head=values[1],
            change=change,
            low=change - spread,
            high=change + 1.1 * spread,
            narrow_low=change - 0.8 * spread,
            narrow_high=change + 0.8 * spread,
            pairs=pairs,
            p_value=0.00002 if outcome is Outcome.REGRESSED else 0.4,
            smallest_detectable=1.2 * spread,
        )
    return Verdict(
        workload=workload,
        metric=metric,
        outcome=outcome,
        estimate=estimate,
        adjusted_p=0.00008 if outcome is Outcome.REGRESSED else 1.0,
        is_warning=is_warning,
        reason=reason,
    )


def unchanged(workload: str, step_s: float, *, memory: float = 1.5e9, active: float = 0.9):
    """Return quiet verdicts on step time, memory and activity."""
    outcome = Outcome.UNCHANGED
    return (
        verdict(workload, STEP_TIME, outcome, (step_s, step_s * 1.0011), spread=0.004),
        verdict(workload, PEAK_MEMORY, outcome, (memory, memory), spread=0.0),
        verdict(workload, SM_ACTIVE, outcome, (active, active * 0.999), spread=0.006),
    )


def unit_cost(
    workload: str, unit: str, where: HourlyRate, usd: str | None, **other: Any
) -> UnitCost:
    """Return a measured cost, or with usd=None one that is not known."""
    point = None if usd is None else Decimal(usd)
    known_unknown = Provenance.UNKNOWN if point is None else Provenance.MEASURED
    return UnitCost(
        workload=workload,
        unit=unit,
        rate=where,
        usd=point,
        low=point and point * Decimal("0.99"),
        high=point and point * Decimal("1.01"),
        **({"provenance": known_unknown} | other),
    )


def cause(
    name: str,
    kind: ChangeKind,
    seconds: tuple[float, float],
    counts: tuple[float, float],
    **other: Any,
) -> Cause:
    return Cause(
        kind=kind,
        base_seconds=seconds[0],
        head_seconds=seconds[1],
        base_count=counts[0],
        head_count=counts[1],
        **({"name": name, "base_name": name} | other),
    )


def cast_to_double() -> Cause:
    """Return a product that takes twice as long because its type became wider."""
    return cause(
        "aten::mm",
        ChangeKind.RATE,
        (0.002, 0.004),
        (4.0, 4.0),
        path="aten::linear",
        reason=ChangeReason.TYPE,
        evidence="float[64,64] became double[64,64]",
        suggestion="keep the type",
        reverted_step_seconds=0.01264,
    )


def a_slice(
    lane: str, name: str, bucket: Bucket, start_s: float, seconds: float, *, depth: int = 0
) -> StepSlice:
    return StepSlice(
        lane=lane, name=name, bucket=bucket, start_seconds=start_s, seconds=seconds, depth=depth
    )


def profile(side: Side = Side.HEAD, *, softmax_s: float = 0.00274) -> Profile:
    """Return a profile made up by hand: a step on a device and its host."""
    operations = (
        Operation(name="aten::addmm", bucket=Bucket.COMPUTE, seconds=0.00391, count=48.0),
        Operation(name="aten::_softmax", bucket=Bucket.COMPUTE, seconds=softmax_s, count=12.0),
        Operation(name="nccl:all_reduce", bucket=Bucket.COMMUNICATION, seconds=0.0012, count=2.0),
        Operation(name="aten::copy_", bucket=Bucket.COPY, seconds=0.00059, count=60.0),
        Operation(name="(outside operations)", bucket=Bucket.OTHER, seconds=0.0008, count=0.0),
    )
    gemm, softmax = "ampere_sgemm_128x64_tn", "softmax_warp_forward<float, 10>"
    kernels = (
        Kernel(
            name=gemm,
            family=OperationFamily.GEMM,
            seconds=0.00391,
            count=48.0,
            occupancy=0.31,
            is_tensor=True,
        ),
        Kernel(name=softmax, family=OperationFamily.NORMALIZATION, seconds=softmax_s, count=12.0),
    )
    end = 0.005 + softmax_s
    return Profile(
        workload=GPT,
        side=side,
        tool="torch.profiler",
        steps=4,
        step_seconds=sum(operation.seconds for operation in operations),
        operations=operations,
        dropped_events=3,
        notes=("1 of 6 steps left out: far longer than the median",),
        device=ProfiledDevice(name="NVIDIA H100 80GB HBM3", multiprocessors=132),
        kernels=kernels,
        streams=(
            StreamIdle(
                stream="stream 7",
                busy_seconds=0.0066,
                host_wait_seconds=0.0008,
                kernel_wait_seconds=0.0001,
                other_seconds=0.0,
            ),
        ),
        readings=(
            ProfileReading(name="gpu_busy", value=0.91),
            ProfileReading(name="bus_bw", value=2.1e11, unit="B/s", subject="all_reduce"),
        ),
        slices=(
            a_slice("host", "train_step", Bucket.CPU, 0.0, end),
            a_slice("host", "aten::addmm", Bucket.CPU, 0.0005, 0.0004, depth=1),
            a_slice("stream 7", gemm, Bucket.COMPUTE, 0.001, 0.0039),
            a_slice("stream 7", softmax, Bucket.COMPUTE, 0.005, softmax_s),
        ),
    )


def classification(primary: Bottleneck = Bottleneck.COMPUTE, share: float = 0.72) -> Classification:
    return Classification(
        primary=primary,
        shares=(
            BottleneckShare(bottleneck=primary, share=share, is_high=False, is_moderate=False),
            BottleneckShare(
                bottleneck=Bottleneck.HOST, share=0.16, is_high=False, is_moderate=True
            ),
        ),
        confidence=BottleneckConfidence.HIGH,
        detail=BottleneckDetail.OCCUPANCY
        if primary is Bottleneck.LATENCY
        else BottleneckDetail.NONE,
        secondary=(Bottleneck.HOST,),
        reasons=("no overhead is high: the largest, host, has 16.0% of the step",),
    )


RIDGE = 295.3  # FLOP per byte of an H100

ADVICE = Recommendation(
    text="capture the step in a CUDA graph: torch.compile with reduce-overhead",
    trigger="16.0% of the step is the host's",
    share=0.16,
    saved_share=0.16,
    step_seconds=0.0078,
    assumption="if launches take no time",
)


def roofline_point(name: str, *figures: float) -> RooflinePoint:
    fields = ("intensity_flop_per_byte", "flops_per_second", "seconds", "attained")
    values: dict[str, Any] = dict(zip(fields, figures, strict=True))
    return RooflinePoint(name=name, is_memory_side=figures[0] < RIDGE, **values)


def trace_view(name: str = "trace.json.gz", side: Side = Side.HEAD, **values: Any) -> TraceView:
    return TraceView(
        name=name,
        profile=profile(side, **values),
        classification=classification(),
        recommendations=(ADVICE,),
        roof=Roofline(
            device="NVIDIA H100 80GB HBM3",
            dtype="bfloat16",
            ceilings=RooflineCeilings(989.4e12, 3.35e12),
            points=(
                roofline_point("ampere_sgemm_128x64_tn", 410.0, 6.1e14, 0.00391, 0.617),
                roofline_point("softmax_warp_forward<float, 10>", 1.2, 2.9e12, 0.00274, 0.721),
            ),
            step=roofline_point("step", 37.0, 3.0e13, 0.00924, 0.242),
            covered_share=0.9,
        ),
    )


class Make:
    """Values and functions that example reports are made with."""

    GPT, RESNET, TRANSFORMER, ATTENTION = GPT, RESNET, TRANSFORMER, ATTENTION
    H100, CPU = H100, CPU
    P5, P4D, TPU_V4, ONPREM = P5, P4D, TPU_V4, ONPREM
    SPECS = SPECS
    STEP_TIME, PEAK_MEMORY, SM_ACTIVE = STEP_TIME, PEAK_MEMORY, SM_ACTIVE
    verdict = staticmethod(verdict)
    unchanged = staticmethod(unchanged)
    unit_cost = staticmethod(unit_cost)
    cause = staticmethod(cause)
    cast_to_double = staticmethod(cast_to_double)
    profile = staticmethod(profile)
    classification = staticmethod(classification)
    trace_view = staticmethod(trace_view)
    ADVICE = ADVICE
