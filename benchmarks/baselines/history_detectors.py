"""Measures how well change points are detected in made-up histories.

python benchmarks/baselines/history_detectors.py [--series 16] [--seed N] [--data DIR] [--peers]

Each detector sees the same series: nine kinds of noise, and six more that no rule was made for, in
three lengths, with one to three steps of 0.5 to 10 % or with none. Further series last eight weeks
and have a daily and weekly cycle; they are judged with and without their times. A change counts as
found if its place is within five commits.

--data uses recorded noise instead (recorded_noise.py): each source alone, and all sources but one.
No rule has a parameter per source. --peers adds Apache Otava, MongoDB's E-divisive and ruptures if
they are installed (`pip install apache-otava ruptures signal-processing-algorithms`); perfledger
does not depend on them. history_speed.py measures how fast they are.
"""

import argparse
import importlib
import importlib.util
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from made_up_series import HELD_OUT, NOISES, SIZES, Noise, Series, make_series, timed_pair
from recorded_noise import MLPERF, recorded_pairs

from perfledger.rounding import decimals, typed
from perfledger_baselines.history.detection.detect import detect

LENGTHS = (100, 200, 400)
REACH = 5
SEED_SETS = 10

Detector = Callable[[Sequence[float]], Sequence[int]]


@dataclass
class Tally:
    """What a detector made of some series: steps found, claimed and there; alarms over nothing."""

    right: int = 0
    claimed: int = 0
    true: int = 0
    false: int = 0
    points: int = 0

    @property
    def f1(self) -> float:
        return 2 * self.right / max(1, self.claimed + self.true)

    @property
    def false_per_1000(self) -> float:
        return 1000 * self.false / self.points

    def add(self, find: "Detector", series: Series, still: Sequence[float]) -> list[int]:
        """Count what `find` claims in a series with steps and in one without; return its hits."""
        places = find(series.values.tolist())
        hit = matched(series.places, places)
        self.right += len(hit)
        self.claimed += len(places)
        self.true += len(series.places)
        self.false += len(find(still))
        self.points += len(still)
        return hit


def total(tallies: Iterable[Tally]) -> Tally:
    counts = [[getattr(tally, each.name) for each in fields(Tally)] for tally in tallies]
    return Tally(*map(sum, zip(*counts, strict=True)))


def ours(values: Sequence[float], *, times: Sequence[float] = ()) -> Sequence[int]:
    return [change.index for change in detect(values, times=times).changes]


def otava(values: Sequence[float]) -> Sequence[int]:
    """Apache Otava's own defaults; 0.8.0 fails on some windows, and then a smaller one is tried."""
    analysis: Any = importlib.import_module("otava.analysis")
    for window in (50, 48, 45, 40):
        try:
            change_points, _ = analysis.compute_change_points(
                list(values), window_len=window, max_pvalue=0.001, min_magnitude=0.0
            )
        except ValueError:
            continue
        return [int(change.index) for change in change_points]
    return []


def mongo(values: Sequence[float]) -> Sequence[int]:
    """MongoDB's E-divisive, by signal-processing-algorithms, with its own defaults."""
    package = "signal_processing_algorithms.energy_statistics"
    search: Any = importlib.import_module(f"{package}.energy_statistics")
    np.random.seed(1234)
    return [int(place) for place in search.e_divisive(np.asarray(values), pvalue=0.05)]


def kernel(values: Sequence[float]) -> Sequence[int]:
    """Kernel change points by ruptures, with the penalty that people set by hand."""
    ruptures: Any = importlib.import_module("ruptures")
    levels = np.asarray(values, dtype=np.float64)
    steps = np.diff(levels)
    spread = 1.4826 * np.median(np.abs(steps - np.median(steps))) / math.sqrt(2) or 1.0
    search = ruptures.KernelCPD(kernel="rbf", min_size=2).fit(levels / spread)
    return [int(place) for place in search.predict(pen=math.log(len(levels)))[:-1]]


PEERS: tuple[tuple[str, str, Detector], ...] = (
    ("Apache Otava, defaults", "otava", otava),
    ("MongoDB, defaults", "signal_processing_algorithms", mongo),
    ("kernel-RBF by hand (ruptures)", "ruptures", kernel),
)


def matched(truth: Sequence[int], places: Sequence[int]) -> list[int]:
    """Return the true places that were found, each find counted once."""
    left = sorted(set(places))
    hit: list[int] = []
    for place in truth:
        near = min(left, key=lambda other: abs(other - place), default=None)
        if near is not None and abs(near - place) <= REACH:
            left.remove(near)
            hit.append(place)
    return hit


def score(
    name: str, find: Detector, noises: Mapping[str, Noise], *, count: int, seed: int
) -> tuple[str, str]:
    """Return a detector's lines of the two tables."""
    of_size = {size: [0, 0] for size in SIZES}
    tallies = {noise: Tally() for noise in noises}
    for number, (noise, tally) in enumerate(tallies.items()):
        for length in LENGTHS:
            rng = np.random.default_rng([seed, number, length])
            for _ in range(count):
                series = make_series(noise, length, rng, most_steps=3)
                still = make_series(noise, length, rng, most_steps=0)
                count_sizes(series, tally.add(find, series, still.values.tolist()), of_size)
    every = total(tallies.values())
    sizes = " / ".join(decimals(hits / max(1, total), 2) for hits, total in of_size.values())
    worst = max(tallies, key=lambda noise: tallies[noise].false_per_1000)
    by_noise = " | ".join(
        f"{decimals(each.f1, 2)} / {decimals(each.false_per_1000, 1)}" for each in tallies.values()
    )
    line = (
        f"| {name} | {decimals(every.f1, 3)} | {decimals(every.right / max(1, every.claimed), 2)} "
        f"| {decimals(every.right / every.true, 2)} | {sizes} | "
        f"{decimals(every.false_per_1000, 2)} "
        f"| {decimals(tallies[worst].false_per_1000, 1)} ({worst}) |"
    )
    return line, f"| {name} | {by_noise} |"


def score_recorded(find: Detector, folder: Path, *, seed: int, sets: int) -> dict[str, Tally]:
    """Return a detector's tally on the recorded noise of each source."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for number in range(sets):
        for source, series, still in recorded_pairs(folder, seed=seed + number):
            tallies[source].add(find, series, still.tolist())
    return tallies


def print_recorded(detectors: dict[str, Detector], folder: Path, *, seed: int) -> None:
    columns = {
        name: score_recorded(find, folder, seed=seed, sets=SEED_SETS)
        for name, find in detectors.items()
    }
    print("| F1 / precision / false per 1000 points | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    sources = list(next(iter(columns.values())))
    groups = {source: [source] for source in sources}
    noises = [source for source in sources if source != MLPERF]
    groups["all but MLPerf"] = noises
    groups |= {
        f"all but MLPerf and {source}": [other for other in noises if other != source]
        for source in noises
    }
    for group, members in groups.items():
        cells = [
            f"{decimals(each.f1, 3)} / {decimals(each.right / max(1, each.claimed), 2)} "
            f"/ {decimals(each.false_per_1000, 2)}"
            for each in (
                total(tallies[member] for member in members) for tallies in columns.values()
            )
        ]
        print(f"| {group} | " + " | ".join(cells) + " |", flush=True)


def count_sizes(series: Series, hit: Sequence[int], of_size: dict[float, list[int]]) -> None:
    for place, size in zip(series.places, series.sizes, strict=True):
        of_size[abs(size)][0] += place in hit
        of_size[abs(size)][1] += 1


def print_timed(*, count: int, seed: int) -> None:
    """Print what is found in 400 commits of a daily and weekly cycle, without times and with."""
    print("| cycle of 1.5 % | 2 % found, false per 1000 | ... with times |")
    print("|---|---|---|")
    for number, shape in enumerate(("sine", "square")):
        rng = np.random.default_rng([seed, number])
        tallies = Tally(), Tally()
        for _ in range(count):
            series, still, times = timed_pair(shape, 400, rng, size=0.02)
            for tally, known_times in zip(tallies, ((), times.tolist()), strict=True):
                tally.add(partial(ours, times=known_times), series, still.tolist())
        cells = (
            f"{decimals(tally.right / tally.true, 2)}, {decimals(tally.false_per_1000, 2)}"
            for tally in tallies
        )
        print(f"| {shape} | " + " | ".join(cells) + " |", flush=True)


def installed_peers() -> dict[str, Detector]:
    """Return the peers that can be run here, and say which cannot."""
    detectors: dict[str, Detector] = {}
    for name, package, find in PEERS:
        if importlib.util.find_spec(package) is None:
            print(f"{name}: {package} is not installed", file=sys.stderr)
        else:
            detectors[name] = find
    return detectors


def print_made_up(
    detectors: dict[str, Detector], noises: Mapping[str, Noise], *, count: int, seed: int
) -> None:
    sizes = " / ".join(typed(100 * size) for size in SIZES)
    print(
        f"| detector | F1 | precision | recall | recall at {sizes} % "
        "| false per 1000 points | ... worst noise |"
    )
    print("|---" * 7 + "|")
    by_noise: list[str] = []
    for name, find in detectors.items():
        line, other = score(name, find, noises, count=count, seed=seed)
        print(line, flush=True)
        by_noise.append(other)
    print("\n| F1 / false per 1000 points | " + " | ".join(noises) + " |")
    print("|---" * (len(noises) + 1) + "|\n" + "\n".join(by_noise) + "\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=16)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--peers", action="store_true")
    arguments = parser.parse_args()
    detectors: dict[str, Detector] = {"perfledger": ours}
    if arguments.peers:
        detectors |= installed_peers()
    if arguments.data is not None:
        print_recorded(detectors, arguments.data, seed=arguments.seed)
        return
    for noises in (NOISES, HELD_OUT):
        print_made_up(detectors, noises, count=arguments.series, seed=arguments.seed)
    print_timed(count=4 * arguments.series, seed=arguments.seed)


if __name__ == "__main__":
    main()
