"""Compares our forecast with those of two libraries on public series, series by series.

python benchmarks/cost_models/forecast_libraries.py FOLDER [--method autoets] [--set m3-monthly]
                                                    [--every 1]

FOLDER holds copies of Mcompetitions/M4-methods, of robjhyndman/Mcomp (M3) and of
ellisp/Tcomp-r-package (tourism) by these names. Needs `pip install statsforecast statsmodels
rdata`, which are no part of perfledger. At most the last 24, 36 or 60 months (60, 104 or 156 weeks)
predict the next 6 (13), as forecast.py has it. The libraries get the same past, the length of a
year and the levels of 50 and 80 %; their mean is taken as the median, and amounts below 0 as 0. A
model that fails on a series has the last value there, as a user would fall back on.

Loss is the pinball loss over P10, P25, P50, P75 and P90 as a share of the mean; MASE (Hyndman and
Koehler 2006; of the past's seasonal differences) and sMAPE are of the median. The interval is of
ours less theirs, as a share of theirs, from 2,000 resamplings of the series: below 0 ours is
closer. `mean` is the mean of the quantiles of autoets, autotheta, autoces and, where run, autoarima
(Petropoulos and Svetunkov 2020).
"""

import argparse
import csv
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from forecast import AHEAD, KNOWN, recorded_pairs, series_rows

from perfledger.rounding import decimals, percentage
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.draws import SEED
from perfledger_cost_models.forecasting.forecast import MIDDLE, QUANTILES, is_inside, pinball
from perfledger_cost_models.forecasting.sample_paths import sample_paths
from perfledger_cost_models.forecasting.seasonal_naive import seasonal_naive

Series = tuple[str, FloatArray]
Method = Callable[[FloatArray, int, int], FloatArray]  # past, horizon, season -> quantiles

RESAMPLINGS = 2000
LEVELS = (50, 80)
# Of Tcomp's tables before the values: their number, the first year, the first month.
HEAD_ROWS = 3
MEAN_OF = ("autoets", "autotheta", "autoces", "autoarima")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """The scores of one method, one value a series."""

    loss: FloatArray
    mase: FloatArray
    smape: FloatArray
    inside: FloatArray


def m4_weekly(folder: Path) -> tuple[list[Series], Mapping[str, FloatArray]]:
    data = folder / "M4-methods/Dataset"
    return list(series_rows(data / "Train/Weekly-train.csv")), dict(
        series_rows(data / "Test/Weekly-test.csv")
    )


def m3_monthly(folder: Path) -> tuple[list[Series], Mapping[str, FloatArray]]:
    import rdata  # noqa: PLC0415 - of this set alone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes of R that are read as plain lists
        competition = rdata.read_rda(folder / "Mcomp/data/M3.rda")["M3"]
    chosen = {
        str(name): each for name, each in competition.items() if each["period"][0] == "MONTHLY"
    }
    past, later = (
        {name: np.asarray(each[part], np.float64) for name, each in chosen.items()}
        for part in ("x", "xx")
    )
    return list(past.items()), later


def tourism_monthly(folder: Path) -> tuple[list[Series], Mapping[str, FloatArray]]:
    data = folder / "Tcomp-r-package/source-data"
    return list(_columns(data / "monthly_in.csv")), dict(_columns(data / "monthly_oos.csv"))


def _columns(path: Path) -> Iterator[Series]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        names, *rows = csv.reader(file)
    for index, name in enumerate(names):
        cells = [row[index] for row in rows[HEAD_ROWS:] if row[index] not in {"", "NA"}]
        yield name, np.array(cells, np.float64)


SETS: Mapping[str, tuple[int, Callable[[Path], tuple[list[Series], Mapping[str, FloatArray]]]]] = {
    "m4-weekly": (52, m4_weekly),
    "m3-monthly": (12, m3_monthly),
    "tourism-monthly": (12, tourism_monthly),
}


def ours(past: FloatArray, horizon: int, season: int) -> FloatArray:
    paths = sample_paths(past, horizon=horizon, season=season).paths
    quantiles: FloatArray = np.quantile(paths, QUANTILES, axis=0)
    return quantiles


def naive(past: FloatArray, horizon: int, season: int) -> FloatArray:
    return seasonal_naive(past, horizon=horizon, season=season, shares=QUANTILES)


def of_statsforecast(name: str, *, has_season: bool = True) -> Method:
    """Return the quantiles of a model of statsforecast, by its class's name."""

    def predict(past: FloatArray, horizon: int, season: int) -> FloatArray:
        from statsforecast import models  # noqa: PLC0415 - an optional library

        year = season if has_season and len(past) >= 2 * season else 1
        model = getattr(models, name)(season_length=year)
        return _quantiles_of(model, past, horizon)

    return predict


def _quantiles_of(model: Any, past: FloatArray, horizon: int) -> FloatArray:
    """Return the quantiles of a model of statsforecast."""
    columns: Mapping[str, Any] = model.forecast(y=past, h=horizon, level=list(LEVELS))
    return _stacked(
        columns["mean"],
        [columns["lo-80"], columns["lo-50"]],
        [columns["hi-50"], columns["hi-80"]],
    )


def mstl(past: FloatArray, horizon: int, season: int) -> FloatArray:
    """Return the quantiles of statsforecast's MSTL: loess seasons, and ETS of the rest."""
    from statsforecast import models  # noqa: PLC0415 - an optional library

    if len(past) <= 2 * season:
        return of_statsforecast("AutoETS", has_season=False)(past, horizon, season)
    model = models.MSTL(season_length=season, trend_forecaster=models.AutoETS(model="ZZN"))
    return _quantiles_of(model, past, horizon)


def statsmodels_theta(past: FloatArray, horizon: int, season: int) -> FloatArray:
    from statsmodels.tsa.forecasting.theta import ThetaModel  # noqa: PLC0415 - optional

    has_season = len(past) >= 2 * season
    fit = ThetaModel(past, period=season, deseasonalize=has_season, use_test=has_season).fit()
    inner, outer = (fit.prediction_intervals(horizon, alpha=1 - each / 100) for each in LEVELS)
    return _stacked(
        fit.forecast(horizon), [outer["lower"], inner["lower"]], [inner["upper"], outer["upper"]]
    )


def statsmodels_ets(past: FloatArray, horizon: int, season: int) -> FloatArray:
    """Return the quantiles of additive ETS with a damped trend and seasons."""
    from pandas import Series as PandasSeries  # noqa: PLC0415 - optional
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel  # noqa: PLC0415 - optional

    has_season = len(past) >= 2 * season and season < len(past) // 2
    kind = {"seasonal": "add", "seasonal_periods": season} if has_season else {}
    values = PandasSeries(past)
    fit = ETSModel(values, error="add", trend="add", damped_trend=True, **kind).fit(disp=False)
    future = fit.get_prediction(start=len(past), end=len(past) + horizon - 1)
    inner, outer = (np.asarray(future.pred_int(alpha=1 - each / 100)).T for each in LEVELS)
    mean = np.asarray(future.predicted_mean)
    return _stacked(mean, [outer[0], inner[0]], [inner[1], outer[1]])


def _stacked(
    mean: FloatArray, lows: Sequence[FloatArray], highs: Sequence[FloatArray]
) -> FloatArray:
    quantiles = np.stack([np.asarray(each, np.float64) for each in (*lows, mean, *highs)])
    amounts: FloatArray = np.maximum(quantiles, 0.0)
    return amounts


METHODS: Mapping[str, Method] = {
    "naive": naive,
    "autoets": of_statsforecast("AutoETS"),
    "autotheta": of_statsforecast("AutoTheta"),
    "autoces": of_statsforecast("AutoCES"),
    "autoarima": of_statsforecast("AutoARIMA"),
    "autoets-plain": of_statsforecast("AutoETS", has_season=False),
    "autotheta-plain": of_statsforecast("AutoTheta", has_season=False),
    "autoarima-plain": of_statsforecast("AutoARIMA", has_season=False),
    "autoces-plain": of_statsforecast("AutoCES", has_season=False),
    "mstl": mstl,
    "sm-theta": statsmodels_theta,
    "sm-ets": statsmodels_ets,
}


def predictions_of(
    method: Method, pairs: Sequence[tuple[FloatArray, FloatArray]], season: int
) -> tuple[list[FloatArray], int]:
    """Return the quantiles of each series, and how many a model failed on."""
    predictions: list[FloatArray] = []
    failures = 0
    for past, came in pairs:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                quantiles = method(past, len(came), season)
        except Exception:
            quantiles = np.full((len(QUANTILES), len(came)), np.nan)
        if not np.isfinite(quantiles).all():
            quantiles = naive(past, len(came), 0)
            failures += 1
        predictions.append(quantiles)
    return predictions, failures


def scores_of(
    predictions: Sequence[FloatArray], pairs: Sequence[tuple[FloatArray, FloatArray]], season: int
) -> Scores:
    rows: list[tuple[float, float, float, float]] = []
    for quantiles, (past, came) in zip(predictions, pairs, strict=True):
        missed = np.abs(came - quantiles[MIDDLE])
        lag = season if len(past) > season else 1
        step = float(np.abs(past[lag:] - past[:-lag]).mean())
        size = np.abs(came) + np.abs(quantiles[MIDDLE])
        rows.append(
            (
                pinball(came, quantiles) / float(np.concatenate([past, came]).mean()),
                float(missed.mean()) / step if step else np.nan,
                float(np.divide(2 * missed, size, out=np.zeros_like(size), where=size > 0).mean()),
                float(is_inside(came, quantiles).mean()),
            )
        )
    loss, mase, smape, inside = np.array(rows).T
    return Scores(loss=loss, mase=mase, smape=smape, inside=inside)


def difference(ours: FloatArray, theirs: FloatArray) -> tuple[float, float, float]:
    """Return ours less theirs as a share of theirs, with its 95 % interval over the series."""
    is_known = np.isfinite(ours) & np.isfinite(theirs)
    ours, theirs = ours[is_known], theirs[is_known]
    rows = np.random.default_rng(SEED).integers(0, len(ours), (RESAMPLINGS, len(ours)))
    draws = ours[rows].sum(axis=1) / theirs[rows].sum(axis=1) - 1
    low, high = np.quantile(draws, (0.025, 0.975))
    return float(ours.sum() / theirs.sum() - 1), float(low), float(high)


def print_set(name: str, folder: Path, methods: Sequence[str], every: int) -> None:
    season, read = SETS[name]
    pairs = list(recorded_pairs(*read(folder), season))[::every]
    own, _ = predictions_of(ours, pairs, season)
    reference = scores_of(own, pairs, season)
    print(
        f"{name}: {len(pairs)} series, to {max(KNOWN[season])} known, next {AHEAD[season]}\n"
        "method           loss    MASE   sMAPE  inside  ours less theirs, loss; MASE"
    )
    _print_row("ours", reference)
    by_method: dict[str, list[FloatArray]] = {}
    for method in methods:
        by_method[method], failures = predictions_of(METHODS[method], pairs, season)
        _print_row(method, scores_of(by_method[method], pairs, season), reference, failures)
    parts = [by_method[each] for each in MEAN_OF if each in by_method]
    if len(parts) > 1:
        means = [np.mean(each, axis=0) for each in zip(*parts, strict=True)]
        _print_row("mean", scores_of(means, pairs, season), reference)


def _print_row(
    method: str, scores: Scores, reference: Scores | None = None, failures: int = 0
) -> None:
    cells = [
        f"{method:15}",
        f"{decimals(float(scores.loss.mean()), 4):>6}",
        f"{decimals(float(np.nanmean(scores.mase)), 3):>6}",
        f"{percentage(float(scores.smape.mean())):>7}",
        f"{percentage(float(scores.inside.mean())):>7}",
    ]
    for mine, theirs in (
        ((reference.loss, scores.loss), (reference.mase, scores.mase)) if reference else ()
    ):
        share, low, high = difference(mine, theirs)
        cells.append(f"{share:+.1%} ({low:+.1%} to {high:+.1%})")
    print("  ".join(cells), f"({failures} failed)" if failures else "", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--method", action="append", choices=sorted(METHODS), default=[])
    parser.add_argument("--set", action="append", choices=sorted(SETS), default=[], dest="sets")
    parser.add_argument("--every", type=int, default=1, help="every nth series only")
    options = parser.parse_args()
    for name in options.sets or SETS:
        print_set(name, options.folder, options.method or list(METHODS), options.every)


if __name__ == "__main__":
    main()
