from dataclasses import replace

import pytest

from perfledger.records import Side
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.judge import judgement_of
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.chart.marks import BarMark, DotMark, LineMark, Tone
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.check.pair_plot import pair_chart, pairs_by_result

PAIRS = ((1.0, 1.18), (1.0, 1.2), (1.0, 1.17), (1.0, 1.19))


@pytest.fixture
def of_pairs(make):
    """Return a function that makes a test of pairs (base, head), numbered from 1 or as given."""

    def paired_test(pairs, numbers=None):
        return PairedTest(
            workload=make.GPT,
            metric=make.STEP_TIME,
            base=tuple(base for base, _ in pairs),
            head=tuple(head for _, head in pairs),
            numbers=numbers or tuple(range(1, len(pairs) + 1)),
        )

    return paired_test


@pytest.fixture
def judged_step_time(make, reports):
    """Return a function that finds the pairs of a step time in the report of a judged bundle."""

    def paired_test(bundle):
        report = replace(reports["regressed"], tests=judgement_of(bundle).tests)
        return pairs_by_result(report)[make.GPT, make.STEP_TIME.name]

    return paired_test


@pytest.fixture
def slower(make):
    return make.verdict(make.GPT, make.STEP_TIME, Outcome.REGRESSED, (1.0, 1.185), spread=0.013)


def test_dots_interval_and_margin_lie_on_one_axis(slower, of_pairs, marks_of):
    chart = pair_chart(slower, of_pairs(PAIRS), margin=0.01)

    assert chart is not None
    (band,), (interval,) = marks_of(chart, BarMark), marks_of(chart, LineMark)
    *pairs, estimate = marks_of(chart, DotMark)
    assert band.x == (-0.01, 0.01)
    assert [x for x, _ in interval.points] == [slower.estimate.low, slower.estimate.high]
    assert estimate.x == slower.estimate.change
    assert [dot.x for dot in pairs] == pytest.approx([0.18, 0.2, 0.17, 0.19])
    assert pairs[0].title.replace("\u00a0", " ") == "pair 1: +18.0 %"
    assert {dot.tone for dot in pairs} == {Tone.RED}


def test_many_pairs_do_not_make_a_tower(slower, of_pairs):
    few, many = (pair_chart(slower, of_pairs(PAIRS * times), margin=0.01) for times in (2, 50))

    assert few is not None
    assert many is not None
    assert few.height == many.height


@pytest.mark.parametrize("pairs", [(), ((0.0, 1.0),), ((1.0, float("inf")),)])
def test_there_is_no_plot_of_nothing(slower, of_pairs, pairs):
    assert pair_chart(slower, of_pairs(pairs), margin=0.01) is None


def test_there_is_no_plot_without_an_estimate(slower, of_pairs):
    assert pair_chart(replace(slower, estimate=None), of_pairs(PAIRS), margin=0.01) is None


def test_there_is_no_plot_of_counts_that_agree_under_no_margin(make, of_pairs):
    same = make.verdict(make.GPT, make.STEP_TIME, Outcome.UNCHANGED, (1.0, 1.0))

    assert pair_chart(same, of_pairs([(1.0, 1.0)]), margin=0.0) is None


def test_pairs_are_those_that_the_judge_saw(judged_step_time, bundle):
    paired_test = judged_step_time(bundle)

    assert len(paired_test.pairs) == 6
    assert paired_test.pairs[0] == pytest.approx((0.01229, 0.01453 * 1.004))


def test_a_dot_keeps_the_number_that_its_pair_was_measured_under(slower, of_pairs, marks_of):
    chart = pair_chart(slower, of_pairs(PAIRS, numbers=(1, 2, 4, 6)), margin=0.01)

    assert chart is not None
    assert [dot.title.partition(":")[0] for dot in marks_of(chart, DotMark)[:-1]] == [
        "pair 1",
        "pair 2",
        "pair 4",
        "pair 6",
    ]


def test_a_pair_beyond_the_plan_or_at_another_clock_is_not_drawn(judged_step_time, bundle):
    clocks = {1: 1410.0, 4: 1410.0}  # MHz, of head; pair 4 is beyond the plan
    runs = tuple(
        replace(run, clock_mhz=clocks.get(run.pair, 1980.0) if run.side is Side.HEAD else 1980.0)
        for run in bundle.runs
    )
    planned = replace(bundle, runs=runs, plan=replace(bundle.plan, looks=(2, 4)))

    paired_test = judged_step_time(planned)

    assert paired_test.numbers == (1, 3, 4)


def test_pairs_are_drawn_as_agreed(slower, of_pairs, matches_golden):
    chart = pair_chart(slower, of_pairs(PAIRS), margin=0.01)

    assert chart is not None
    matches_golden("pairs.svg", embedded_svg(chart, label="pairs"))
