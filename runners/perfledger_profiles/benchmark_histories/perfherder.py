"""Reads Perfherder's results: a line in a log, or the same as a JSON file."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.json_object import JsonObject
from perfledger_profiles.benchmark_histories.result_units import BaseUnit, base_unit
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFileError,
)
from perfledger_profiles.benchmark_histories.text import HistoryText, parse_history

_MARK = "PERFHERDER_DATA:"


def is_perfherder(file: HistoryText) -> bool:
    """Return whether this file has results for Perfherder."""
    return _MARK in file.text or file.first_object().keys() >= {"framework", "suites"}


def read_perfherder(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the values of all suites and subtests; the replicates are the samples.

    Lower is better unless stated otherwise, as in Perfherder; if that default contradicts the unit,
    the direction is unknown. The file has no commit and no time.
    """
    for item in _objects(file):
        framework = item.child("framework").text("name")
        application = item.child("application").optional_text("name")
        prefix = " ".join(word for word in (framework, application) if word)
        for suite in item.children("suites"):
            name = " ".join((prefix, suite.text("name"), *_options(suite)))
            if suite.fields.get("value") is not None:
                yield replace(_result(suite), benchmark=name)
            for subtest in suite.children("subtests"):
                yield replace(_result(subtest), benchmark=f"{name} {subtest.text('name')}")


def _objects(file: HistoryText) -> Iterator[JsonObject]:
    if _MARK not in file.text:
        yield from file.objects()
        return
    for number, line in enumerate(file.text.splitlines(), start=1):
        _, mark, text = line.partition(_MARK)
        if not mark:
            continue
        where = f"{file.source}, line {number}"
        parsed = parse_history(text.strip().encode(errors="replace"), where)
        if not parsed.documents:
            msg = f"{where} has no JSON after {_MARK} Copy the log again."
            raise HistoryFileError(msg)
        yield from parsed.objects()


def _options(suite: JsonObject) -> list[str]:
    """Return the options that distinguish a suite from others of its name."""
    options = suite.fields.get("extraOptions")
    return sorted(map(str, cast("list[object]", options))) if isinstance(options, list) else []


def _result(test: JsonObject) -> BenchmarkResult:
    unit = base_unit(test.optional_text("unit"))
    replicates = test.numbers("replicates")
    return BenchmarkResult(
        benchmark="",
        metric={"s": "time", "B": "memory"}.get(unit.name, "value"),
        value=test.number("value") * unit.factor,
        unit=unit.name,
        worse=_direction(test, unit),
        samples=tuple(one * unit.factor for one in replicates if not math.isnan(one)),
    )


def _direction(test: JsonObject, unit: BaseUnit) -> WorseDirection | None:
    is_lower_better = test.flag("lowerIsBetter", default=True)
    worse = WorseDirection.HIGHER if is_lower_better else WorseDirection.LOWER
    is_stated = test.fields.get("lowerIsBetter") is not None
    return worse if is_stated or unit.worse in (None, worse) else None
