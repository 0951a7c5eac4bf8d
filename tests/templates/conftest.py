"""Reports made by hand from the value types, one for each thing that a comment has to say."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from perfledger.bundle import Plan
from perfledger.metrics import (
    CPU_ACTIVE,
    FLOPS_PER_STEP,
    PEAK_MEMORY,
    SM_ACTIVE,
    STEP_TIME,
    Metric,
)
from perfledger.records import (
    Device,
    Failure,
    Framework,
    Machine,
    Revision,
    Side,
    Why,
    WorkloadSpec,
)
from perfledger_baselines.verdict import Estimate, Outcome, Verdict
from perfledger_cost_models.quote import ChangePrice, Provenance, Rate, UnitCost
from perfledger_profiles.cause import Cause, Explanation, How
from perfledger_service.report import Conclusion, ExitCode, Report

UPDATE = "PERFLEDGER_UPDATE_GOLDEN"
GOLDEN = Path(__file__).parent / "golden"

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
P5 = Rate(
    option="p5.48xlarge/on_demand",
    label="AWS p5.48xlarge, on demand",
    accelerator="H100-80GB",
    usd_per_device_hour=Decimal("6.88"),
    low=Decimal("6.88"),
    high=Decimal("6.88"),
    as_of=date(2026, 7, 20),
    is_read_date=False,
    source="aws/karpenter-provider-aws zz_generated.pricing_aws.go @6fc13b52",
)
P4D = replace(
    P5,
    option="p4d.24xlarge/on_demand",
    label="AWS p4d.24xlarge, on demand",
    accelerator="A100-40GB",
    usd_per_device_hour=Decimal("2.74470525"),
    low=Decimal("2.74470525"),
    high=Decimal("2.74470525"),
)
TPU_V4 = replace(
    P5,
    option="tpu-v4/on_demand",
    label="Google TPU v4, on demand",
    accelerator="TPU-v4",
    usd_per_device_hour=Decimal("3.22"),
    low=Decimal("3.22"),
    high=Decimal("3.22"),
    as_of=date(2026, 11, 20),
    is_read_date=True,
    source="skypilot-org/skypilot-catalog catalogs/v8/gcp/vms.csv @006059e0",
    warnings=("the price's own date is not known",),
)
ONPREM = replace(
    P5,
    option="onprem-8xH100",
    label="8 x H100 server on premises",
    usd_per_device_hour=Decimal("4.30"),
    low=Decimal("3.50"),
    high=Decimal("5.25"),
    as_of=date(2026, 11, 20),
    is_read_date=True,
    source="on-premises inputs of 2026-11-20, total cost of ownership over 5 years",
    assumed=("support share of capex", "staff per node", "utilization"),
)
SHEET = (P5, P4D, TPU_V4, ONPREM)


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
        estimate = Estimate(
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
    """Return quiet verdicts on step time, memory, activity and work."""
    outcome = Outcome.UNCHANGED
    return (
        verdict(workload, STEP_TIME, outcome, (step_s, step_s * 1.0011), spread=0.004),
        verdict(workload, PEAK_MEMORY, outcome, (memory, memory), spread=0.0),
        verdict(workload, SM_ACTIVE, outcome, (active, active * 0.999), spread=0.006),
        verdict(workload, FLOPS_PER_STEP, outcome, (4.31e9, 4.31e9), spread=0.0),
    )


def unit_cost(workload: str, unit: str, rate: Rate, usd: str, provenance=Provenance.MEASURED):
    point = Decimal(usd)
    return UnitCost(
        workload=workload,
        unit=unit,
        rate=rate,
        provenance=provenance,
        usd=point,
        low=point * Decimal("0.99"),
        high=point * Decimal("1.01"),
    )


def unknown_cost(workload: str, unit: str, rate: Rate, *, why: str):
    return UnitCost(
        workload=workload,
        unit=unit,
        rate=rate,
        provenance=Provenance.UNKNOWN,
        usd=None,
        low=None,
        high=None,
        why=why,
    )


SLOWER = Explanation(
    workload=GPT,
    base_step_seconds=0.01236,
    head_step_seconds=0.01464,
    causes=(
        Cause(
            name="aten::_softmax",
            base_name="aten::_scaled_dot_product_flash_attention",
            how=How.REPLACED,
            base_seconds=0.00102,
            head_seconds=0.00274,
            base_count=12.0,
            head_count=12.0,
            suggestion="the attention lost its fused path: call "
            "torch.nn.functional.scaled_dot_product_attention",
        ),
        Cause(
            name="aten::copy_",
            base_name="aten::copy_",
            how=How.COUNT,
            base_seconds=0.00021,
            head_seconds=0.00059,
            base_count=24.0,
            head_count=60.0,
        ),
        Cause(
            name="aten::bmm",
            base_name="aten::bmm",
            how=How.NEW,
            base_seconds=0.0,
            head_seconds=0.00031,
            base_count=0.0,
            head_count=24.0,
        ),
        Cause(
            name="aten::addmm",
            base_name="aten::addmm",
            how=How.RATE,
            base_seconds=0.00402,
            head_seconds=0.00391,
            base_count=48.0,
            head_count=48.0,
        ),
    ),
    rest_seconds=-0.00002,
    is_attributable=True,
)
GPT_PRICE = ChangePrice(
    workload=GPT,
    rate=P5,
    device_hours_per_year=(18_000.0, 20_000.0, 22_000.0),
    hours_source="declared in the configuration",
    usd=Decimal("25043.2"),
    low=Decimal("22401.9"),
    high=Decimal("27911.4"),
    is_detectable=True,
)

BASE = Report(
    bundle_id="0f9d2c4b6a8e4f7d9c1b3a5e7f902468",
    created_at="2026-11-20T14:03:27+00:00",
    repository="acme/models",
    pull_request=41,
    base=Revision(
        sha="8c1f0a2b3c4d5e6f708192a3b4c5d6e7f8091a2b", ref="main", subject="Bump the tokenizer"
    ),
    head=Revision(
        sha="d41e7b9a0c2f4e6d8b1a3c5e7f9012345678abcd",
        ref="tidy-attention",
        subject="Tidy the attention block",
    ),
    machine=H100,
    plan=Plan(
        seed=20261120,
        order=("base", "head", "head", "base", "base", "head"),
        looks=(4, 6, 8, 11, 15, 20),
    ),
    workloads=SPECS,
    verdicts=(),
    failures=(),
    new_workloads=(),
    skipped=(),
    explanations=(),
    unit_costs=(),
    change_prices=(),
    conclusion=Conclusion.SUCCESS,
    exit_code=ExitCode.OK,
    title="Performance unchanged",
    headline="Performance unchanged: 4 unchanged of 4 workloads",
    is_local=False,
)


def regressed() -> Report:
    slow = (
        verdict(
            GPT,
            STEP_TIME,
            Outcome.REGRESSED,
            (0.01229, 0.01453),
            spread=0.013,
            reason="18.2% slower, beyond doubt",
        ),
        verdict(GPT, PEAK_MEMORY, Outcome.REGRESSED, (1.52e9, 1.93e9), spread=0.002),
        verdict(GPT, SM_ACTIVE, Outcome.UNCHANGED, (0.91, 0.908), spread=0.006),
        verdict(GPT, FLOPS_PER_STEP, Outcome.UNCHANGED, (1.2e12, 1.2e12)),
    )
    faster = verdict(RESNET, STEP_TIME, Outcome.IMPROVED, (0.00841, 0.00802), spread=0.006)
    return replace(
        BASE,
        verdicts=(
            *slow,
            faster,
            *unchanged(TRANSFORMER, 0.00512),
            *unchanged(ATTENTION, 0.000871),
        ),
        explanations=(SLOWER,),
        change_prices=(
            GPT_PRICE,
            replace(
                GPT_PRICE,
                workload=RESNET,
                device_hours_per_year=(4000.0, 4000.0, 4000.0),
                usd=Decimal("-1276.1"),
                low=Decimal("-1480.6"),
                high=Decimal("-1092.3"),
            ),
            replace(
                GPT_PRICE,
                workload=ATTENTION,
                usd=Decimal("151.4"),
                low=Decimal("-398.7"),
                high=Decimal("703.2"),
                is_detectable=False,
            ),
        ),
        unit_costs=(
            unit_cost(GPT, "tokens", P5, "0.003389"),
            unit_cost(GPT, "tokens", ONPREM, "0.002118"),
            unknown_cost(GPT, "tokens", P4D, why="measured on another accelerator"),
            unknown_cost(GPT, "tokens", TPU_V4, why="measured on another accelerator"),
            unit_cost(RESNET, "images", P5, "0.479"),
            unit_cost(TRANSFORMER, "tokens", P5, "0.002391"),
            unit_cost(ATTENTION, "sequences", P5, "1.6646"),
        ),
        conclusion=Conclusion.FAILURE,
        exit_code=ExitCode.REGRESSION,
        title="Performance regressed",
        headline="Performance regressed: 1 regressed, 1 improved, 2 unchanged of 4 workloads",
        notes=("the margin of 1% was taken from the base's configuration",),
    )


def quiet() -> Report:
    steps = {GPT: 0.01229, RESNET: 0.00841, TRANSFORMER: 0.00512, ATTENTION: 0.000871}
    return replace(
        BASE,
        verdicts=tuple(one for name, step in steps.items() for one in unchanged(name, step)),
        unit_costs=(unit_cost(GPT, "tokens", P5, "0.002867"),),
    )


def not_measured() -> Report:
    failed = verdict(GPT, STEP_TIME, Outcome.NOT_MEASURED, None, reason="head raised an error")
    return replace(
        BASE,
        verdicts=(failed, *unchanged(TRANSFORMER, 0.00512)),
        workloads=(SPECS[0], SPECS[2]),
        failures=(
            Failure(
                workload=GPT,
                side=Side.HEAD,
                why=Why.RAISED,
                detail="RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x64 and 32x64)",
                pair=0,
                log_tail="Traceback (most recent call last):\n"
                '  File "benchmarks/gpt.py", line 41, in step\n'
                "    loss = model(tokens)\n"
                "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x64 and 32x64)\n",
            ),
        ),
        conclusion=Conclusion.FAILURE,
        exit_code=ExitCode.UNCERTAIN,
        title="Not measured",
        headline="Not measured: 1 not measured, 1 unchanged of 2 workloads",
    )


def undecided() -> Report:
    unsure = verdict(
        RESNET,
        STEP_TIME,
        Outcome.UNDECIDED,
        (0.00841, 0.00859),
        spread=0.031,
        pairs=20,
        reason="the interval is wider than the margin after 20 pairs: measure on a quieter machine",
    )
    suspect = verdict(
        TRANSFORMER,
        PEAK_MEMORY,
        Outcome.UNDECIDED,
        (1.5e9, 1.53e9),
        spread=0.004,
        is_warning=True,
        reason="only the milder list has it",
    )
    return replace(
        BASE,
        verdicts=(unsure, suspect, *unchanged(TRANSFORMER, 0.00512)[:1]),
        workloads=(SPECS[1], SPECS[2]),
        new_workloads=(ATTENTION,),
        skipped=((GPT, "the compiled code is the same on both sides"),),
        conclusion=Conclusion.ACTION_REQUIRED,
        exit_code=ExitCode.UNCERTAIN,
        title="Undecided",
        headline="Undecided: 2 undecided, 1 new, 1 skipped of 4 workloads",
    )


def on_cpu() -> Report:
    why = "measured on a CPU, which is not on the price sheet"
    slower = verdict(GPT, STEP_TIME, Outcome.REGRESSED, (0.0391, 0.0487), spread=0.021, pairs=8)
    active = verdict(GPT, CPU_ACTIVE, Outcome.UNCHANGED, (0.93, 0.93), spread=0.008, pairs=8)
    declared = ChangePrice(
        workload=GPT,
        rate=P5,
        device_hours_per_year=(20_000.0, 20_000.0, 20_000.0),
        hours_source="demo: three training runs a month",
        usd=Decimal(33780),
        low=Decimal(30890),
        high=Decimal(36960),
        is_detectable=True,
        note="the change was measured on another device: on this one it may be larger or smaller",
    )
    return replace(
        BASE,
        machine=CPU,
        verdicts=(slower, active, *unchanged(TRANSFORMER, 0.0212)[:1]),
        workloads=(SPECS[0], SPECS[2]),
        explanations=(
            replace(SLOWER, causes=(), is_attributable=False, note="the profiles differ too much"),
        ),
        change_prices=(declared,),
        unit_costs=(
            unit_cost(GPT, "tokens", P5, "0.00466", Provenance.DECLARED),
            unknown_cost(GPT, "tokens", P4D, why=why),
            unknown_cost(GPT, "tokens", TPU_V4, why=why),
            unknown_cost(TRANSFORMER, "tokens", P5, why=why),
            unknown_cost(TRANSFORMER, "tokens", P4D, why=why),
            unknown_cost(TRANSFORMER, "tokens", TPU_V4, why=why),
        ),
        conclusion=Conclusion.FAILURE,
        exit_code=ExitCode.REGRESSION,
        title="Performance regressed",
        headline="Performance regressed: 1 regressed, 1 unchanged of 2 workloads",
        is_local=True,
    )


@pytest.fixture(scope="session")
def reports() -> Mapping[str, Report]:
    """Return the sample reports by the name of what they show."""
    return {
        "regressed": regressed(),
        "unchanged": quiet(),
        "not_measured": not_measured(),
        "undecided": undecided(),
        "cpu_only": on_cpu(),
    }


@pytest.fixture(scope="session")
def matches_golden() -> Callable[[str, str], None]:
    """Return a function that holds a text against the golden file of that name, or writes it."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get(UPDATE) == "1":
            path.write_text(text, encoding="utf-8")

        assert text == path.read_text(encoding="utf-8"), f"run again with {UPDATE}=1 if intended"

    return check
