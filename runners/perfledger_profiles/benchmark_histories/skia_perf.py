"""Reads the files that Skia Perf ingests, version 1."""

import re
from collections.abc import Iterator, Mapping

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.json_object import JsonObject
from perfledger_profiles.benchmark_histories.result_units import base_unit, is_known_unit
from perfledger_profiles.benchmark_histories.results import BenchmarkResult
from perfledger_profiles.benchmark_histories.text import HistoryText

_VERSION = 1
# Keys for the unit or the direction; they are not part of a name.
_UNIT_KEYS = ("units", "unit")
_DIRECTION_KEY = "improvement_direction"
_DIRECTIONS = {"down": WorseDirection.HIGHER, "up": WorseDirection.LOWER}
_POSITION = re.compile(r"CP:(\d{1,12})")  # a commit position of Chromium
# Statistics that are not values of the measured quantity.
_NO_VALUES = frozenset({"count", "error", "std_dev", "stddev"})


def is_skia_perf(file: HistoryText) -> bool:
    """Return whether this is a file for Skia Perf."""
    return file.first_object().keys() >= {"version", "git_hash", "results"}


def read_skia_perf(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the measurements of all traces.

    The unit is the trace's `units`, else the name of its statistic if that is a unit ("ms"). The
    direction is its `improvement_direction`, else the unit's. The file has no time.
    """
    for item in file.objects():
        if item.optional_number("version") != _VERSION:
            item.reject("version", f"is not {_VERSION}", "Only this version of the format is read.")
        commit = item.text("git_hash")
        common = _keys(item)
        for result in item.children("results"):
            yield from _results(result, {**common, **_keys(result)}, commit)


def _keys(item: JsonObject) -> dict[str, str]:
    key = item.child("key")
    return {name: key.optional_text(name) for name in key.fields}


def _results(result: JsonObject, keys: Mapping[str, str], commit: str) -> Iterator[BenchmarkResult]:
    measurements = result.child("measurements")
    if not measurements.fields:  # Go leaves out a zero, so a missing measurement is 0
        value = result.number("measurement") if "measurement" in result.fields else 0.0
        yield _result(keys, "value", "", value, commit)
    for group in measurements.fields:
        for single in measurements.children(group):
            statistic = single.text("value")
            yield _result(keys, statistic, group, single.number("measurement"), commit)


def _result(
    keys: Mapping[str, str], statistic: str, group: str, value: float, commit: str
) -> BenchmarkResult:
    text = next((keys[key] for key in _UNIT_KEYS if keys.get(key)), "")
    unit = base_unit(text or (group if is_known_unit(group) else ""))
    worse = _DIRECTIONS.get(keys.get(_DIRECTION_KEY, ""), unit.worse)
    if statistic in _NO_VALUES:
        unit, worse = base_unit(""), None
    name = [
        f"{key}={word}"
        for key, word in sorted(keys.items())
        if key not in _UNIT_KEYS and key != _DIRECTION_KEY
    ]
    position = _POSITION.fullmatch(commit)
    return BenchmarkResult(
        benchmark=" ".join(name) or "trace",
        metric=f"{group}={statistic}" if group else statistic,
        value=value * unit.factor,
        unit=unit.name,
        worse=worse,
        commit=commit,
        place=float(position[1]) if position else None,
    )
