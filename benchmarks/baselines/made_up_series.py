"""Makes up histories with known steps, for the benchmarks of history.

Nine kinds of noise that public CI series have, each with its own size, and six that no rule of
detection was made for or tried on; the results are in
baselines/perfledger_baselines/history/detection/README.md.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Values]

SIZES = (0.005, 0.01, 0.02, 0.05, 0.10)
GAP = 20  # commits between two steps, and from either end
HOUR, DAY, WEEK = 3_600.0, 86_400.0, 604_800.0
WEEKS, CYCLE, CYCLE_NOISE = 8, 0.015, 0.005


@dataclass(frozen=True)
class Series:
    """Values, the first commits of their new levels, and how large each step is."""

    noise: str
    values: Values
    places: tuple[int, ...] = ()
    sizes: tuple[float, ...] = ()


def gaussian(rng: np.random.Generator, count: int) -> Values:
    return 0.01 * rng.standard_normal(count)


def heavy_tails(rng: np.random.Generator, count: int) -> Values:
    return 0.008 * rng.standard_t(3, count)


def spikes(rng: np.random.Generator, count: int) -> Values:
    is_spike = rng.random(count) < 0.05
    is_spike[1:] |= is_spike[:-1] & (rng.random(count - 1) < 0.25)
    return 0.008 * rng.standard_normal(count) + is_spike * rng.uniform(0.04, 0.5, count)


def two_states(rng: np.random.Generator, count: int) -> Values:
    state = np.empty(count)
    state[0] = rng.random() < 0.4
    for commit in range(1, count):
        stays = rng.random() < 0.5
        state[commit] = state[commit - 1] if stays else rng.random() < 0.4
    return 0.005 * rng.standard_normal(count) + 0.03 * state


def dependent(rng: np.random.Generator, count: int) -> Values:
    values = np.empty(count)
    values[0] = rng.standard_normal()
    for commit in range(1, count):
        values[commit] = 0.6 * values[commit - 1] + 0.8 * rng.standard_normal()
    return 0.01 * values


def drift(rng: np.random.Generator, count: int) -> Values:
    slope = rng.choice((-1.0, 1.0)) * rng.uniform(0.02, 0.05)
    values: Values = 0.008 * rng.standard_normal(count) + slope * np.linspace(0.0, 1.0, count)
    return values


def bursts(rng: np.random.Generator, count: int) -> Values:
    sd = np.full(count, 0.006)
    for _ in range(max(1, count // 150)):
        start = rng.integers(0, count - 10)
        sd[start : start + rng.integers(8, 25)] *= 4
    values: Values = sd * rng.standard_normal(count)
    return values


def quiet(rng: np.random.Generator, count: int) -> Values:
    return np.round(0.0004 * rng.standard_normal(count), 4)


def everything(rng: np.random.Generator, count: int) -> Values:
    rare = (rng.random(count) < 0.02) * rng.uniform(0.04, 0.3, count)
    state = 0.012 * (rng.random(count) < 0.2)
    values: Values = 0.6 * dependent(rng, count) + rare + state
    return values


def lognormal(rng: np.random.Generator, count: int) -> Values:
    values: Values = 0.004 * rng.lognormal(0.0, 1.0, count)
    return values


def three_states(rng: np.random.Generator, count: int) -> Values:
    states = rng.choice([0.0, 0.015, 0.04], count, p=[0.6, 0.25, 0.15])
    values: Values = 0.003 * rng.standard_normal(count) + states
    return values


def machines(rng: np.random.Generator, count: int) -> Values:
    offsets = 0.01 * rng.standard_normal(5)  # each run is on one of five machines
    values: Values = offsets[rng.integers(0, 5, count)] + 0.004 * rng.standard_normal(count)
    return values


def coarse_timer(rng: np.random.Generator, count: int) -> Values:
    return np.round(0.006 * rng.standard_normal(count), 2)


def waves(rng: np.random.Generator, count: int) -> Values:
    phase = 2 * np.pi * (np.arange(count) / rng.uniform(30, 60) + rng.random())
    values: Values = 0.005 * np.sin(phase) + 0.006 * rng.standard_normal(count)
    return values


def wandering(rng: np.random.Generator, count: int) -> Values:
    walk = np.cumsum(0.001 * rng.standard_normal(count))
    values: Values = walk + 0.006 * rng.standard_normal(count)
    return values


HELD_OUT: dict[str, Noise] = {
    "lognormal": lognormal,
    "three states": three_states,
    "machines": machines,
    "coarse timer": coarse_timer,
    "waves": waves,
    "wandering": wandering,
}

NOISES: dict[str, Noise] = {
    "Gaussian": gaussian,
    "t(3)": heavy_tails,
    "spikes": spikes,
    "two states": two_states,
    "dependent": dependent,
    "drift": drift,
    "bursts": bursts,
    "quiet": quiet,
    "everything": everything,
}


def timed_pair(
    shape: str, count: int, rng: np.random.Generator, *, size: float
) -> tuple[Series, Values, Values]:
    """Make eight weeks with a daily and weekly cycle: with a step, without, and the values' times.

    Most are measured in hours of work. The clock changes by an hour after four weeks. The cycles
    are sines or squares of 1.5 % either way; the step up or down is in the middle half.
    """
    slots = np.arange(0.0, WEEKS * WEEK, 300.0)
    is_work = (np.abs(slots % DAY - 14 * HOUR) < 6 * HOUR) & (slots % WEEK < 5 * DAY)
    shares = np.where(is_work, 1.0, 0.15)
    times = np.sort(rng.choice(slots, count, replace=False, p=shares / shares.sum()))
    local = times + np.where(times > WEEKS / 2 * WEEK, HOUR, 0.0)
    logs = CYCLE_NOISE * rng.standard_normal(count)
    for period in (DAY, WEEK):
        turn = np.sin(2 * np.pi * (local / period + rng.random()))
        logs += CYCLE * (turn if shape == "sine" else np.sign(turn))
    step = size * float(rng.choice((-1.0, 1.0)))
    place = int(rng.integers(count // 4, count - count // 4))
    still: Values = 100 * np.exp(logs)
    series = still.copy()
    series[place:] *= 1 + step
    return Series(shape, series, (place,), (step,)), still, times


def make_series(noise: str, count: int, rng: np.random.Generator, *, most_steps: int) -> Series:
    """Make a series with one to so many steps, or with none."""
    logs = (NOISES | HELD_OUT)[noise](rng, count)
    sizes = SIZES[:3] if noise == "quiet" else SIZES
    places: list[int] = []
    step_count = int(rng.integers(1, most_steps + 1)) if most_steps else 0
    for _ in range(100 * step_count):
        place = int(rng.integers(GAP, count - GAP + 1))
        if len(places) < step_count and all(abs(place - other) >= GAP for other in places):
            places.append(place)
    places.sort()
    steps = [float(rng.choice(sizes)) * (1 if rng.random() < 0.6 else -1) for _ in places]
    for place, step in zip(places, steps, strict=True):
        logs[place:] += np.log1p(step)
    return Series(noise, 100 * np.exp(logs), tuple(places), tuple(steps))
