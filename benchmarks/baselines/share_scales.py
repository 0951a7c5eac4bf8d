"""Measures how well each scale shows a change of made-up shares whose truth is known.

python benchmarks/baselines/share_scales.py [--checks 1000] [--seed N]

Shares of .3 to .995, read to 1 % and never above 1, by 1, 4 or 16 readings of the telemetry in each
process; 5, 10 and 20 pairs; three kinds of noise. Every scale gets the same readings and the same
paired test, without a history and without a floor. A change is a relative fall of the share.
"""

import argparse
import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from perfledger.metrics import MetricScale
from perfledger.rounding import decimals, integer, typed
from perfledger_baselines.estimation.estimators import location_estimates
from perfledger_baselines.estimation.log_odds import HALF_QUANTUM
from perfledger_baselines.significance.interim_looks import looks_until
from perfledger_baselines.significance.paired_t_tests import t_tests

ALPHA = 0.05
SHARES = (0.3, 0.6, 0.9, 0.97, 0.995)
READINGS = (1, 4, 16)
PAIRS = (5, 10, 20)
CHANGES = (0.005, 0.01, 0.02)
QUANTUM = 0.01

Values = NDArray[np.float64]


def waits(rng: np.random.Generator, share: float, shape: tuple[int, int]) -> Values:
    """Draw readings idle for a sum of waits, as long as those of their process."""
    processes, readings = shape
    idle = (1 - share) * rng.gamma(400.0, 1 / 400.0, (processes, 1))
    return 1 - idle * rng.gamma(50.0, 1 / 50.0, (processes, readings))


def levels(rng: np.random.Generator, share: float, shape: tuple[int, int]) -> Values:
    """Draw processes 1 % apart and readings that scatter by 1 %, cut off where all is busy."""
    processes, readings = shape
    level = 0.01 * rng.standard_normal((processes, 1))
    return share * np.exp(level + 0.01 * rng.standard_normal((processes, readings)))


def stalls(rng: np.random.Generator, share: float, shape: tuple[int, int]) -> Values:
    """Draw processes a third of a per cent apart, one reading in ten with a stall of a fifth."""
    processes, readings = shape
    level = 0.003 * rng.standard_normal((processes, 1))
    is_stalled = rng.random((processes, readings)) < 0.1
    return share * np.exp(level) * np.where(is_stalled, 0.8, 1.0)


NOISES = (waits, levels, stalls)


def located(readings: Values) -> Values:
    return location_estimates(readings.tolist(), scale=MetricScale.LOG)


def odds(shares: Values) -> Values:
    log_odds: Values = np.log((shares + HALF_QUANTUM) / (1 - shares + HALF_QUANTUM))
    return log_odds


SCALES: dict[str, Callable[[Values], Values]] = {
    "log of the location": lambda readings: np.log(located(readings)),
    "log of the mean": lambda readings: np.log(readings.mean(axis=1)),
    "log-odds of the location": lambda readings: odds(located(readings)),
    "log-odds of the mean": lambda readings: odds(readings.mean(axis=1)),
    "log of the idle share": lambda readings: -np.log(1 - located(readings) + HALF_QUANTUM),
}


def read(values: Values) -> Values:
    """Return what a telemetry that counts whole per cents makes of shares; at least one."""
    shares: Values = np.rint(100 * values.clip(QUANTUM, 1.0)) / 100
    return shares


def called(scale: Callable[[Values], Values], base: Values, head: Values, pairs: int) -> Values:
    """Return for each check -1, 0 or 1: a fall, nothing or a rise."""
    rows = (scale(head) - scale(base)).reshape(-1, pairs)
    results = t_tests(rows, looks=looks_until((), pairs), alpha=ALPHA)
    return np.array([math.copysign(each.p_value < ALPHA, each.mean) for each in results])


def line_of(name: str, share: float, readings: int, *, checks: int, seed: int) -> str:
    false: list[float] = []
    rates: dict[float, list[float]] = {change: [] for change in CHANGES}
    for number, noise in enumerate(NOISES):
        for pairs in PAIRS:
            rng = np.random.default_rng([seed, number, pairs, readings, int(1000 * share)])
            shape = (checks * pairs, readings)
            base, head = (noise(rng, share, shape) for _ in range(2))
            for change in (0.0, *CHANGES):
                words = called(SCALES[name], read(base), read(head * (1 - change)), pairs)
                if change:
                    rates[change].append(np.count_nonzero(words < 0) / checks)
                else:
                    false.append(np.count_nonzero(words) / checks)
    powers = " / ".join(decimals(float(np.mean(each)), 2) for each in rates.values())
    rate = f"{decimals(float(np.mean(false)), 3)} / {decimals(max(false), 3)}"
    return f"| {typed(share)} | {readings} | {name} | {rate} | {powers} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    began = time.perf_counter()
    changes = " / ".join(typed(100 * change) for change in CHANGES)
    print(f"| share | readings | scale | false: mean / worst | found at {changes} % |")
    print("|---|---|---|---|---|")
    for share in SHARES:
        for readings in READINGS:
            for name in SCALES:
                line = line_of(name, share, readings, checks=arguments.checks, seed=arguments.seed)
                print(line, flush=True)
    print(f"\n{arguments.checks} checks a cell; {integer(time.perf_counter() - began)} s")


if __name__ == "__main__":
    main()
