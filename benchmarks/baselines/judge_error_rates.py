"""Measures how often the judge is wrong on made-up pairs whose truth is known.

python benchmarks/baselines/judge_error_rates.py [--checks 1000] [--families 100] [--only NOISE]
                                                 [--seed N] [--history]

Prints a Markdown table. Each check takes the product's own path: GroupSequentialStopping asks for
pairs until all tests are decided, then judgement_of judges the bundle. Every process has five
samples; the two of a pair follow each other in random order. With each change a fifth as many
checks are made as without one. With --history a check uses the spreads of the checks before it, as
with a service; every fifty checks a new history starts, with ten checks that do not count.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from simulated_checks import Draws, History, Pairs, measured_check, pairs_of, plan_of

from perfledger.metrics import SM_ACTIVE, STEP_TIME, Metric
from perfledger.rounding import decimals, integer
from perfledger_baselines.judging.judge import judgement_of
from perfledger_baselines.judging.verdict import Outcome, Verdict

MAX_PAIRS = 20
SAMPLES = 5
FAMILY = 12
CHANGES = (0.02, 0.05, 0.10)
FIRST_CHECKS, CHECKS_A_HISTORY = 10, 50


@dataclass(frozen=True)
class Noise:
    """What a made-up machine does: logs of shape (2 * pairs, samples), in the order of time."""

    name: str
    draw: Callable[[np.random.Generator], Draws]
    metric: Metric = STEP_TIME
    level: float = 0.01
    resolution: float = 0.0


@dataclass
class Tally:
    """What came of some checks of one test each."""

    checks: int = 0
    right: int = 0
    wrong: int = 0
    unchanged: int = 0
    covered_count: int = 0
    pairs: list[int] = field(default_factory=list)

    def add(self, verdict: Verdict, change: float) -> None:
        estimate = verdict.estimate
        assert estimate is not None
        worse = change if verdict.metric is STEP_TIME else -change
        expected = Outcome.REGRESSED if worse > 0 else Outcome.IMPROVED
        is_red = verdict.outcome in {Outcome.REGRESSED, Outcome.IMPROVED}
        self.checks += 1
        self.right += change != 0 and verdict.outcome is expected
        self.wrong += is_red and (change == 0 or verdict.outcome is not expected)
        self.unchanged += verdict.outcome is Outcome.UNCHANGED
        self.covered_count += estimate.low <= change <= estimate.high
        self.pairs.append(estimate.pairs)


def offsets(rng: np.random.Generator, per_process: Draws, within: float = 0.005) -> Draws:
    """Give every process its own level; its samples scatter around it."""
    return per_process[:, None] + within * rng.standard_normal((2 * MAX_PAIRS, SAMPLES))


def gaussian(rng: np.random.Generator) -> Draws:
    return offsets(rng, 0.01 * rng.standard_normal(2 * MAX_PAIRS))


def heavy_tails(rng: np.random.Generator) -> Draws:
    return offsets(rng, 0.01 * rng.standard_t(3, 2 * MAX_PAIRS))


def two_states(rng: np.random.Generator) -> Draws:
    return offsets(rng, np.where(rng.random(2 * MAX_PAIRS) < 0.4, 0.02, 0.0))


def skewed(rng: np.random.Generator) -> Draws:
    spikes = rng.exponential(0.04, (2 * MAX_PAIRS, SAMPLES))
    is_spike = rng.random((2 * MAX_PAIRS, SAMPLES)) < 0.1
    return offsets(rng, rng.exponential(0.01, 2 * MAX_PAIRS)) + spikes * is_spike


def drift(rng: np.random.Generator) -> Draws:
    ramp = np.linspace(0.0, 0.1, 2 * MAX_PAIRS) * rng.choice((-1.0, 1.0))
    return offsets(rng, ramp + 0.003 * rng.standard_normal(2 * MAX_PAIRS))


def correlated(rng: np.random.Generator) -> Draws:
    steps = rng.standard_normal(2 * MAX_PAIRS)
    level = np.empty(2 * MAX_PAIRS)
    level[0] = steps[0]
    for k in range(1, 2 * MAX_PAIRS):
        level[k] = 0.9 * level[k - 1] + np.sqrt(1 - 0.9**2) * steps[k]
    return offsets(rng, 0.02 * level)


NOISES = (
    Noise("Gaussian, 1 % between processes", gaussian),
    Noise("t(3), scale 1 % between processes", heavy_tails),
    Noise("two states 2 % apart, per process", two_states),
    Noise("skewed, with 10 % spikes", skewed),
    Noise("drift of 10 % over the check", drift),
    Noise("AR(1) .9 in time, 2 %", correlated),
    Noise("share of .55 read to .01, 1 %", gaussian, metric=SM_ACTIVE, level=0.55, resolution=0.01),
)


def make_pairs(noise: Noise, change: float, workload: str, rng: np.random.Generator) -> Pairs:
    """Draw all pairs that a check of one workload could ever ask for."""
    values = noise.level * np.exp(noise.draw(rng).reshape(MAX_PAIRS, 2, SAMPLES))
    head_position = rng.integers(0, 2, MAX_PAIRS)
    values[np.arange(MAX_PAIRS), head_position] *= 1 + change
    if noise.resolution:
        values = np.round(values / noise.resolution) * noise.resolution
    return pairs_of(values, metric=noise.metric, workload=workload, head_position=head_position)


def check(
    noise: Noise, change: float, rng: np.random.Generator, history: History, *, tests: int = 1
) -> tuple[Verdict, ...]:
    """Measure until the rule is satisfied, judge, and remember."""
    names = [f"made_up:w{k}" for k in range(tests)]
    priors = history.priors(noise.metric)
    plan = plan_of(MAX_PAIRS, has_history=len(priors) == tests)
    pairs_by_name = {name: make_pairs(noise, change, name, rng) for name in names}
    bundle = measured_check(pairs_by_name, plan=plan, metric=noise.metric, priors=priors)
    judgement = judgement_of(bundle, priors=priors)
    history.keep(judgement.tests, bundle.machines())
    return tuple(verdict for verdict in judgement.verdicts if verdict.metric is noise.metric)


def check_often(
    noise: Noise, change: float, seed: Sequence[int], *, times: int, is_kept: bool, tests: int = 1
) -> Iterator[tuple[Verdict, ...]]:
    """Yield the verdicts of so many checks, each with the history that it has by then."""
    rng = np.random.default_rng([*seed, FAMILY if tests > 1 else int(1000 * change)])
    history = History(is_kept)
    for number in range(times):
        if is_kept and number % CHECKS_A_HISTORY == 0:
            history = History(is_kept)
            for _ in range(FIRST_CHECKS):
                check(noise, 0.0, rng, history, tests=tests)
        yield check(noise, change, rng, history, tests=tests)


def row(noise: Noise, *, checks: int, families: int, seed: Sequence[int], is_kept: bool) -> str:
    """Return one line of the table."""
    tallies = {}
    for change in (0.0, *CHANGES):
        tally = tallies[change] = Tally()
        times = checks if change == 0 else checks // 5
        for (verdict,) in check_often(noise, change, seed, times=times, is_kept=is_kept):
            tally.add(verdict, change)
    marked = sum(
        any(v.outcome in {Outcome.REGRESSED, Outcome.IMPROVED} for v in verdicts)
        for verdicts in check_often(noise, 0.0, seed, times=families, is_kept=is_kept, tests=FAMILY)
    )
    total = sum(tally.checks for tally in tallies.values())
    covered_total = sum(tally.covered_count for tally in tallies.values())
    cells = [
        noise.name,
        share(tallies[0.0].wrong, checks),
        share(marked, families),
        " / ".join(share(tallies[change].right, tallies[change].checks) for change in CHANGES),
        share(tallies[0.0].unchanged, checks),
        share(tallies[CHANGES[0]].unchanged, tallies[CHANGES[0]].checks),
        share(covered_total, total),
        " / ".join(decimals(float(np.mean(tally.pairs)), 1) for tally in tallies.values()),
    ]
    return "| " + " | ".join(cells) + " |"


def share(count: int, total: int) -> str:
    return decimals(count / total, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=1000)
    parser.add_argument("--families", type=int, default=100)
    parser.add_argument("--only", default="", help="a part of the noise's name")
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--history", action="store_true", help="use the spreads of earlier checks")
    arguments = parser.parse_args()
    started = time.perf_counter()
    print(
        "| noise | changed: false | ... in a family of 12 | found at 2 / 5 / 10 % "
        "| unchanged at 0 | unchanged at 2 % | interval covers | pairs at 0 / 2 / 5 / 10 % |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for number, noise in enumerate(NOISES):
        if arguments.only in noise.name:
            seed = [arguments.seed, number]
            line = row(
                noise,
                checks=arguments.checks,
                families=arguments.families,
                seed=seed,
                is_kept=arguments.history,
            )
            print(line, flush=True)
    print(
        f"\n{arguments.checks} checks without a change, {arguments.checks // 5} with each change, "
        f"{arguments.families} families of {FAMILY} a row; seed {arguments.seed}; "
        f"{integer(time.perf_counter() - started)} s"
    )


if __name__ == "__main__":
    main()
