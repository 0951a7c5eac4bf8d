"""Example reports, one for each thing that a comment has to say."""

from dataclasses import replace
from decimal import Decimal

from perfledger.metrics import CPU_ACTIVE, PEAK_MEMORY, SM_ACTIVE, STEP_TIME
from perfledger.profile import Bucket
from perfledger.records import Failure, FailureReason, FindingLevel, HostFinding, Side
from perfledger_baselines.estimation.work_counts import CountChange, WorkComparison
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.planning.sample_size import PairsNeeded
from perfledger_cost_models.quote import ChangePrice, Provenance
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.diff import cause
from perfledger_profiles.diff.cause import BucketChange, StepTimeExplanation
from perfledger_service.values import report
from perfledger_service.values.report import Conclusion, ExitCode
from tests.service.rendering.example_basis import basis
from tests.service.rendering.example_evidence import compilations, memory_explanation
from tests.service.rendering.example_short_reports import (
    first_check,
    forty_workloads,
    improved,
    more_memory,
    no_price,
    noisy,
)

OTHER_DEVICE = "measured on another accelerator"


def explanation(make):
    return StepTimeExplanation(
        workload=make.GPT,
        base_step_seconds=0.01236,
        head_step_seconds=0.01464,
        causes=(
            make.cause(
                "aten::_softmax",
                cause.ChangeKind.REPLACED,
                (0.00102, 0.00274),
                (12.0, 12.0),
                base_name="aten::_scaled_dot_product_flash_attention",
                suggestion="the attention lost its fused path: call "
                "torch.nn.functional.scaled_dot_product_attention",
                reason=cause.ChangeReason.FUSION,
                evidence="fused attention became matmul and softmax",
                reverted_step_seconds=0.01292,
            ),
            make.cause(
                "aten::copy_",
                cause.ChangeKind.COUNT,
                (0.00021, 0.00059),
                (24.0, 60.0),
                path="train_step/Attention.forward",
                count_effect_seconds=0.00033,
                rate_effect_seconds=0.00005,
            ),
            make.cause("aten::bmm", cause.ChangeKind.NEW, (0.0, 0.00031), (0.0, 24.0)),
            make.cause("aten::addmm", cause.ChangeKind.RATE, (0.00402, 0.00391), (48.0, 48.0)),
        ),
        rest_seconds=-0.00002,
        is_attributable=True,
        buckets=(
            BucketChange(bucket=Bucket.COMPUTE, base_seconds=0.0102, head_seconds=0.01212),
            BucketChange(bucket=Bucket.COPY, base_seconds=0.00021, head_seconds=0.00059),
            BucketChange(
                bucket=Bucket.CPU,
                base_seconds=0.00195,
                head_seconds=0.00193,
                noise_seconds=0.00004,
            ),
        ),
        residual_seconds=-0.00004,
        base_bottleneck=make.classification(Bottleneck.COMPUTE, 0.81),
        head_bottleneck=make.classification(Bottleneck.MEMORY, 0.79),
        compilations=compilations(),
        memory=memory_explanation(),
        reproduction=f"perfledger check --base 8c1f0a2b3c4d --workload '{make.GPT}'",
    )


def gpt_price(make):
    return ChangePrice(
        workload=make.GPT,
        rate=make.P5,
        device_hours_per_year=(18_000.0, 20_000.0, 22_000.0),
        hours_source="declared in the configuration",
        usd=Decimal("25043.2"),
        low=Decimal("22401.9"),
        high=Decimal("27911.4"),
        is_detectable=True,
    )


def work_rate(make, *, peak):
    return report.WorkRate(
        workload=make.GPT,
        base_flops=4.31e12,
        head_flops=4.31e12,
        base_flops_per_second=3.507e14,
        head_flops_per_second=2.966e14,
        peak_flops_per_second=peak,
    )


def counts(make):
    """What two steps ask for: one that moves more than before, and one that is the same."""
    by_torch = "inputs and outputs of every operator, unfused"
    return (
        WorkComparison(
            workload=make.GPT,
            counts=(
                CountChange(
                    name="flops_per_step",
                    unit="FLOP",
                    base=4.31e12,
                    head=4.31e12,
                    source="torch's FlopCounterMode",
                ),
                CountChange(
                    name="bytes_per_step", unit="B", base=9.21e9, head=1.42e10, source=by_torch
                ),
                CountChange(
                    name="operators_per_step", unit="1", base=812, head=1184, source=by_torch
                ),
            ),
            limits=("head: counted in a real step, because it needs tensor values: KeyError",),
            is_same_program=None,
        ),
        WorkComparison(
            workload=make.TRANSFORMER,
            counts=(
                CountChange(
                    name="temporary_memory",
                    unit="B",
                    base=0.0,
                    head=0.0,
                    source="XLA memory analysis of the largest compiled program",
                ),
            ),
            limits=(),
            is_same_program=True,
        ),
    )


def regressed(make):
    slow = (
        make.verdict(
            make.GPT,
            STEP_TIME,
            Outcome.REGRESSED,
            (0.01229, 0.01453),
            spread=0.013,
            reason="p below 0.0001 (Holm) after 6 pairs",
        ),
        make.verdict(make.GPT, PEAK_MEMORY, Outcome.REGRESSED, (1.52e9, 1.93e9), spread=0.002),
        make.verdict(make.GPT, SM_ACTIVE, Outcome.UNCHANGED, (0.91, 0.908), spread=0.006),
    )
    faster = make.verdict(
        make.RESNET, STEP_TIME, Outcome.IMPROVED, (0.00841, 0.00802), spread=0.006
    )
    return replace(
        basis(make),
        verdicts=(
            *slow,
            faster,
            *make.unchanged(make.TRANSFORMER, 0.00512),
            *make.unchanged(make.ATTENTION, 0.000871),
        ),
        explanations=(explanation(make),),
        advice=(report.BottleneckAdvice(make.GPT, (make.ADVICE,)),),
        change_prices=(
            gpt_price(make),
            replace(
                gpt_price(make),
                workload=make.RESNET,
                device_hours_per_year=(4000.0, 4000.0, 4000.0),
                usd=Decimal("-1276.1"),
                low=Decimal("-1480.6"),
                high=Decimal("-1092.3"),
            ),
            replace(
                gpt_price(make),
                workload=make.ATTENTION,
                usd=Decimal("151.4"),
                low=Decimal("-398.7"),
                high=Decimal("703.2"),
                is_detectable=False,
            ),
        ),
        unit_costs=(
            make.unit_cost(make.GPT, "tokens", make.P5, "0.003389"),
            make.unit_cost(make.GPT, "tokens", make.ONPREM, "0.002118"),
            make.unit_cost(make.GPT, "tokens", make.P4D, None, reason=OTHER_DEVICE),
            make.unit_cost(make.GPT, "tokens", make.TPU_V4, None, reason=OTHER_DEVICE),
            make.unit_cost(make.RESNET, "images", make.P5, "0.479"),
            make.unit_cost(make.TRANSFORMER, "tokens", make.P5, "0.002391"),
            make.unit_cost(make.ATTENTION, "sequences", make.P5, "1.6646"),
        ),
        work=(work_rate(make, peak=989.4e12),),
        pairs_needed=(
            PairsNeeded(workload=make.GPT, metric="step_time_p50", change=0.01, pairs=11),
            PairsNeeded(workload=make.GPT, metric="sm_active", change=0.01, pairs=6),
            PairsNeeded(workload=make.RESNET, metric="step_time_p50", change=0.01, pairs=6),
        ),
        steps=(
            report.ProcessSteps(workload=make.GPT, fewest=10, most=20, best=14),
            report.ProcessSteps(workload=make.RESNET, fewest=20, most=20, best=30),
            report.ProcessSteps(workload=make.TRANSFORMER, fewest=20, most=20, best=None),
        ),
        work_counts=counts(make),
        conclusion=Conclusion.FAILURE,
        exit_code=ExitCode.REGRESSION,
        title="Performance regressed",
        notes=("the margin of 1% was taken from the base's configuration",),
    )


def quiet(make):
    steps = {
        make.GPT: 0.01229,
        make.RESNET: 0.00841,
        make.TRANSFORMER: 0.00512,
        make.ATTENTION: 0.000871,
    }
    return replace(
        basis(make),
        verdicts=tuple(one for name, step in steps.items() for one in make.unchanged(name, step)),
        unit_costs=(make.unit_cost(make.GPT, "tokens", make.P5, "0.002867"),),
    )


def not_measured(make):
    failed = make.verdict(
        make.GPT,
        STEP_TIME,
        Outcome.NOT_MEASURED,
        None,
        reason="raised on head: RuntimeError: mat1 and mat2 shapes cannot be multiplied",
    )
    return replace(
        basis(make),
        verdicts=(failed, *make.unchanged(make.TRANSFORMER, 0.00512)),
        workloads=(make.SPECS[0], make.SPECS[2]),
        failures=(
            Failure(
                workload=make.GPT,
                side=Side.HEAD,
                why=FailureReason.RAISED,
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
    )


def undecided(make):
    unsure = make.verdict(
        make.RESNET,
        STEP_TIME,
        Outcome.UNDECIDED,
        (0.00841, 0.00859),
        spread=0.031,
        pairs=20,
        reason="too noisy to tell after 20 pairs",
    )
    suspect = make.verdict(
        make.TRANSFORMER,
        PEAK_MEMORY,
        Outcome.UNDECIDED,
        (1.5e9, 1.53e9),
        spread=0.004,
        is_warning=True,
        reason="p = 0.031 by Benjamini-Hochberg, but 0.093 by Holm, after 6 pairs",
    )
    return replace(
        basis(make),
        verdicts=(unsure, suspect, *make.unchanged(make.TRANSFORMER, 0.00512)[:1]),
        workloads=(make.SPECS[1], make.SPECS[2]),
        new_workloads=(make.ATTENTION,),
        host_findings=(
            HostFinding(
                name="other programs",
                level=FindingLevel.BUSY,
                detail="they use 5.2 of 8 usable cores (cc1plus 3.9, ld.lld 1.1)",
                advice="stop the other programs, or pin to cores 6-7",
            ),
        ),
        skipped=((make.GPT, "the compiled code is the same on both sides"),),
        conclusion=Conclusion.ACTION_REQUIRED,
        exit_code=ExitCode.UNCERTAIN,
        title="Undecided",
    )


def on_cpu(make):
    why = "measured on a CPU, which is not on the price sheet"
    rented = (make.P5, make.P4D, make.TPU_V4)
    slower = make.verdict(
        make.GPT, STEP_TIME, Outcome.REGRESSED, (0.0391, 0.0487), spread=0.021, pairs=8
    )
    active = make.verdict(
        make.GPT, CPU_ACTIVE, Outcome.UNCHANGED, (0.93, 0.93), spread=0.008, pairs=8
    )
    declared = ChangePrice(
        workload=make.GPT,
        rate=make.P5,
        device_hours_per_year=(20_000.0, 20_000.0, 20_000.0),
        hours_source="demo: three training runs a month",
        usd=Decimal(33780),
        low=Decimal(30890),
        high=Decimal(36960),
        is_detectable=True,
        note="the change was measured on another device: on this one it may be larger or smaller",
    )
    return replace(
        basis(make),
        machine=make.CPU,
        interleaved_workloads=(make.GPT, make.TRANSFORMER),
        verdicts=(slower, active, *make.unchanged(make.TRANSFORMER, 0.0212)[:1]),
        workloads=(make.SPECS[0], make.SPECS[2]),
        explanations=(
            replace(
                explanation(make),
                causes=(),
                is_attributable=False,
                note="the profiles differ too much",
            ),
        ),
        change_prices=(declared,),
        unit_costs=(
            make.unit_cost(make.GPT, "tokens", make.P5, "0.00466", provenance=Provenance.DECLARED),
            *(make.unit_cost(make.GPT, "tokens", rate, None, reason=why) for rate in rented[1:]),
            *(
                make.unit_cost(make.TRANSFORMER, "tokens", rate, None, reason=why)
                for rate in rented
            ),
        ),
        work=(work_rate(make, peak=None),),
        conclusion=Conclusion.FAILURE,
        exit_code=ExitCode.REGRESSION,
        title="Performance regressed",
        is_local=True,
    )


REPORTS = {
    "regressed": regressed,
    "unchanged": quiet,
    "not_measured": not_measured,
    "undecided": undecided,
    "cpu_only": on_cpu,
    "improved": improved,
    "more_memory": more_memory,
    "forty_workloads": forty_workloads,
    "first_check": first_check,
    "noisy": noisy,
    "no_price": no_price,
}
