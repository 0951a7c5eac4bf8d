"""Measures what `detect` claims when it is run again after every commit, at several levels.

python benchmarks/baselines/history_online.py [--series 24] [--seed 72]

Each of the made-up noises (made_up_series.py) has series of 120 commits: without a change, searched
at every other commit from the 30th on, and with a step of 2 or 5 % after 60, searched after each of
the 10 or 3 commits behind it. A claim within three commits of an earlier one is the same false
alarm, and a step is found by a claim within two commits. A level is the largest p-value, corrected
for all places of the series, of a change of the last ten commits, or of an older one.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from made_up_series import HELD_OUT, NOISES, Noise

from perfledger.rounding import decimals
from perfledger_baselines.history.detection.epoch_changes import detect_across_epochs

COMMITS, STEP_AT, FROM = 120, 60, 30
SAME_ALARM, REACH, YOUNG = 3, 2, 10
WITHIN = {0.02: 10, 0.05: 3}  # commits, by size of the step
QUIET = "quiet"  # has no steps of these sizes to find
# The largest p-value of young changes, and of older ones: the detector's own is .01.
LEVELS = (
    (0.01, 0.01),
    (0.003, 0.003),
    (0.001, 0.001),
    (0.0001, 0.0001),
    (0.01, 1e-5),
    (0.003, 1e-5),
    (0.001, 1e-6),
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A change that was claimed in the first commits of a series."""

    noise: str
    number: int
    size: float  # of the step that is there
    commits: int
    place: int
    p_value: float

    def is_within(self, young: float, older: float) -> bool:
        """Return whether its p-value is below the level of its age."""
        return self.p_value < (young if self.commits - self.place <= YOUNG else older)


def claims(noises: Mapping[str, Noise], *, count: int, seed: int) -> Iterator[Claim]:
    """Yield what is claimed in all series, commit by commit."""
    names = list(NOISES | HELD_OUT)
    series = {
        (noise, size, number): made_up(make, [seed, names.index(noise), round(100 * size), number])
        for noise, make in noises.items()
        for size in (0.0, *WITHIN)
        for number in range(count)
    }
    for (_, size, number), values in series.items():
        values[STEP_AT:] *= 1 + size * (-1) ** number
    for commits in range(FROM, COMMITS + 1):
        searched = [key for key in series if is_searched(key[1], commits)]
        known_values = [series[key][:commits].tolist() for key in searched]
        histories = detect_across_epochs(known_values, epochs=[()] * len(searched))
        for (noise, size, number), history in zip(searched, histories, strict=True):
            for change in history.changes:
                yield Claim(noise, number, size, commits, change.index, 1 - change.confidence)


def made_up(make: Noise, seeds: Sequence[int]) -> np.ndarray:
    return 100 * np.exp(make(np.random.default_rng(seeds), COMMITS))


def is_searched(size: float, commits: int) -> bool:
    if size == 0:
        return commits % 2 == 0
    return STEP_AT < commits <= STEP_AT + WITHIN[size]


def false_alarms(claimed: Sequence[Claim]) -> Counter[str]:
    """Return the distinct false alarms of each noise."""
    places: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for one in claimed:
        before = places[one.noise, one.number]
        if one.size == 0 and all(abs(one.place - other) > SAME_ALARM for other in before):
            before.append(one.place)
    alarms: Counter[str] = Counter()
    for (noise, _), distinct in places.items():
        alarms[noise] += len(distinct)
    return alarms


def found_share(claimed: Sequence[Claim], size: float, *, steps: int) -> float:
    steps_found = {
        (one.noise, one.number)
        for one in claimed
        if one.size == size and abs(one.place - STEP_AT) <= REACH and one.noise != QUIET
    }
    return len(steps_found) / steps


def print_table(title: str, noises: Mapping[str, Noise], *, count: int, seed: int) -> None:
    every = list(claims(noises, count=count, seed=seed))
    print(f"\n{title}")
    print("| p of young and older changes | false per 1000 | 2 % by 10 | 5 % by 3 | most false |")
    print("|---|---|---|---|---|")
    commits = (COMMITS - FROM) * count * len(noises)
    steps = count * sum(noise != QUIET for noise in noises)
    for young, older in LEVELS:
        claimed = [one for one in every if one.is_within(young, older)]
        alarms = false_alarms(claimed)
        shares = (decimals(found_share(claimed, size, steps=steps), 2) for size in WITHIN)
        most = ", ".join(f"{noise} {number}" for noise, number in alarms.most_common(3))
        print(
            f"| {young:g}, {older:g} | {decimals(1000 * alarms.total() / commits, 1)} | "
            f"{' | '.join(shares)} | {most} |",
            flush=True,
        )


def main() -> None:
    """Print a table of the known noises, and one of those that no rule was made for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=24, help="of each noise and size")
    parser.add_argument("--seed", type=int, default=72)
    options = parser.parse_args()
    for title, noises in (("known noises", NOISES), ("held-out noises", HELD_OUT)):
        print_table(title, noises, count=options.series, seed=options.seed)


if __name__ == "__main__":
    main()
