"""A seeded, smaller run of benchmarks/fuzzing/trace_fuzzing.py, in this process."""

import importlib
from pathlib import Path

import pytest

from perfledger_profiles.formats import READERS
from tests.suite.tries import IS_CI

INPUTS = 400 if IS_CI else 40
SEED = 4


@pytest.fixture
def fuzzing(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "benchmarks" / "fuzzing")
    return importlib.import_module("trace_fuzzing")


@pytest.fixture
def seeds(fuzzing):
    return {format_: fuzzing.made_seeds()[format_] for format_ in READERS}


@pytest.mark.slow
@pytest.mark.parametrize("format_", READERS)
def test_no_damaged_file_breaks_a_reader(fuzzing, seeds, format_):
    chunk = fuzzing.tried(format_, range(INPUTS), SEED, seeds)

    assert chunk.failures == ()
    assert sum(chunk.counts.values()) == INPUTS


@pytest.mark.parametrize("format_", READERS)
def test_the_seeds_are_read_whole(fuzzing, seeds, format_, tmp_path):
    for data in seeds[format_]:
        profile = fuzzing.read(format_, data, tmp_path / "input")

        assert profile.dropped_events == 0


def test_an_input_is_the_same_for_its_number(fuzzing, seeds):
    mutated_files = [
        [fuzzing.mutated_file(one, n, SEED, seeds) for one in READERS for n in range(5)]
        for _ in "ab"
    ]

    assert mutated_files[0] == mutated_files[1]
    assert len(set(mutated_files[0])) > 40
