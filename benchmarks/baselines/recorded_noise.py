"""Makes histories of recorded noise with known steps, for the benchmarks of history.

The folder holds `gpu_ci.json.gz`, {source: [{hw, values}]}: public CI series of GPUs and TPUs; and
`mlperf_runs.json.gz`, [{runs: [throughputs]}]: repeats of one unchanged job, in order of time.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from made_up_series import Series, Values

MIN_RUNS = 20  # of a job, in order of time
SIZES = (0.01, 0.02, 0.05, 0.10)
GAP = 12  # points between two steps, and from either end
MIN_POINTS = 48  # points; a shorter series has one level only
PER_SOURCE = 45  # series at most
LONG = 100  # points from which a series has up to three steps
WINDOW = 5  # points on either side of the running median that levels are taken for
MLPERF = "MLPerf"
# Too few series for a source of their own count with another of the same machines.
COUNTED_WITH = {"enzyme_jax/tpu": "reactant/tpu"}


def recorded_series(folder: Path) -> dict[str, list[Values]]:
    """Return the series of each source, whatever changes they contain."""
    recordings: dict[str, Any] = _read(folder / "gpu_ci.json.gz")
    sources: defaultdict[str, list[Values]] = defaultdict(list)
    for name, series in sorted(recordings.items()):
        for one in series:
            if one["hw"] != "cpu" and len(one["values"]) >= MIN_POINTS:
                sources[f"{name}/{one['hw']}"].append(np.array(one["values"]))
    for name, other in COUNTED_WITH.items():
        sources[other] = sources[other][:PER_SOURCE] + sources.pop(name, [])[:PER_SOURCE]
    return {name: series[: PER_SOURCE + 2] for name, series in sorted(sources.items())}


def still_series(recorded: Values, rng: np.random.Generator) -> Values:
    """Return the noise of a recorded series about one level: no change by construction.

    Residuals of the logs from a running median, in blocks of 4 to 12 in another order.
    """
    logs: Values = np.log(recorded)
    count = len(logs)
    middles = [np.median(logs[max(0, at - WINDOW) : at + WINDOW + 1]) for at in range(count)]
    residuals: Values = logs - np.array(middles)
    ends: list[int] = np.cumsum(rng.integers(4, 13, count)).tolist()
    bounds = [0, *(end for end in ends if end < count), count]
    blocks = [residuals[first:stop] for first, stop in pairwise(bounds)]
    order: list[int] = rng.permutation(len(blocks)).tolist()
    noise: Values = np.concatenate([blocks[number] for number in order])
    values: Values = np.median(recorded) * np.exp(noise)
    return values


def with_steps(
    values: Values, rng: np.random.Generator, *, sizes: Sequence[float] = SIZES, most_steps: int
) -> Series:
    """Return values with one to so many steps, at least GAP from each other and from the ends."""
    step_count = int(rng.integers(1, most_steps + 1))
    places: list[int] = []
    for _ in range(100 * step_count):
        place = int(rng.integers(GAP, len(values) - GAP + 1))
        if len(places) < step_count and all(abs(place - other) >= GAP for other in places):
            places.append(place)
    places.sort()
    steps = [float(rng.choice(sizes)) * (1 if rng.random() < 0.65 else -1) for _ in places]
    stepped_values = values.copy()
    for place, step in zip(places, steps, strict=True):
        stepped_values[place:] *= 1 + step
    return Series("recorded", stepped_values, tuple(places), tuple(steps))


def recorded_pairs(folder: Path, *, seed: int) -> Iterator[tuple[str, Series, Values]]:
    """Yield (source, a series with steps, a series without) of every recording."""
    for number, (source, recordings) in enumerate(recorded_series(folder).items()):
        rng = np.random.default_rng([seed, number])
        for recorded in recordings:
            most = 3 if len(recorded) >= LONG else 1
            series = with_steps(still_series(recorded, rng), rng, most_steps=most)
            yield source, series, still_series(recorded, rng)
    yield from _job_pairs(folder, seed=seed)


def _job_pairs(folder: Path, *, seed: int) -> Iterator[tuple[str, Series, Values]]:
    """Yield MLPerf's repeated jobs: a run's value is the median time of an interval."""
    rng = np.random.default_rng([seed, 77])
    for group in _read(folder / "mlperf_runs.json.gz"):
        runs = group["runs"]
        if len(runs) >= MIN_RUNS:
            times = np.array([1e3 / np.median(run[1:] if len(run) > 4 else run) for run in runs])
            yield MLPERF, with_steps(times, rng, sizes=SIZES[:3], most_steps=1), times


def _read(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)
