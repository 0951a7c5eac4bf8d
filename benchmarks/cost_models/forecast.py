"""Made-up histories in, how often and how closely forecasts of them come true out.

python benchmarks/cost_models/forecast.py [--histories 60]
python benchmarks/cost_models/forecast.py --train Weekly-train.csv --test Weekly-test.csv
                                          --season 52

Families: steady, growing (to 60 % a year, or falling), seasonal (a year's course of 20 to 50 %),
shifting (one jump by half to two and a half times, anywhere), bursting (one period of ten to twenty
is 1.5 to 4 times the others), and a random walk; all with 5 to 20 % of noise. Shapes: 24, 36 and 60
months with the next 6, 6 and 12; 60, 104 and 156 weeks with the next 13. The limit is 70 to 90 % of
what came inside the 80 % interval, in each family over its shapes.

With files of the M4 competition (github.com/Mcompetitions/M4-methods, Dataset), or of others in
its form (a series a row, its name first), their series in place of made-up ones: at most the last
KNOWN values tell the next 13 weeks or 6 months.
"""

import argparse
import csv
import time
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perfledger.rounding import decimals, integer, percentage
from perfledger_cost_models.forecasting.forecast import QUANTILES, is_inside, pinball
from perfledger_cost_models.forecasting.sample_paths import sample_paths
from perfledger_cost_models.forecasting.seasonal_naive import seasonal_naive

FloatArray = NDArray[np.float64]

# Periods known, periods ahead, periods of a year.
KNOWN = {12: (24, 36, 60), 52: (60, 104, 156)}  # of a file's series, in turn
AHEAD = {12: 6, 52: 13}
SHAPES = ((24, 6, 12), (36, 6, 12), (60, 12, 12), (60, 13, 52), (104, 13, 52), (156, 13, 52))


class Family(StrEnum):
    STEADY = "steady"
    GROWING = "growing"
    SEASONAL = "seasonal"
    SHIFTING = "shifting"
    BURSTING = "bursting"
    WALKING = "walking"


def made_up(family: Family, count: int, season: int, rng: np.random.Generator) -> FloatArray:
    time_ = np.arange(count)
    noise = rng.uniform(0.05, 0.2)
    course = 10 ** rng.uniform(2, 4) * np.exp(rng.normal(0, noise, count))
    match family:
        case Family.STEADY:
            pass
        case Family.GROWING:
            course *= np.exp(rng.uniform(-0.15, 0.6) / season * time_)
        case Family.SEASONAL:
            phase, second = rng.uniform(0, 2 * np.pi, 2)
            turn = 2 * np.pi * time_ / season
            swing = np.sin(turn + phase) + 0.4 * np.sin(2 * turn + second)
            course *= 1 + rng.uniform(0.2, 0.5) * swing
        case Family.SHIFTING:
            factor = rng.choice([0.5, 1.6, 2.5])
            course *= np.where(time_ >= rng.integers(count // 4, count), factor, 1.0)
        case Family.BURSTING:
            is_burst = rng.random(count) < rng.uniform(0.05, 0.1)
            course *= np.where(is_burst, rng.uniform(1.5, 4, count), 1.0)
        case Family.WALKING:
            course *= np.exp(np.cumsum(rng.normal(0, noise / 2, count)))
    return course


def recorded_pairs(
    series: Iterable[tuple[str, FloatArray]], later: Mapping[str, FloatArray], season: int
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield what was known of named series and what came, where both are enough."""
    for index, (name, values) in enumerate(series):
        past = values[-KNOWN[season][index % len(KNOWN[season])] :]
        ahead = later[name][: AHEAD[season]]
        if len(ahead) == AHEAD[season] <= len(past) // 2 and past.min() >= 0:
            yield past, ahead


def series_rows(path: Path) -> Iterator[tuple[str, FloatArray]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        for name, *cells in rows:
            yield name, np.array([float(cell) for cell in cells if cell])


def measured(past: FloatArray, came: FloatArray, season: int) -> tuple[float, float, float]:
    """Return the share inside the 80 % interval, and the losses of the forecast and a naive one."""
    ahead, mean = len(came), np.concatenate([past, came]).mean()
    paths = sample_paths(past, horizon=ahead, season=season).paths
    quantiles = np.quantile(paths, QUANTILES, axis=0)
    simple = seasonal_naive(past, horizon=ahead, season=season, shares=QUANTILES)
    inside = float(is_inside(came, quantiles).mean())
    return inside, pinball(came, quantiles) / mean, pinball(came, simple) / mean


def measure(family: Family, shape: tuple[int, int, int], histories: int) -> FloatArray:
    past_length, ahead, season = shape
    scores: list[tuple[float, float, float]] = []
    for seed in range(histories):
        rng = np.random.default_rng((seed, past_length, season, list(Family).index(family)))
        series = made_up(family, past_length + ahead, season, rng)
        scores.append(measured(series[:past_length], series[past_length:], season))
    return np.array(scores).T


def show_recorded(train: Path, test: Path, season: int) -> None:
    pairs = recorded_pairs(series_rows(train), dict(series_rows(test)), season)
    scores = [measured(past, came, season) for past, came in pairs]
    inside, loss, naive = np.mean(scores, axis=0)
    print(
        f"{train.name}: {len(scores)} series, {percentage(inside)} in the 80 % interval, "
        "pinball loss "
        f"{decimals(loss, 4)} of the mean, seasonal naive {decimals(naive, 4)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=60)
    parser.add_argument("--train", type=Path)
    parser.add_argument("--test", type=Path)
    parser.add_argument("--season", type=int, choices=sorted(KNOWN), default=52)
    options = parser.parse_args()
    if options.train and options.test:
        show_recorded(options.train, options.test, options.season)
        return
    histories = options.histories
    print(f"{histories} made-up histories a shape; losses are shares of the mean amount")
    print("family    known  ahead  in the 80 % interval  pinball loss  seasonal naive")
    began = time.process_time()
    for family in Family:
        scores = [measure(family, shape, histories) for shape in SHAPES]
        for (past_length, ahead, season), (inside, loss, naive) in zip(SHAPES, scores, strict=True):
            unit = "months" if season == 12 else "weeks"
            print(
                f"{family:9} {past_length:4} {unit:6} {ahead:3}  {inside.mean():19.1%}  "
                f"{loss.mean():12.4f}  {naive.mean():14.4f}",
                flush=True,
            )
        all_inside, loss, naive = (
            np.mean([each[part].mean() for each in scores]) for part in range(3)
        )
        result = "held" if 0.7 <= all_inside <= 0.9 else "MISSED"
        print(f"{family:9}  all shapes  {all_inside:20.1%}  {loss:12.4f}  {naive:14.4f}  {result}")
    spent = (time.process_time() - began) / (histories * len(SHAPES) * len(Family))
    print(f"{integer(1000 * spent)} ms of processor time a forecast")


if __name__ == "__main__":
    main()
