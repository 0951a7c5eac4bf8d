"""Example reports without an explanation or a price."""

from dataclasses import replace

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Failure, FailureReason, FindingLevel, HostFinding, Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_cost_models.quote import ChangePrice
from perfledger_service.values.report import Conclusion, ExitCode
from tests.service.rendering.example_basis import basis


def improved(make):
    faster = make.verdict(make.RESNET, STEP_TIME, Outcome.IMPROVED, (0.00841, 0.00802))
    return replace(
        basis(make),
        verdicts=(faster, *make.unchanged(make.TRANSFORMER, 0.00512)),
        workloads=(make.SPECS[1], make.SPECS[2]),
        title="Performance improved",
    )


def more_memory(make):
    verdict = make.verdict(make.GPT, PEAK_MEMORY, Outcome.REGRESSED, (1.52e9, 1.93e9), spread=0.002)
    return replace(
        basis(make),
        verdicts=(*make.unchanged(make.GPT, 0.0123)[:1], verdict),
        workloads=make.SPECS[:1],
        conclusion=Conclusion.FAILURE,
        exit_code=ExitCode.REGRESSION,
        title="Peak memory regressed",
    )


def forty_workloads(make):
    """Five regress, two improve, one is undecided, one fails, and the rest is unchanged."""
    names = [
        f"benchmarks.suite{number // 8}:case[size={2 ** (number % 8)}]" for number in range(40)
    ]
    changes = dict(zip(names, (0.31, 0.12, 0.08, 0.05, 0.043, -0.09, -0.02), strict=False))
    moved_verdicts = tuple(
        make.verdict(
            name,
            STEP_TIME,
            Outcome.REGRESSED if change > 0 else Outcome.IMPROVED,
            (0.02, 0.02 * (1 + change)),
        )
        for name, change in changes.items()
    )
    unsure = make.verdict(
        names[7],
        STEP_TIME,
        Outcome.UNDECIDED,
        (0.02, 0.0206),
        spread=0.08,
        reason="too noisy to tell after 6 pairs",
    )
    lost = make.verdict(names[8], STEP_TIME, Outcome.NOT_MEASURED, None, reason="hung on head")
    failure = Failure(
        workload=names[8],
        side=Side.HEAD,
        why=FailureReason.HUNG,
        detail="no step ended within 60 s",
        pair=0,
    )
    quiet = tuple(one for name in names[9:] for one in make.unchanged(name, 0.02)[:1])
    return replace(
        basis(make),
        verdicts=(*moved_verdicts, unsure, lost, *quiet),
        workloads=tuple(replace(make.SPECS[0], id=name) for name in names),
        failures=(failure,),
        conclusion=Conclusion.FAILURE,
        exit_code=ExitCode.REGRESSION,
        title="Performance regressed",
    )


def noisy(make):
    """A step time that no number of pairs would settle, beside one that CPU time settled."""
    unsure = make.verdict(
        make.RESNET,
        STEP_TIME,
        Outcome.UNDECIDED,
        (0.0291, 0.0296),
        spread=0.41,
        pairs=8,
        reason="too noisy to tell after 8 pairs",
    )
    settled_verdict = make.verdict(
        make.TRANSFORMER,
        STEP_TIME,
        Outcome.UNCHANGED,
        (0.0251, 0.0253),
        pairs=8,
        reason="unchanged by CPU time: wall time was too noisy under load (steps waited 12 % of it "
        "for a core; the rest of it and CPU time are within ±5 % after 8 pairs)",
    )
    estimate = replace(settled_verdict.estimate, narrow_low=-0.021, narrow_high=0.041)
    settled_verdict = replace(settled_verdict, estimate=estimate, queued_share=0.12)
    return replace(
        basis(make),
        machine=make.CPU,
        verdicts=(unsure, settled_verdict),
        workloads=(make.SPECS[1], make.SPECS[2]),
        host_findings=(
            HostFinding(
                name="governor",
                level=FindingLevel.NOISY,
                detail="powersave",
                advice="sudo cpupower frequency-set -g performance",
            ),
        ),
        held_s=240.0,
        conclusion=Conclusion.ACTION_REQUIRED,
        exit_code=ExitCode.UNCERTAIN,
        title="Undecided",
    )


def no_price(make):
    """A slower step on a device that the price sheet lacks."""
    slower = make.verdict(
        make.RESNET, STEP_TIME, Outcome.REGRESSED, (0.00841, 0.00904), spread=0.006
    )
    unpriced = ChangePrice(
        workload=make.RESNET,
        rate=None,
        device_hours_per_year=(4000.0, 4000.0, 4000.0),
        hours_source="declared in the configuration",
        usd=None,
        low=None,
        high=None,
        is_detectable=True,
        note="no price for 'NVIDIA L40S' on sheet 'list-2026-01': add it there",
    )
    return replace(
        basis(make),
        verdicts=(slower, *make.unchanged(make.TRANSFORMER, 0.00512)[:1]),
        workloads=(make.SPECS[1], make.SPECS[2]),
        change_prices=(unpriced,),
        conclusion=Conclusion.FAILURE,
        exit_code=ExitCode.REGRESSION,
        title="Performance regressed",
    )


def first_check(make):
    return replace(
        basis(make),
        workloads=make.SPECS[:2],
        new_workloads=(make.GPT, make.RESNET),
        conclusion=Conclusion.NEUTRAL,
        title="Nothing to compare yet: 2 new workloads",
    )
