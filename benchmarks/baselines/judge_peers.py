"""Compares a check with the tests that people use, on made-up pairs of processes.

python benchmarks/baselines/judge_peers.py [--checks 200] [--seed N]

Seven kinds of noise, at most 4, 8 and 16 pairs of five samples a process, no change and changes of
1, 2 and 5 %. Every method gets the same pairs. Ours measures as `perfledger check` does: its
stopping rule asks for pairs, at most so many, and the bundle is judged; with a history it has the
spreads that the service learns from six earlier checks of five pairs. The peers get all pairs.
"False" of a method far above 5 % makes its "found" worthless: it finds what is not there, too.
Then the same check with at most forty pairs.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from simulated_checks import History, Pairs, Priors, bundle_of, measured_check, pairs_of, plan_of

from perfledger.metrics import STEP_TIME
from perfledger.rounding import decimals, percentage
from perfledger_baselines.judging.judge import judge_bundle, judgement_of
from perfledger_baselines.judging.verdict import Outcome

ALPHA = 0.05
SAMPLES, MAX_PAIRS = 5, 40
EARLIER_CHECKS, EARLIER_PAIRS = 6, 5
PAIRS = (4, 8, 16)
CHANGES = (0.0, 0.01, 0.02, 0.05)
WORKLOAD = "made_up:step"

Values = NDArray[np.float64]


@dataclass(frozen=True)
class SampledPairs:
    """Logs of (pairs, 2, samples), base first, without any change, and what history knows."""

    logs: Values
    priors: Priors


@dataclass(frozen=True)
class Answer:
    """What a method says: is there a change, which way, and in which interval; all relative."""

    is_change: bool
    change: float
    low: float = math.nan
    high: float = math.nan
    pairs: int = 0


Noise = Callable[[np.random.Generator, int], Values]
Method = Callable[[SampledPairs, float], Answer]


def quiet(rng: np.random.Generator, runs: int) -> Values:
    return 0.003 * rng.standard_normal((runs, SAMPLES))


def noisy(rng: np.random.Generator, runs: int) -> Values:
    return 0.02 * rng.standard_normal((runs, SAMPLES))


def spikes(rng: np.random.Generator, runs: int) -> Values:
    jumps = rng.exponential(0.05, (runs, SAMPLES)) * (rng.random((runs, SAMPLES)) < 0.1)
    return 0.005 * rng.standard_normal((runs, SAMPLES)) + jumps


def processes(rng: np.random.Generator, runs: int) -> Values:
    return 0.01 * rng.standard_normal((runs, 1)) + quiet(rng, runs)


def states(rng: np.random.Generator, runs: int) -> Values:
    return 0.025 * (rng.random((runs, 1)) < 0.35) + quiet(rng, runs)


def weather(rng: np.random.Generator, runs: int) -> Values:
    steps = rng.standard_normal(runs)
    level = np.empty(runs)
    level[0] = steps[0]
    for run in range(1, runs):
        level[run] = 0.8 * level[run - 1] + 0.6 * steps[run]
    return 0.012 * level[:, np.newaxis] + quiet(rng, runs)


def ramp(rng: np.random.Generator, runs: int) -> Values:
    slope = np.linspace(0.0, 0.03, runs) * rng.choice((-1.0, 1.0))
    values: Values = slope[:, np.newaxis] + quiet(rng, runs)
    return values


NOISES: tuple[Noise, ...] = (quiet, noisy, spikes, processes, states, weather, ramp)


def draw(noise: Noise, pairs: int, rng: np.random.Generator) -> SampledPairs:
    """Draw the pairs of a check, and what the service learnt from earlier ones."""
    history = History()
    for _ in range(EARLIER_CHECKS):
        runs = runs_of(session(noise, EARLIER_PAIRS, rng), 0.0)
        plan = plan_of(EARLIER_PAIRS, has_history=False)
        bundle = bundle_of([WORKLOAD], [run for pair in runs for run in pair], STEP_TIME, plan)
        history.keep(judgement_of(bundle).tests, bundle.machines())
    return SampledPairs(session(noise, pairs, rng), history.priors(STEP_TIME))


def session(noise: Noise, pairs: int, rng: np.random.Generator) -> Values:
    """Draw pairs; of two each side goes first in one, as in the runner, and which one is drawn."""
    logs = noise(rng, 2 * pairs).reshape(pairs, 2, SAMPLES)
    swapped = np.repeat(rng.random((pairs + 1) // 2) < 0.5, 2)[:pairs]
    swapped[1::2] = ~swapped[1::2]
    logs[swapped] = logs[swapped][:, ::-1]
    return logs


def runs_of(logs: Values, change: float) -> Pairs:
    heads = np.ones(len(logs), dtype=np.int64)
    values = 0.01 * np.exp(shifted(logs, change))
    return pairs_of(values, metric=STEP_TIME, workload=WORKLOAD, head_position=heads)


def check(sampled_pairs: SampledPairs, change: float, priors: Priors, *, most: int) -> Answer:
    """Measure pairs until the stopping rule is satisfied, and judge their bundle."""
    plan = plan_of(most, has_history=bool(priors))
    pairs = {WORKLOAD: runs_of(sampled_pairs.logs[:most], change)}
    bundle = measured_check(pairs, plan=plan, metric=STEP_TIME, priors=priors)
    (verdict,) = judge_bundle(bundle, priors=priors)
    estimate = verdict.shown_estimate
    assert estimate is not None
    is_change = verdict.outcome in {Outcome.REGRESSED, Outcome.IMPROVED}
    return Answer(is_change, estimate.change, estimate.low, estimate.high, estimate.pairs)


def ours(sampled_pairs: SampledPairs, change: float) -> Answer:
    return check(sampled_pairs, change, sampled_pairs.priors, most=len(sampled_pairs.logs))


def ours_without_history(sampled_pairs: SampledPairs, change: float) -> Answer:
    return check(sampled_pairs, change, {}, most=len(sampled_pairs.logs))


def sides(sampled_pairs: SampledPairs, change: float) -> tuple[Values, Values]:
    logs = shifted(sampled_pairs.logs, change)
    return logs[:, 0].ravel(), logs[:, 1].ravel()


def answer(
    is_change: bool, mean: float, low: float, high: float, sampled_pairs: SampledPairs
) -> Answer:
    pairs = len(sampled_pairs.logs)
    return Answer(is_change, math.expm1(mean), math.expm1(low), math.expm1(high), pairs)


def welch(sampled_pairs: SampledPairs, change: float) -> Answer:
    base, head = sides(sampled_pairs, change)
    test = stats.ttest_ind(head, base, equal_var=False)
    interval = test.confidence_interval(1 - ALPHA)
    mean = float(head.mean() - base.mean())
    return answer(bool(test.pvalue < ALPHA), mean, interval.low, interval.high, sampled_pairs)


def mann_whitney(sampled_pairs: SampledPairs, change: float) -> Answer:
    base, head = sides(sampled_pairs, change)
    p_value = stats.mannwhitneyu(head, base).pvalue
    mean = float(np.median(head) - np.median(base))
    return answer(bool(p_value < ALPHA), mean, math.nan, math.nan, sampled_pairs)


def bootstrap(sampled_pairs: SampledPairs, change: float) -> Answer:
    rng = np.random.default_rng(12345)
    base, head = sides(sampled_pairs, change)
    after, before = (
        np.median(side[rng.integers(0, len(side), (400, len(side)))], axis=1)
        for side in (head, base)
    )
    low, high = np.quantile(after - before, [ALPHA / 2, 1 - ALPHA / 2])
    middle = float(np.median(head) - np.median(base))
    return answer(bool(low > 0 or high < 0), middle, float(low), float(high), sampled_pairs)


METHODS: dict[str, Method] = {
    "perfledger": ours,
    "perfledger without history": ours_without_history,
    "Welch's t on all samples (pyperf's habit)": welch,
    "Mann-Whitney on all samples (benchstat's)": mann_whitney,
    "bootstrap of medians": bootstrap,
}


def peer_line(name: str, *, checks: int, seed: int) -> str:
    """Return a method's line of the table."""
    false: list[float] = []
    shares: dict[float, list[float]] = {change: [] for change in CHANGES[1:]}
    is_covered: list[bool] = []
    pairs_of_change: dict[float, list[int]] = {change: [] for change in CHANGES}
    for number, noise in enumerate(NOISES):
        for pairs in PAIRS:
            rng = np.random.default_rng([seed, number, pairs])
            draws = [draw(noise, pairs, rng) for _ in range(checks)]
            for change in CHANGES:
                answers = [METHODS[name](each, change) for each in draws]
                pairs_of_change[change] += [each.pairs for each in answers]
                intervals = [each for each in answers if math.isfinite(each.high - each.low)]
                is_covered += [each.low <= change <= each.high for each in intervals]
                if change:
                    right = [each.is_change and each.change > 0 for each in answers]
                    shares[change].append(float(np.mean(right)))
                else:
                    false.append(float(np.mean([each.is_change for each in answers])))
    powers = " / ".join(decimals(float(np.mean(each)), 2) for each in shares.values())
    interval = decimals(float(np.mean(is_covered)), 3) if is_covered else "-"
    means = " / ".join(decimals(float(np.mean(each)), 1) for each in pairs_of_change.values())
    cells = (
        name,
        f"{decimals(float(np.mean(false)), 3)} / {decimals(max(false), 2)}",
        powers,
        interval,
        means,
    )
    return "| " + " | ".join(cells) + " |"


def shifted(logs: Values, change: float) -> Values:
    shifted_logs = logs.copy()
    shifted_logs[:, 1] += math.log1p(change)
    return shifted_logs


def sequential(*, checks: int, seed: int) -> Sequence[str]:
    """Return a line for each change: how often it is found, and after how many pairs."""
    lines: list[str] = []
    for change in CHANGES:
        answers: list[Answer] = []
        for number, noise in enumerate(NOISES):
            rng = np.random.default_rng([seed, number, MAX_PAIRS])
            answers += [
                ours(draw(noise, MAX_PAIRS, rng), change) for _ in range(max(1, checks // 2))
            ]
        hits = [each.is_change and (change == 0 or each.change > 0) for each in answers]
        share, pairs = float(np.mean(hits)), float(np.mean([each.pairs for each in answers]))
        what = "false" if change == 0 else "found"
        lines.append(
            f"| {percentage(change)} | {decimals(share, 3)} {what} | {decimals(pairs, 1)} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    print(
        "| method | false: mean / worst | found at 1 / 2 / 5 % | interval covers "
        "| pairs at 0 / 1 / 2 / 5 % |"
    )
    print("|---|---|---|---|---|")
    for name in METHODS:
        print(peer_line(name, checks=arguments.checks, seed=arguments.seed), flush=True)
    print(f"\n| change | at most {MAX_PAIRS} pairs | pairs on average |\n|---|---|---|")
    for line in sequential(checks=arguments.checks, seed=arguments.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
