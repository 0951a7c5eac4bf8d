from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.records import Side
from perfledger_baselines.pairing import PairedTest
from perfledger_baselines.verdict import Outcome
from perfledger_service.pages.pair_plot import pair_plot, pairs_of
from perfledger_service.pages.scale import Scale, nice_ticks
from perfledger_service.pages.series_plot import drawable, series_data, series_plot

PAIRS = ((1.0, 1.18), (1.0, 1.2), (1.0, 1.17), (1.0, 1.19))


@pytest.fixture
def of_pairs(make):
    """Return a function that makes a test of pairs (base, head), numbered from 1 or as given."""

    def made(pairs, numbers=None):
        return PairedTest(
            workload=make.GPT,
            metric=make.STEP_TIME,
            base=tuple(base for base, _ in pairs),
            head=tuple(head for _, head in pairs),
            numbers=numbers or tuple(range(1, len(pairs) + 1)),
        )

    return made


@pytest.fixture
def slower(make):
    return make.verdict(make.GPT, make.STEP_TIME, Outcome.REGRESSED, (1.0, 1.185), spread=0.013)


def test_dots_interval_and_margin_lie_on_one_axis(slower, of_pairs):
    plot = pair_plot(slower, of_pairs(PAIRS), margin=0.01)

    assert plot is not None
    low, estimate, high = plot.bar
    assert plot.band[0] < plot.zero < plot.band[1] < low < estimate < high
    assert min(dot.x for dot in plot.dots) < estimate < max(dot.x for dot in plot.dots)
    assert plot.dots[0].title.replace("\u00a0", " ") == "pair 1: +18.0 %"
    assert all(0 < dot.y < plot.bar_y < plot.baseline < plot.height for dot in plot.dots)


def test_many_pairs_do_not_make_a_tower(slower, of_pairs):
    few, many = (pair_plot(slower, of_pairs(PAIRS * times), margin=0.01) for times in (2, 50))

    assert few is not None
    assert many is not None
    assert few.height == many.height


@pytest.mark.parametrize("pairs", [(), ((0.0, 1.0),), ((1.0, float("inf")),)])
def test_there_is_no_plot_of_nothing(slower, of_pairs, pairs):
    assert pair_plot(slower, of_pairs(pairs), margin=0.01) is None


def test_there_is_no_plot_without_an_estimate(slower, of_pairs):
    assert pair_plot(replace(slower, estimate=None), of_pairs(PAIRS), margin=0.01) is None


def test_there_is_no_plot_of_counts_that_agree_under_no_margin(make, of_pairs):
    same = make.verdict(make.GPT, make.STEP_TIME, Outcome.UNCHANGED, (1.0, 1.0))

    assert pair_plot(same, of_pairs([(1.0, 1.0)]), margin=0.0) is None


def test_pairs_are_those_that_the_judge_saw(make, bundle):
    found = pairs_of(bundle)[make.GPT, "step_time_p50"]

    assert len(found.pairs) == 6
    assert found.pairs[0] == pytest.approx((0.01229, 0.01453 * 1.004))


def test_a_dot_keeps_the_number_that_its_pair_was_measured_under(slower, of_pairs):
    plot = pair_plot(slower, of_pairs(PAIRS, numbers=(1, 2, 4, 6)), margin=0.01)

    assert plot is not None
    assert [dot.title.partition(":")[0] for dot in plot.dots] == [
        "pair 1",
        "pair 2",
        "pair 4",
        "pair 6",
    ]


def test_a_pair_beyond_the_plan_or_at_another_clock_is_not_drawn(make, bundle):
    clocks = {1: 1410.0, 4: 1410.0}  # MHz, of head; pair 4 is beyond the plan
    runs = tuple(
        replace(run, clock_mhz=clocks.get(run.pair, 1980.0) if run.side is Side.HEAD else 1980.0)
        for run in bundle.runs
    )
    planned = replace(bundle, runs=runs, plan=replace(bundle.plan, looks=(2, 4)))

    found = pairs_of(planned)[make.GPT, "step_time_p50"]

    assert found.numbers == (1, 3, 4)


@settings(max_examples=60, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_round_and_inside(low, width):
    ticks = nice_ticks(low, low + width)

    assert 1 <= len(ticks) <= 7 or width < 1e-9 * abs(low)
    assert all(low - width / 100 <= tick <= low + width * 1.01 for tick in ticks)


def test_there_is_one_tick_where_there_is_no_range():
    assert nice_ticks(2.0, 2.0) == (2.0,)


def test_a_scale_is_straight():
    scale = Scale(0.0, 10.0, 100.0, 200.0)

    assert [scale.at(value) for value in (0, 5, 10)] == [100.0, 150.0, 200.0]


def test_bases_are_a_line_with_a_band_and_heads_are_bars_beside_it(series):
    plot = series_plot(series)

    assert plot is not None
    assert len(plot.line.split()) == len(plot.base) == 12
    assert len(plot.band.split()) == 24
    assert len(plot.head) == len(plot.bars) == 4
    assert {bar.side for bar in plot.bars} == {Side.HEAD}
    assert all(bar.high < bar.low for bar in plot.bars)  # y grows downwards
    assert plot.unit == "ms"


def test_a_lone_base_has_a_bar_for_a_band_needs_two(series):
    plot = series_plot(replace(series, points=series.points[:1]))

    assert plot is not None
    assert [bar.side for bar in plot.bars] == [Side.BASE]


def test_a_flat_series_has_room_above_and_below(series):
    flat = tuple(
        replace(point, center=value, low=value, high=value)
        for point, value in zip(series.points, (0.0,) * 99, strict=False)
    )

    plot = series_plot(replace(series, points=flat))

    assert plot is not None
    assert {dot.y for dot in plot.base} == {138.0}


def test_what_is_no_number_is_not_drawn(series):
    broken = replace(series.points[0], high=float("nan"))

    assert drawable((broken, *series.points[1:])) == series.points[1:]
    assert series_plot(replace(series, points=(broken,))) is None
    assert series_data(replace(series, points=(broken,)))["x"] == []
