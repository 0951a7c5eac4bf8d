"""Measures how long series are searched, in seconds of processor time, beside Apache Otava.

python benchmarks/baselines/history_speed.py [--without-numba] [--series 160] [--rounds 5]

Ten series of each length, with five steps in Gaussian noise, are searched one by one, and many
series of 500 in one call: how long one series takes depends on its noise. All take turns in each
round, and the least time of the rounds counts: other programs on the machine cost a process little
processor time, but some. Otava runs with its own defaults, if it is installed (`pip install
--no-deps apache-otava`); its many series are a tenth as many.
--without-numba does as if numba were not installed.
"""

import argparse
import importlib.util
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from perfledger.rounding import decimals, digits

LENGTHS = (100, 1_000, 10_000)
DRAWS = 10  # series of each length
MANY_LENGTH = 500
MIN_SECONDS = 0.1  # of one reading: calls that take less are repeated
Call = Callable[[], object]


def stairs(length: int, *, seed: int) -> list[float]:
    rng = np.random.default_rng([seed, length])
    logs = 0.01 * rng.standard_normal(length)
    for step in range(1, 6):
        logs[step * length // 6 :] += 0.05 * (-1) ** step
    return [float(value) for value in 100 * np.exp(logs)]


def processor_seconds(calls: Mapping[str, Call], *, rounds: int) -> dict[str, float]:
    """Return the least processor time of each call, taken by turns; the first call warms up."""
    repeats: dict[str, int] = {}
    for name, call in calls.items():
        call()
        repeats[name] = max(1, math.ceil(MIN_SECONDS / seconds(call, repeats=1)))
    least = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            least[name] = min(least[name], seconds(call, repeats=repeats[name]))
    return least


def seconds(call: Call, *, repeats: int) -> float:
    began = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - began) / repeats


def search_each(find: Callable[[list[float]], object], series: Sequence[list[float]]) -> None:
    for values in series:
        find(values)


def all_calls(*, series: int, seed: int) -> Iterator[tuple[str, dict[str, Call], dict[str, int]]]:
    """Yield a column's title, its calls by detector, and how many series each of them searches."""
    history_detectors = importlib.import_module("history_detectors")
    epoch_changes = importlib.import_module("perfledger_baselines.history.detection.epoch_changes")
    detectors = {"detect": history_detectors.ours}
    if importlib.util.find_spec("otava") is not None:
        detectors["Apache Otava"] = history_detectors.otava
    for length in LENGTHS:
        draws = [stairs(length, seed=seed + number) for number in range(DRAWS)]
        calls: dict[str, Call] = {
            name: partial(search_each, find, draws) for name, find in detectors.items()
        }
        yield f"{length:,}", calls, dict.fromkeys(calls, len(draws))
    many = [stairs(MANY_LENGTH, seed=seed + number) for number in range(series)]
    few = many[: max(1, series // 10)]
    search_all = partial(epoch_changes.detect_across_epochs, many, epochs=[()] * len(many))
    calls = {"detect": search_all}
    if "Apache Otava" in detectors:
        calls["Apache Otava"] = partial(search_each, detectors["Apache Otava"], few)
    yield f"{series} of {MANY_LENGTH}", calls, {"detect": len(many), "Apache Otava": len(few)}


def main() -> None:
    """Print the milliseconds of a series, and how many times as fast as Otava that is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--without-numba", action="store_true")
    parser.add_argument("--series", type=int, default=160, help="of 500 commits, in one call")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=20261121)
    options = parser.parse_args()
    if options.without_numba:
        sys.modules["numba"] = None  # type: ignore[assignment]  # as if it were not installed
    has_numba = importlib.util.find_spec("numba") is not None
    print(f"{'with' if has_numba else 'without'} numba; milliseconds of processor time a series\n")
    print("| commits | detect | Apache Otava | times as fast |\n|---|---|---|---|")
    for title, calls, counts in all_calls(series=options.series, seed=options.seed):
        least = processor_seconds(calls, rounds=options.rounds)
        each = {name: took / counts[name] for name, took in least.items()}
        ours, theirs = each["detect"], each.get("Apache Otava")
        cells = (
            f"{digits(1000 * ours, 3)}",
            digits(1000 * theirs, 3) if theirs else "not installed",
            decimals(theirs / ours, 1) if theirs else "",
        )
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
