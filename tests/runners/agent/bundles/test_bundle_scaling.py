"""Reading a bundle takes time and memory in proportion to its bytes, whatever they are."""

import gzip
import importlib
import json
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.value_checks import BundleError
from tests.runners.agent.bundles.test_files import BUNDLE

FACTOR = 8
# Twice as much as of a linear reader is noise; a quadratic one takes FACTOR times as much.
MOST = 3 * FACTOR


def duplicate_key(count):
    return b"{" + b",".join(b'"k%d":1' % n for n in (*range(count), count - 1)) + b"}"


def many_keys(count):
    return json.dumps({f"k{n}": n for n in range(count)}).encode()


def deep_texts(count):
    return b'{"' + b'":{"'.join([b"k" * 300] * 300) + b'":' + texts(count) + b"}" * 300


def texts(count):
    return json.dumps([{"a": "x"}] * count).encode()


def long_text(count):
    return json.dumps({"a": "x" * 10 * count}).encode()


def hostile_text(count):
    return json.dumps({"logs": "é" * 10 * count}, ensure_ascii=False).encode()


def long_number(count):
    return b'{"a":' + b"9" * 10 * count + b"}"


def open_lists(count):
    return b"[" * 10 * count


def packed_texts(count):
    return gzip.compress(texts(count), mtime=0)


SHAPES = (
    *(duplicate_key, many_keys, deep_texts, texts, long_text, hostile_text),
    *(long_number, open_lists, packed_texts),
)


def processor_seconds(data):
    """Return the least of a few: what interrupts a reading is not there every time."""
    seconds = []
    for _ in range(5):
        began = time.thread_time()
        with pytest.raises(BundleError):
            read_bundle(data)
        seconds.append(time.thread_time() - began)
    return min(seconds)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_processor_time_grows_with_the_bytes_and_not_with_their_square(shape):
    small, large = (processor_seconds(shape(count)) for count in (2000, 2000 * FACTOR))

    assert large <= MOST * max(small, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_memory_grows_with_the_bytes_and_not_with_their_depth(shape):
    data = shape(4000)
    tracemalloc.start()
    try:
        with pytest.raises(BundleError):
            read_bundle(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak <= 100 * (len(data) if shape is not packed_texts else len(texts(4000)))


def test_reading_a_large_bundle_takes_little_more_memory_than_the_bundle():
    runs = tuple(replace(run, pair=pair) for pair in range(500) for run in BUNDLE.runs)
    data = replace(BUNDLE, runs=runs).to_json().encode()
    read_bundle(data)  # what is imported and cached at first does not count
    tracemalloc.start()
    try:
        bundle = read_bundle(data)
        kept_bytes, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(bundle.runs) == 500 * len(BUNDLE.runs)
    assert peak_bytes <= kept_bytes + 1.5 * len(data)


@pytest.fixture
def fuzzing(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[4] / "benchmarks" / "fuzzing")
    return importlib.import_module("upload_fuzzing")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bundle", "gzipped bundle", "webhook: comment", "webhook: check"])
def test_damaged_input_is_refused_within_a_budget_of_processor_time_for_each_byte(fuzzing, name):
    reader = next(one for one in fuzzing.readers() if one.name == name)
    whole_inputs = fuzzing.tried(reader, texts(20_000), seconds_per_byte=1.0)
    budget = MOST * whole_inputs.seconds / whole_inputs.size_bytes

    damaged = fuzzing.inputs(reader, 300, seed=4)
    failures = [fuzzing.tried(reader, one, seconds_per_byte=budget).failure for one in damaged]

    assert set(failures) == {""}


def test_an_input_is_the_same_for_its_seed_and_another_for_another(fuzzing):
    reader = fuzzing.readers()[0]
    first, again, other = (list(fuzzing.inputs(reader, 5, seed=seed)) for seed in (1, 1, 2))

    assert first == again != other
