"""Compares the judge with the tests that people use, on made-up pairs of processes.

python benchmarks/judge_peers.py [--checks 400] [--seed N]

Seven kinds of noise, 1, 2, 4 and 8 pairs of five samples a process, no change and changes of 1, 2
and 5 %. Every method gets the same samples; ours also the series' history, thirty earlier runs.
"False" of a method far above 5 % makes its "found" worthless: it finds what is not there, too.
Then the same noises measured until the answer is known, against always twenty pairs.
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from perfledger_baselines.estimation.estimators import hodges_lehmann
from perfledger_baselines.significance.interim_looks import looks_until, planned_looks
from perfledger_baselines.significance.paired_t_tests import t_tests
from perfledger_baselines.significance.spread_prior import SpreadPrior, prior_from_runs

ALPHA, FLOOR, MARGIN = 0.05, math.log1p(0.003), math.log1p(0.01)
SAMPLES, MOST_PAIRS, HISTORY = 5, 40, 30
PAIRS = (1, 2, 4, 8)
CHANGES = (0.0, 0.01, 0.02, 0.05)

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """Logs of (pairs, 2, samples), base first, without any change, and what history knows."""

    logs: Values
    prior: SpreadPrior


@dataclass(frozen=True)
class Answer:
    """What a method says: is there a change, which way, and in which interval, on the log scale."""

    is_change: bool
    mean: float
    half_width: float = math.nan


Noise = Callable[[np.random.Generator, int], Values]
Method = Callable[[Values, SpreadPrior], Answer]


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


def draw(noise: Noise, pairs: int, rng: np.random.Generator) -> Drawn:
    """Draw a session of pairs, and thirty runs of earlier sessions.

    Of two pairs each side goes first in one, as the runner has it; which one is drawn.
    """
    logs = noise(rng, 2 * pairs).reshape(pairs, 2, SAMPLES)
    swapped = np.repeat(rng.random((pairs + 1) // 2) < 0.5, 2)[:pairs]
    swapped[1::2] = ~swapped[1::2]
    logs[swapped] = logs[swapped][:, ::-1]
    earlier = np.array([noise(rng, 2 * pairs)[-1] for _ in range(HISTORY)])
    return Drawn(logs, prior_from_runs(np.exp(hodges_lehmann(earlier)).tolist()))


def located(logs: Values) -> Values:
    """Return the pairs' differences of the processes' locations."""
    locations = hodges_lehmann(logs.reshape(-1, SAMPLES)).reshape(-1, 2)
    return locations[:, 1] - locations[:, 0]


def ours(logs: Values, prior: SpreadPrior) -> Answer:
    rows = located(logs)[np.newaxis, :]
    (found,) = t_tests(rows, looks=looks_until((), rows.shape[1]), alpha=ALPHA, priors=[prior])
    is_change = found.p_value < ALPHA and abs(found.mean) >= FLOOR
    return Answer(is_change, found.mean, found.half_width)


def ours_without_history(logs: Values, prior: SpreadPrior) -> Answer:
    del prior
    rows = located(logs)[np.newaxis, :]
    (found,) = t_tests(rows, looks=looks_until((), rows.shape[1]), alpha=ALPHA)
    is_change = found.p_value < ALPHA and abs(found.mean) >= FLOOR
    return Answer(is_change, found.mean, found.half_width)


def sides(logs: Values) -> tuple[Values, Values]:
    return logs[:, 0].ravel(), logs[:, 1].ravel()


def welch(logs: Values, prior: SpreadPrior) -> Answer:
    del prior
    base, head = sides(logs)
    found = stats.ttest_ind(head, base, equal_var=False)
    interval = found.confidence_interval(1 - ALPHA)
    mean = float(head.mean() - base.mean())
    return Answer(bool(found.pvalue < ALPHA), mean, float(interval.high - interval.low) / 2)


def mann_whitney(logs: Values, prior: SpreadPrior) -> Answer:
    del prior
    base, head = sides(logs)
    p_value = stats.mannwhitneyu(head, base).pvalue
    return Answer(bool(p_value < ALPHA), float(np.median(head) - np.median(base)))


def bootstrap(logs: Values, prior: SpreadPrior) -> Answer:
    del prior
    rng = np.random.default_rng(12345)
    base, head = sides(logs)
    after, before = (
        np.median(side[rng.integers(0, len(side), (400, len(side)))], axis=1)
        for side in (head, base)
    )
    low, high = np.quantile(after - before, [ALPHA / 2, 1 - ALPHA / 2])
    middle = float(np.median(head) - np.median(base))
    return Answer(bool(low > 0 or high < 0), middle, float(high - low) / 2)


METHODS: dict[str, Method] = {
    "perfledger": ours,
    "perfledger without history": ours_without_history,
    "Welch's t on all samples (pyperf's habit)": welch,
    "Mann-Whitney on all samples (benchstat's)": mann_whitney,
    "bootstrap of medians": bootstrap,
}


def compared(name: str, *, checks: int, seed: int) -> str:
    """Return a method's line of the table."""
    false: list[float] = []
    found: dict[float, list[float]] = {change: [] for change in CHANGES[1:]}
    covered: list[bool] = []
    spent = calls = 0.0
    for number, noise in enumerate(NOISES):
        for pairs in PAIRS:
            rng = np.random.default_rng([seed, number, pairs])
            drawn = [draw(noise, pairs, rng) for _ in range(checks)]
            for change in CHANGES:
                began = time.perf_counter()
                answers = [METHODS[name](shifted(each.logs, change), each.prior) for each in drawn]
                spent, calls = spent + time.perf_counter() - began, calls + len(answers)
                if change:
                    right = [each.is_change and each.mean > 0 for each in answers]
                    found[change].append(float(np.mean(right)))
                else:
                    false.append(float(np.mean([each.is_change for each in answers])))
                    known = [each for each in answers if math.isfinite(each.half_width)]
                    covered += [abs(each.mean) <= each.half_width for each in known]
    shares = " / ".join(f"{np.mean(found[change]):.2f}" for change in CHANGES[1:])
    interval = f"{np.mean(covered):.3f}" if covered else "-"
    cells = (name, f"{np.mean(false):.3f} / {max(false):.2f}", shares, interval)
    return "| " + " | ".join(cells) + f" | {1e6 * spent / calls:.0f} |"


def shifted(logs: Values, change: float) -> Values:
    moved = logs.copy()
    moved[:, 1] += math.log1p(change)
    return moved


def until_known(drawn: Drawn, change: float) -> tuple[Answer, int]:
    """Measure pair by pair until it is decided, and return the answer with the pairs it took."""
    differences = located(shifted(drawn.logs, change))[np.newaxis, :]
    planned = planned_looks(MOST_PAIRS, fewest=1)
    answer, pairs = Answer(is_change=False, mean=0.0), 0
    for pairs in planned:
        (found,) = t_tests(
            differences[:, :pairs],
            looks=looks_until(planned, pairs),
            alpha=ALPHA,
            priors=[drawn.prior],
        )
        is_change = (
            found.p_value < ALPHA
            and abs(found.mean) > found.half_width
            and abs(found.mean) >= FLOOR
        )
        answer = Answer(is_change, found.mean, found.half_width)
        if is_change or abs(found.mean) + found.narrow_half_width <= MARGIN:
            break
    return answer, pairs


def sequential(*, checks: int, seed: int) -> Sequence[str]:
    """Return a line for each change: how often it is found, and after how many pairs."""
    lines: list[str] = []
    for change in CHANGES:
        shares: list[float] = []
        pairs: list[int] = []
        for number, noise in enumerate(NOISES):
            rng = np.random.default_rng([seed, number, MOST_PAIRS])
            for _ in range(checks // 4):
                answer, used = until_known(draw(noise, MOST_PAIRS, rng), change)
                shares.append(answer.is_change and (change == 0 or answer.mean > 0))
                pairs.append(used)
        what = "false" if change == 0 else "found"
        lines.append(f"| {change:.0%} | {np.mean(shares):.3f} {what} | {np.mean(pairs):.1f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=400)
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    print("| method | false: mean / worst | found at 1 / 2 / 5 % | interval covers | us a call |")
    print("|---|---|---|---|---|")
    for name in METHODS:
        print(compared(name, checks=arguments.checks, seed=arguments.seed), flush=True)
    print(f"\n| change | at most {MOST_PAIRS} pairs | pairs on average |\n|---|---|---|")
    for line in sequential(checks=arguments.checks, seed=arguments.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
