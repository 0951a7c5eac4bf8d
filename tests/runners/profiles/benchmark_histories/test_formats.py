"""Formats are told apart by content, and no content whatever is more than an error."""

import copy
import json
import math
import random

import pytest

from perfledger_profiles.benchmark_histories import formats
from perfledger_profiles.benchmark_histories.commit_order import order_history
from perfledger_profiles.benchmark_histories.formats import history_format, read_results
from perfledger_profiles.benchmark_histories.results import (
    HistoryFileError,
    HistoryFormat,
)
from perfledger_profiles.benchmark_histories.text import parse_history
from tests.runners.profiles import history_samples as samples
from tests.runners.profiles.benchmark_histories.conftest import RECORDINGS, parsed
from tests.suite.tries import tries

CONTENTS = {
    HistoryFormat.PYTEST_BENCHMARK: RECORDINGS / "pytest_benchmark_with_rounds.json",
    HistoryFormat.ASV: RECORDINGS / "asv" / "box" / "019085a6-existing-py.json",
    HistoryFormat.GOOGLE_BENCHMARK: RECORDINGS / "google_benchmark.json",
    HistoryFormat.MLPERF: RECORDINGS / "mlperf.log",
    HistoryFormat.BENCHER: samples.BENCHER_PERF,
    HistoryFormat.ACTION_BENCHMARK: samples.ACTION,
    HistoryFormat.VLLM: samples.VLLM_SERVE,
    HistoryFormat.PYTORCH: samples.PYTORCH_V3,
    HistoryFormat.NVBENCH: samples.NVBENCH,
    HistoryFormat.LNT: samples.LNT,
    HistoryFormat.PERFHERDER: samples.PERFHERDER,
    HistoryFormat.SKIA_PERF: samples.SKIA_PERF,
    HistoryFormat.OTAVA: samples.OTAVA_CSV,
    HistoryFormat.CSV: samples.PLAIN_CSV,
}
FORMATS = sorted(HistoryFormat)
OF_LINES = {HistoryFormat.OTAVA, HistoryFormat.CSV, HistoryFormat.MLPERF}
TRIES = tries(160)
STRANGE = [None, True, -1, 0, 1e308, math.nan, math.inf, 10**400, "", "x" * 3000, "\x00", [], {}]
STRANGE += [[[]], {"value": {}}, [None], "9" * 40, 2**63]


def text_of(format_):
    content = CONTENTS[format_]
    if hasattr(content, "read_text"):
        return content.read_text(encoding="utf-8")
    return content if isinstance(content, str) else json.dumps(content)


def read(text, format_):
    """Read and order a text with the other files of its format; its results or the error."""
    files = [parsed(text)]
    if format_ is HistoryFormat.ASV:
        path = RECORDINGS / "asv" / "benchmarks.json"
        files.append(parse_history(path.read_bytes(), "benchmarks.json"))
    return order_history(read_results(files, format_))


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_is_known_by_its_content(format_):
    assert history_format(parsed(text_of(format_))) is format_


@pytest.mark.parametrize(
    "content", [samples.ACTION_SCRIPT, samples.BENCHER_BMF, samples.PERFHERDER_LOG]
)
def test_so_are_its_other_forms(content):
    assert history_format(parsed(content)) is not None


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", "[1, 2]", '{"values": [1]}', "ms\n1\n2\n", "x"]
)
def test_any_other_content_is_of_no_format(content):
    assert history_format(parsed(content)) is None


@pytest.mark.parametrize(
    "columns",
    [
        {"commit": "a", "request_throughput": 3.0},
        {"machine": "a", "version": 1, "ms": 3.0},
        {"version": 1, "git_hash": "a", "results": 3.0},
        {"name": "a", "unit": "ms", "value": 3.0},
    ],
)
def test_a_table_is_of_no_format_whatever_its_columns_are_called(columns):
    assert history_format(parsed([columns, columns])) is None


@pytest.mark.parametrize("format_", [one for one in FORMATS if one is not HistoryFormat.PYTORCH])
def test_every_sample_is_a_history(format_):
    history = read(text_of(format_), format_)

    assert history.series


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("content", ["", "{}", "[]", "[1]", '{"results": 5}', "a,b\n", "text"])
def test_other_content_read_by_force_is_an_error(format_, content):
    with pytest.raises(HistoryFileError):
        read(content, format_)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_file_that_is_cut_off_is_an_error_or_a_shorter_history(format_):
    text, rng = text_of(format_).rstrip(), random.Random(1)
    for _ in range(TRIES):
        cut = text[: rng.randrange(1, len(text))]
        try:
            read(cut, format_)
        except HistoryFileError:
            continue
        assert format_ in OF_LINES


def places_of(document, path=()):
    """Yield the path of every value of a document."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places_of(value, (*path, key))


@pytest.mark.parametrize("format_", [one for one in FORMATS if one not in OF_LINES])
def test_a_strange_value_anywhere_is_an_error_or_is_not_read(format_):
    document, rng = json.loads(text_of(format_)), random.Random(2)
    places = list(places_of(document))
    for _ in range(3 * TRIES):
        changed = copy.deepcopy(document)
        *path, last = rng.choice(places)
        parent = changed
        for key in path:
            parent = parent[key]
        if isinstance(parent, dict) and rng.random() < 0.3:
            del parent[last]
        else:
            parent[last] = rng.choice(STRANGE)
        try:
            history = read(json.dumps(changed), format_)
        except HistoryFileError as error:
            assert len(str(error)) < 600  # noqa: PT017 - either is fine
            continue
        for series in history.series:
            assert not any(map(math.isinf, series.values))


@pytest.mark.parametrize("format_", sorted(OF_LINES))
def test_strange_characters_in_text_are_an_error_or_are_not_read(format_):
    text, rng = text_of(format_), random.Random(3)
    for _ in range(3 * TRIES):
        place = rng.randrange(len(text))
        strange = rng.choice(["\x00", '"', ",", "\n", "{", "9" * 500, "\ud7ff", "-", ":::MLLOG {"])
        try:
            history = read(text[:place] + strange + text[place + 1 :], format_)
        except HistoryFileError:
            continue
        for series in history.series:
            assert not any(map(math.isinf, series.values))


def test_a_history_of_too_many_results_is_an_error(monkeypatch):
    monkeypatch.setattr(formats, "MAX_RESULTS", 2)

    with pytest.raises(HistoryFileError, match="more than 2 results"):
        read(samples.ACTION_SCRIPT, HistoryFormat.ACTION_BENCHMARK)


@pytest.mark.parametrize(
    ("name", "format_", "series", "values"),
    [
        ("action_benchmark.js", HistoryFormat.ACTION_BENCHMARK, 2, [23650.877700000023e-9]),
        ("perfherder.log", HistoryFormat.PERFHERDER, 4, [156.62339401245117]),
        ("otava.csv", HistoryFormat.OTAVA, 2, [154023, 138455, 143112, 149190, 132098]),
    ],
)
def test_files_that_others_made_are_known_and_read(name, format_, series, values):
    file = parse_history((RECORDINGS / name).read_bytes(), name)

    history = order_history(read_results([file], format_))

    assert history_format(file) is format_
    assert len(history.series) == series
    assert history.series[0].values[: len(values)] == pytest.approx(values)
