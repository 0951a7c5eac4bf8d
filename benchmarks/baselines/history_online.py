"""Measures what `detect` claims when it is run again after every commit, at several levels.

python benchmarks/baselines/history_online.py [--series 24] [--seed 72] [--data DIR] [--list]

Each of the made-up noises (made_up_series.py) has series of 120 commits: without a change, searched
at every other commit from the 30th on, and with a step of 2 or 5 % after 60, searched after each of
the 10 or 3 commits behind it; one of 1 % is searched for 40 commits. A claim within three commits
of an earlier one is the same false alarm, and a step is found by a claim within two commits. A
level is the largest p-value, corrected for all places of the series, of a change of the last ten
commits, or of an older one.

--data does the same with the recorded noise of each source (recorded_noise.py), and --list prints
each false alarm: where, in how many of the searches, and how certain it was at most.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from made_up_series import HELD_OUT, NOISES, Noise, Values
from recorded_noise import recorded_series, still_series

from perfledger.rounding import decimals
from perfledger_baselines.history.detection.epoch_changes import detect_across_epochs

COMMITS, STEP_AT, FROM = 120, 60, 30
SAME_ALARM, REACH, YOUNG = 3, 2, 10
WITHIN = {0.02: 10, 0.05: 3, 0.01: 40}  # commits, by size of the step
QUIET = "quiet"  # has no steps of these sizes to find
Key = tuple[str, float, int]  # noise, size of the step that is there, number
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


def made_up_noise(noises: Mapping[str, Noise], *, count: int, seed: int) -> dict[Key, Values]:
    names = list(NOISES | HELD_OUT)
    return {
        (noise, size, number): made_up(make, [seed, names.index(noise), round(100 * size), number])
        for noise, make in noises.items()
        for size in (0.0, *WITHIN)
        for number in range(count)
    }


def recorded_noise(folder: Path, *, count: int, seed: int) -> dict[Key, Values]:
    """Return the noise of each source's recordings, each in as many orders as make it long."""
    series: dict[Key, Values] = {}
    for place, (source, recordings) in enumerate(recorded_series(folder).items()):
        for size in (0.0, *WITHIN):
            for number in range(count):
                draw = np.random.default_rng([seed, place, round(100 * size), number])
                recorded = recordings[int(draw.integers(len(recordings)))]
                orders = [still_series(recorded, draw) for _ in range(COMMITS // len(recorded) + 1)]
                series[source, size, number] = np.concatenate(orders)[:COMMITS]
    return series


def claims(series: Mapping[Key, Values]) -> Iterator[Claim]:
    """Yield what is claimed in all series, commit by commit, once they have their steps."""
    for (_, size, number), values in series.items():
        values[STEP_AT:] *= 1 + size * (-1) ** number
    for commits in range(FROM, COMMITS + 1):
        searched = [
            key
            for key, values in series.items()
            if is_searched(key[1], commits) and len(values) >= commits
        ]
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


def false_alarms(claimed: Sequence[Claim]) -> list[list[Claim]]:
    """Return the distinct false alarms, each with the claims of it."""
    alarms: defaultdict[tuple[str, int], list[list[Claim]]] = defaultdict(list)
    for one in claimed:
        if one.size == 0:
            before = alarms[one.noise, one.number]
            same = [alarm for alarm in before if abs(one.place - alarm[0].place) <= SAME_ALARM]
            if same:
                same[0].append(one)
            else:
                before.append([one])
    return [alarm for of_series in alarms.values() for alarm in of_series]


def found_share(claimed: Sequence[Claim], size: float, *, steps: int) -> float:
    steps_found = {
        (one.noise, one.number)
        for one in claimed
        if one.size == size and abs(one.place - STEP_AT) <= REACH and one.noise != QUIET
    }
    return len(steps_found) / steps


def print_table(title: str, series: Mapping[Key, Values], *, is_listed: bool) -> None:
    every = list(claims(series))
    print(f"\n{title}")
    steps_found = " | ".join(f"{100 * size:g} % by {commits}" for size, commits in WITHIN.items())
    print(f"| p of young and older changes | false per 1000 | {steps_found} | most false |")
    print("|---" * (len(WITHIN) + 3) + "|")
    commits = sum(len(values) - FROM for (_, size, _), values in series.items() if size == 0)
    steps = sum(size == min(WITHIN) and noise != QUIET for noise, size, _ in series)
    for young, older in LEVELS:
        claimed = [one for one in every if one.is_within(young, older)]
        alarms = Counter(alarm[0].noise for alarm in false_alarms(claimed))
        shares = (decimals(found_share(claimed, size, steps=steps), 2) for size in WITHIN)
        most = ", ".join(f"{noise} {number}" for noise, number in alarms.most_common(3))
        print(
            f"| {young:g}, {older:g} | {decimals(1000 * alarms.total() / commits, 1)} | "
            f"{' | '.join(shares)} | {most} |",
            flush=True,
        )
    if is_listed:
        print_alarms(false_alarms(every), series)


def print_alarms(alarms: Sequence[Sequence[Claim]], series: Mapping[Key, Values]) -> None:
    print("\n| noise | place | first at | searches | of which | least p | size in differences |")
    print("|---|---|---|---|---|---|---|")
    for alarm in alarms:
        first = alarm[0]
        logs = np.log(series[first.noise, 0.0, first.number])
        searches = sum(is_searched(0.0, commits) for commits in range(first.commits, len(logs) + 1))
        stretches = logs[max(0, first.place - 10) : first.place], logs[first.place :][:10]
        step = abs(np.median(stretches[1]) - np.median(stretches[0]))
        typical = np.median(np.abs(np.diff(logs))) or np.nan
        print(
            f"| {first.noise} | {first.place} | {first.commits} | {len(alarm)} | {searches} | "
            f"{min(one.p_value for one in alarm):.1e} | {decimals(float(step / typical), 1)} |"
        )


def main() -> None:
    """Print a table of the known noises, and one of those that no rule was made for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=24, help="of each noise and size")
    parser.add_argument("--seed", type=int, default=72)
    parser.add_argument("--data", type=Path, help="folder of recorded noise, in place of made-up")
    parser.add_argument("--list", action="store_true", help="each false alarm")
    options = parser.parse_args()
    count, seed = options.series, options.seed
    if options.data:
        recorded = recorded_noise(options.data, count=count, seed=seed)
        for source in dict.fromkeys(source for source, _, _ in recorded):
            of_source = {key: values for key, values in recorded.items() if key[0] == source}
            print_table(source, of_source, is_listed=options.list)
        return
    for title, noises in (("known noises", NOISES), ("held-out noises", HELD_OUT)):
        series = made_up_noise(noises, count=count, seed=seed)
        print_table(title, series, is_listed=options.list)


if __name__ == "__main__":
    main()
