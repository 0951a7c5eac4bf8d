from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.profile import Bucket
from perfledger_profiles.diff.cause import BucketChange, StepTimeExplanation
from perfledger_service.rendering.chart.marks import BarMark
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.trace.waterfall import (
    BarKind,
    diagram_label,
    waterfall_chart,
    waterfall_diagram,
    waterfall_rows,
    waterfall_text,
)

seconds = st.floats(0, 1e3)


def an_explanation(changes, **values):
    """Return an explanation whose buckets have these seconds on base and head."""
    buckets = tuple(
        BucketChange(bucket=bucket, base_seconds=base, head_seconds=head)
        for bucket, (base, head) in zip(Bucket, changes, strict=False)
    )
    known_fields = {
        "base_step_seconds": sum(base for base, _ in changes),
        "head_step_seconds": sum(head for _, head in changes),
    }
    return StepTimeExplanation(
        workload="w",
        causes=(),
        rest_seconds=0.0,
        is_attributable=True,
        buckets=buckets,
        **(known_fields | values),
    )


@given(st.lists(st.tuples(seconds, seconds), min_size=1, max_size=9))
@settings(max_examples=60)
def test_each_bar_begins_where_the_one_before_it_ended_and_the_last_is_heads_step(changes):
    explanation = an_explanation(changes)

    base, *buckets, head = waterfall_rows(explanation)

    at = base.last_seconds
    for row in buckets:
        assert row.first_seconds == pytest.approx(at)
        at = row.last_seconds
    assert at == pytest.approx(head.last_seconds, rel=1e-5, abs=1e-9)
    assert (base.first_seconds, head.first_seconds) == (0.0, 0.0)
    assert head.last_seconds == explanation.head_step_seconds


@given(st.lists(st.tuples(seconds, seconds), min_size=1, max_size=9))
@settings(max_examples=60)
def test_all_of_a_chart_lies_inside_of_it_and_a_line_fits_a_terminal(changes):
    chart = waterfall_chart(an_explanation(changes))

    assert chart is not None
    bars = [mark for mark in chart.marks if isinstance(mark, BarMark)]
    assert all(-1e-6 <= chart.x.share(end) <= 1 + 1e-6 for bar in bars for end in bar.x or ())
    assert all(0 <= chart.y.share(end) <= 1 for bar in bars for end in bar.y or ())
    assert max(map(len, waterfall_text(an_explanation(changes)).splitlines())) <= 74


def test_an_explanation_without_buckets_has_no_waterfall():
    explanation = an_explanation([])

    assert waterfall_rows(explanation) == ()
    assert waterfall_text(explanation) == ""
    assert waterfall_chart(explanation) is None


def test_a_bucket_without_any_time_has_no_row():
    rows = waterfall_rows(an_explanation([(1.0, 2.0), (0.0, 0.0), (0.5, 0.5)]))

    assert [row.name for row in rows] == ["base", "compute", "host copies", "head"]


def test_what_the_buckets_miss_is_a_row_of_its_own():
    rows = waterfall_rows(an_explanation([(1.0, 1.5)], head_step_seconds=1.75))

    assert [(row.name, row.kind) for row in rows[2:]] == [
        ("in no bucket", BarKind.SLOWER),
        ("head", BarKind.STEP),
    ]


@pytest.mark.parametrize(("missed", "rows"), [(0.8e-6, 3), (1.2e-6, 4)])
def test_what_the_buckets_miss_is_rounding_up_to_a_millionth_of_the_step(missed, rows):
    explanation = an_explanation([(1.0, 1.5)], head_step_seconds=1.5 * (1 + missed))

    assert len(waterfall_rows(explanation)) == rows


def test_what_only_the_timing_shows_stands_behind_heads_step():
    explanation = an_explanation([(1.0, 1.5)], residual_seconds=0.25)

    last = waterfall_rows(explanation)[-1]

    assert (last.kind, last.first_seconds, last.last_seconds) == (BarKind.RESIDUAL, 1.5, 1.75)


def test_a_change_that_the_same_code_shows_too_is_marked_as_noise():
    explanation = an_explanation([(1.0, 1.001)])
    (change,) = explanation.buckets

    noisy = replace(explanation, buckets=(replace(change, noise_seconds=0.002),))

    assert waterfall_rows(explanation)[1].kind is BarKind.SLOWER
    assert waterfall_rows(noisy)[1].kind is BarKind.NOISE


def test_a_small_change_is_not_hidden_by_an_axis_from_zero(marks_of):
    small = waterfall_chart(an_explanation([(1.0, 1.01)]))
    large = waterfall_chart(an_explanation([(1.0, 2.0)]))

    assert small is not None
    assert large is not None
    first, last = marks_of(small, BarMark)[1].x
    assert small.x.share(last) - small.x.share(first) > 0.4
    assert small.caption.replace("\u00a0", " ") == "the axis begins at 995 ms"
    assert large.caption == ""


@pytest.mark.parametrize(("base", "is_cut"), [(0.91, True), (0.88, False)])
def test_an_axis_begins_above_zero_for_changes_below_a_tenth(base, is_cut):
    chart = waterfall_chart(an_explanation([(base, 1.0)]))

    assert chart is not None
    assert bool(chart.caption) is is_cut
    assert (chart.x.low > 0) is is_cut


@pytest.mark.parametrize("value", [1e300, 1e-300, float("inf"), 5e-324])
def test_times_that_no_step_takes_are_no_accident(value):
    explanation = an_explanation([(value, value / 2)])

    assert isinstance(waterfall_text(explanation), str)
    assert waterfall_chart(explanation) is None or waterfall_rows(explanation)


def test_a_waterfall_is_drawn_as_agreed(matches_golden):
    explanation = an_explanation([(1.0, 1.5), (0.5, 0.25), (0.01, 0.012)], head_step_seconds=1.9)

    chart = waterfall_chart(explanation)

    matches_golden("waterfall.txt", waterfall_text(explanation))
    assert chart is not None
    matches_golden("waterfall.svg", embedded_svg(chart, label="step"))


def test_the_diagram_has_the_rows_of_the_waterfall_and_covers_what_did_not_change():
    explanation = an_explanation([(0.010, 0.012), (0.002, 0.001)], residual_seconds=0.001)

    style, kind, names, axis, *bars = waterfall_diagram(explanation).split("\n")

    assert style.startswith('%%{init: {"theme": "base"')
    assert kind == "xychart-beta horizontal"
    assert names.strip().replace("\N{NO-BREAK SPACE}", " ") == (
        'x-axis ["base 12.0 ms", "compute +2.00 ms", "communication -1.00 ms", "head 13.0 ms"]'
    )
    assert axis.strip() == 'y-axis "ms" 0 --> 14'
    assert [one.strip() for one in bars] == [
        "bar [0, 14, 0, 0]",
        "bar [0, 0, 14, 0]",
        "bar [12, 12, 13, 13]",
    ]
    assert waterfall_diagram(an_explanation([])) == ""


@given(st.lists(st.tuples(seconds, seconds), min_size=1, max_size=9))
@settings(max_examples=60)
def test_no_bar_of_a_diagram_leaves_its_axis(changes):
    lines = waterfall_diagram(an_explanation(changes)).split("\n")

    low, high = map(float, lines[3].partition('" ')[2].split(" --> "))
    for line in lines[4:]:
        values = [float(one) for one in line.partition("[")[2].rstrip("]").split(", ")]
        assert len(values) == lines[2].count('"') / 2
        assert all(low - 1e-5 * high <= one <= high * (1 + 1e-5) for one in values)


@given(st.text())
def test_nothing_ends_the_quotes_of_a_label(text):
    label = diagram_label(text)

    assert (label[0], label[-1]) == ('"', '"')
    assert not set('"`#;<>{}[]\\%\n') & set(label[1:-1])


def test_names_of_a_repository_are_not_in_a_diagram():
    hostile = 'x"] bar [1]\n%%{init: {}}%%'
    explanation = replace(an_explanation([(1.0, 2.0)]), workload=hostile, note=hostile)

    assert waterfall_diagram(explanation) == waterfall_diagram(an_explanation([(1.0, 2.0)]))
