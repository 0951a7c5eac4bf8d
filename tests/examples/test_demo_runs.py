"""Runs of the demo become rows and totals; the plain loop alternates real child processes."""

import importlib.util
import sys

import pytest
from rich.console import Console


@pytest.fixture(scope="session")
def demo_runs(examples):
    """benchmarks/checks/demo_runs.py, which is no part of a package."""
    path = examples.parent / "benchmarks" / "checks" / "demo_runs.py"
    spec = importlib.util.spec_from_file_location("demo_runs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["demo_runs"] = module
    spec.loader.exec_module(module)
    return module


def verdict(workload, outcome, *, low=None, high=None, metric="step_time_p50"):
    return {
        "workload": workload,
        "metric": metric,
        "outcome": outcome,
        "low": low,
        "high": high,
    }


def loop_of(ratio, spread=0.001):
    """Forty pairs whose ratios lie evenly around one."""
    return {"pairs": [(1.0, ratio + spread * (number - 19.5)) for number in range(40)]}


def line(*, slow, innocent, ratio=1.3, seconds=200.0):
    return {
        "seconds": {"measured": seconds},
        "branches": [
            {"branch": "slow", "slower": "gpt", "verdicts": slow},
            {"branch": "innocent", "slower": "", "verdicts": innocent},
        ],
        "loop": loop_of(ratio),
    }


GOOD = line(
    slow=[verdict("gpt", "regressed", low=0.2, high=0.4), verdict("resnet", "unchanged")],
    innocent=[verdict("gpt", "unchanged"), verdict("gpt", "unchanged", metric="peak_memory")],
)
BAD = line(
    slow=[verdict("gpt", "undecided"), verdict("resnet", "regressed")],
    innocent=[verdict("gpt", "undecided"), verdict("resnet", "regressed")],
    seconds=400.0,
)


def test_a_good_run_is_found_contains_the_loop_and_stays_green(demo_runs):
    row = demo_runs.row_of(GOOD)

    assert (row.is_found, row.holds_loop, row.is_red, row.is_unchanged) == (True, True, False, True)


def test_a_bad_run_is_none_of_that(demo_runs):
    row = demo_runs.row_of(BAD)

    assert (row.is_found, row.holds_loop, row.is_red, row.is_unchanged) == (
        False,
        False,
        True,
        False,
    )


@pytest.mark.parametrize(
    ("ratio", "is_held"), [(1.2, True), (1.4, True), (1.19, False), (1.41, False)]
)
def test_an_interval_contains_its_ends(demo_runs, ratio, is_held):
    row = demo_runs.row_of({**GOOD, "loop": loop_of(ratio, spread=0.0)})

    assert row.holds_loop is is_held


@pytest.mark.parametrize(("ratio", "agrees"), [(1.195, True), (1.19, False), (1.405, True)])
def test_a_loop_agrees_whose_own_interval_reaches_that_of_the_check(demo_runs, ratio, agrees):
    row = demo_runs.row_of({**GOOD, "loop": loop_of(ratio)})

    assert not row.holds_loop
    assert row.agrees_with_loop is agrees


def test_a_loop_agrees_with_nothing_where_there_is_no_interval(demo_runs):
    assert not demo_runs.row_of(BAD).agrees_with_loop


def test_the_totals_stand_beside_their_goals(demo_runs):
    totals = demo_runs.totals_of([demo_runs.row_of(GOOD), demo_runs.row_of(BAD)])

    assert totals[0].endswith("1 of 2 (goal 10 of 10)")
    assert totals[2] == "the two intervals overlap: 1 of 2"
    assert totals[4] == "innocent branch red: 1 of 2 (goal 0)"
    assert totals[5].endswith("1 of 2 (goal 8 of 10)")
    assert totals[6].startswith("longest measuring part: 400 s")


def test_every_run_has_a_row(demo_runs):
    console = Console(width=160)
    with console.capture() as captured:
        console.print(demo_runs.table_of([demo_runs.row_of(GOOD), demo_runs.row_of(BAD)]))

    text = captured.get()
    assert "1.200 to 1.400" in text
    assert "undecided (!)" in text
    assert "RED: 1 regressed, 1 undecided" in text


def test_the_ratio_is_the_median_of_the_pairs(demo_runs):
    row = demo_runs.row_of({**GOOD, "loop": loop_of(1.3)})

    assert row.loop_ratio == pytest.approx(1.3)
    assert [row.loop_low, row.loop_high] == pytest.approx([1.2935, 1.3065])


@pytest.mark.slow(ci_only=True)
def test_the_plain_loop_takes_forty_pairs_of_turns(demo_runs, spinning, tmp_path):
    loop = demo_runs.plain_loop(spinning, "topic", "benchmarks.spin:add", tmp_path)

    assert len(loop["pairs"]) == demo_runs.PAIRS == 40
    assert all(base > 0 and head > 0 for base, head in loop["pairs"])
