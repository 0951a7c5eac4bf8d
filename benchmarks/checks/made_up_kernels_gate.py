"""How often the gate of kernels accuses what did not change, on made-up windows.

python benchmarks/checks/made_up_kernels_gate.py [--checks 300] [--seed 1] [--at-once]
    [--scenario NAME]

Each check has other families, of lognormal shares of the step, 12 pairs, and noise of each family
(0.4 to 1.2 % of a process), of calls, and of each process, which lengthens all of its kernels
alike: 1, 3 or 10 %. In turn nothing changes, one family of 2 to 5 % of the step becomes 5 % slower,
all but some families become 2 to 8 % faster or slower, or one family becomes slower by 1.2 to 2
times the margin, in steps that wait for a core as long again between their kernels, twice as long
or not at all, or beside other programs that lengthen the time between them on a GPU. Windows are
judged where `GroupSequentialStopping` needs no more, or with --at-once in all pairs. A false
finding is a family that is said to have become slower or faster and did not, and a false outcome is
regressed where nothing became slower, improved where nothing became faster, or unchanged where one
became slower by more than the margin. Every figure is what `judgement_of` says.
"""

import argparse
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from settled_kernels import settled_bundle, with_interval

from perfledger.bundle import Bundle, Plan
from perfledger.kernel_times import KernelTimes, WorkloadKernels
from perfledger.metrics import KERNELS, STEP_TIME
from perfledger.records import CoreTimes, Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger.rounding import decimals, integer
from perfledger_baselines.judging.judge import judgement_of
from perfledger_baselines.judging.kernel_judgement import KernelJudgement
from perfledger_baselines.judging.verdict import Outcome

PAIRS, STEPS = 12, 9
STEP_S = 0.03
WORKLOAD = "made_up:step"
TARGET = (0.02, 0.05)  # of the step: the family whose change is to be found
LARGE = (0.15, 0.3)  # of the step: the family that changes by more than the margin
MARGIN = 0.01
Factors = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What changes on head: of all families this share by count, by a factor from these."""

    name: str
    changed: tuple[float, float] = (0.0, 0.0)
    factors: tuple[float, float] = (1.0, 1.0)
    is_one: bool = False  # one family of TARGET
    # One family of LARGE instead, which adds so many margins.
    margins: tuple[float, float] = (0.0, 0.0)
    wait: float = 0.0  # between the kernels of every step, relative to the step
    device: Device = Device.CPU  # what steps wait for


SCENARIOS = (
    Scenario("nothing changes"),
    Scenario("one family 5 % slower", factors=(1.05, 1.05), is_one=True),
    Scenario("most become faster", changed=(0.6, 0.95), factors=(0.92, 0.98)),
    Scenario("most become slower", changed=(0.6, 0.95), factors=(1.02, 1.08)),
    Scenario("a third becomes faster", changed=(0.25, 0.4), factors=(0.92, 0.98)),
    Scenario("nothing changes, waits as long", wait=1.0),
    Scenario("one adds more than the margin", margins=(1.2, 2.0)),
    Scenario("... steps wait as long again", margins=(1.2, 2.0), wait=1.0),
    Scenario("... steps wait twice as long", margins=(1.2, 2.0), wait=2.0),
    Scenario("... for a GPU, as long again", margins=(1.2, 2.0), wait=1.0, device=Device.CUDA),
    Scenario("nothing changes, on a GPU", device=Device.CUDA),
)


def shares_of(scenario: Scenario, draw: np.random.Generator) -> dict[str, float]:
    """Return shares of the step of 8 to 24 families, one of them of TARGET or of LARGE."""
    sizes = np.exp(draw.normal(0, 1.3, draw.integers(8, 25)))
    sizes *= draw.uniform(0.6, 0.95) / sizes.sum()
    sizes[0] = draw.uniform(*(LARGE if any(scenario.margins) else TARGET))
    return {f"aten::op{number}": float(size) for number, size in enumerate(sizes)}


def factors_of(
    scenario: Scenario, shares: Mapping[str, float], draw: np.random.Generator
) -> Factors:
    """Return by what each family's time is multiplied on head."""
    names = list(shares)
    if any(scenario.margins):
        return {names[0]: 1 + MARGIN * draw.uniform(*scenario.margins) / shares[names[0]]}
    factor = draw.uniform(*scenario.factors)
    if scenario.is_one:
        return {names[0]: factor}
    count = round(draw.uniform(*scenario.changed) * len(names))
    return dict.fromkeys(draw.permutation(names)[:count].tolist(), factor)


def windows_of(
    scenario: Scenario,
    shares: Mapping[str, float],
    factors: Factors,
    noise: float,
    draw: np.random.Generator,
) -> WorkloadKernels:
    """Return profiled windows; `noise` is the standard deviation that all kernels share."""
    process = {side: np.exp(noise * draw.standard_normal(PAIRS)) for side in Side}
    kernels = []
    for name, share in shares.items():
        spread = draw.uniform(0.004, 0.012)
        times: dict[Side, NDArray[np.float64]] = {}
        for side in Side:
            factor = factors.get(name, 1.0) if side is Side.HEAD else 1.0
            level = STEP_S * share * factor * process[side]
            level *= np.exp(spread * draw.standard_normal(PAIRS))
            calls = 1 + np.abs(0.05 * draw.standard_t(3, (PAIRS, STEPS)))
            times[side] = level[:, np.newaxis] * calls / calls.min(axis=1, keepdims=True)
        kernels.append(
            KernelTimes(
                family=name,
                name=name,
                base_count=4.0,
                head_count=4.0,
                base=rows(times[Side.BASE]),
                head=rows(times[Side.HEAD]),
                base_undisturbed=tuple(times[Side.BASE].min(axis=1).tolist()),
                head_undisturbed=tuple(times[Side.HEAD].min(axis=1).tolist()),
            )
        )
    steps = {
        side: STEP_S
        * process[side][:, np.newaxis]
        * (1 + scenario.wait + draw.exponential(0.02, (PAIRS, STEPS)))
        for side in Side
    }
    return WorkloadKernels(
        workload=WORKLOAD,
        pairs=tuple(range(PAIRS)),
        base_steps=rows(steps[Side.BASE]),
        head_steps=rows(steps[Side.HEAD]),
        kernels=tuple(kernels),
    )


def rows(values: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, values.tolist()))


def bundle_of(scenario: Scenario, draw: np.random.Generator) -> Bundle:
    """Return a check of an unchanged step that was asked for kernels."""
    step_s = (1 + scenario.wait) * STEP_S
    queued_s = step_s - STEP_S if scenario.device is Device.CPU else 0.0
    runs = tuple(
        Run(
            workload=WORKLOAD,
            side=side,
            pair=pair,
            position=position,
            process=2 * pair + position,
            started_at="",
            samples={STEP_TIME.name: tuple(step_s * np.exp(0.005 * draw.standard_normal(20)))},
            core_times=CoreTimes(elapsed_s=(step_s,), queued_s=(queued_s,), helpers_s=(0.0,)),
        )
        for pair in range(PAIRS)
        for position, side in enumerate(Side)
    )
    return Bundle(
        id="0" * 32,
        created_at="",
        base=Revision(sha="a" * 40),
        head=Revision(sha="b" * 40),
        machine=Machine(device=scenario.device, model="made up"),
        plan=Plan(
            seed=0,
            order=(),
            margin=MARGIN,
            looks=(*range(5, 11), PAIRS),
            kernel_pairs=PAIRS,
            kernel_share=0.2,
        ),
        workloads=(WorkloadSpec(id=WORKLOAD, module="made_up", function="step"),),
        metrics=(STEP_TIME, KERNELS),
        runs=runs,
    )


def is_false_finding(judgement: KernelJudgement, factors: Factors) -> bool:
    """Return whether a family is said to have changed that did not, or changed the other way."""
    for one in judgement.findings:
        factor = factors.get(one.family, 1.0)
        is_claimed = one.is_proven and not one.is_moved
        is_more = one.step_share > 0
        if is_claimed and (factor <= 1 if is_more else factor >= 1):
            return True
    return False


def is_false_outcome(scenario: Scenario, judgement: KernelJudgement, factors: Factors) -> bool:
    match judgement.outcome:
        case Outcome.REGRESSED:
            return all(factor <= 1 for factor in factors.values())
        case Outcome.IMPROVED:
            return all(factor >= 1 for factor in factors.values())
        case Outcome.UNCHANGED:
            return any(scenario.margins)
        case _:
            return False


def print_row(
    scenario: Scenario,
    noise: float,
    *,
    checks: int,
    is_at_once: bool,
    draw: np.random.Generator,
) -> Counter[str]:
    """Print what is said of some checks, and return how often it is false."""
    counts: Counter[str] = Counter()
    outcomes: Counter[Outcome] = Counter()
    has_one = scenario.is_one or any(scenario.margins)
    for _ in range(checks):
        shares = shares_of(scenario, draw)
        factors = factors_of(scenario, shares, draw)
        bundle = bundle_of(scenario, draw)
        windows = windows_of(scenario, shares, factors, noise, draw)
        bundle = replace(bundle, kernels=(windows,))
        (judgement,) = judgement_of(bundle if is_at_once else settled_bundle(bundle)).kernels
        counts["pairs"] += judgement.pairs
        outcomes[judgement.outcome] += 1
        counts["finding"] += is_false_finding(judgement, factors)
        counts["outcome"] += is_false_outcome(scenario, judgement, factors)
        counts["found"] += has_one and any(
            one.is_alarm and factors.get(one.family, 1) > 1 for one in judgement.findings
        )
    outcome_shares = ", ".join(
        f"{outcome} {decimals(count / checks, 2)}" for outcome, count in outcomes.items()
    )
    found_share = decimals(counts["found"] / checks, 2) if has_one else ""
    false = " | ".join(decimals(counts[name] / checks, 3) for name in ("outcome", "finding"))
    pairs = decimals(counts["pairs"] / checks, 1)
    print(
        f"| {scenario.name} | {integer(100 * noise)} % | {false} | {found_share} | {pairs} | "
        f"{outcome_shares} |",
        flush=True,
    )
    return counts


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checks", type=int, default=300, help="of each row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", action="store_true", help="judge all pairs, at the last look")
    parser.add_argument(
        "--scenario", action="append", help="only those whose name contains this; repeatable"
    )
    options = parser.parse_args()
    columns = ("false outcome", "false finding", "found", "pairs", "outcomes")
    print(f"| what changes | noise in common | {' | '.join(columns)} |")
    print(f"|{'---|' * 7}")
    counts: Counter[str] = Counter()
    for number, scenario in enumerate(SCENARIOS):
        if options.scenario and not any(part in scenario.name for part in options.scenario):
            continue
        for noise in (0.01, 0.03, 0.1):
            draw = np.random.default_rng([options.seed, number, round(1000 * noise)])
            counts += print_row(
                scenario, noise, checks=options.checks, is_at_once=options.at_once, draw=draw
            )
            counts["checks"] += options.checks
    for kind in ("outcome", "finding"):
        print(f"false {kind}: {with_interval(counts[kind], counts['checks'])}")


if __name__ == "__main__":
    main()
