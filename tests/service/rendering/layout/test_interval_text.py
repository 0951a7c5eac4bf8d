import math

import pytest
from hypothesis import given, strategies as st

from perfledger_baselines.judging.verdict import EffectEstimate
from perfledger_service.rendering.layout.interval_text import WIDTH, interval_text
from perfledger_service.rendering.layout.number_format import NBSP


def an_estimate(**values):
    numbers = dict.fromkeys(("base", "head", "narrow_low", "narrow_high", "p_value"), 1.0)
    defaults = {"change": 0.05, "low": 0.03, "high": 0.07, "pairs": 6, "smallest_detectable": 0.1}
    return EffectEstimate(**(numbers | defaults | values))


def test_an_interval_is_drawn_beside_the_band_of_the_margin():
    text = interval_text(an_estimate(), margin=0.01).replace(NBSP, " ")

    assert text == ("   -1.0 % ░░░░░░░┊░░░░░░            ├─────────────●────────────┤ +7.0 %")


def test_pairs_are_dots_above_their_interval():
    dots, bar = interval_text(an_estimate(), margin=0.01, changes=(-0.02, 0.05)).split("\n")

    assert dots.count("\N{BULLET}") == 2
    assert dots.index("\N{BULLET}") < bar.index("\N{LIGHT SHADE}")
    assert dots.rindex("\N{BULLET}") == bar.index("\N{BLACK CIRCLE}")


@pytest.mark.parametrize(
    "values", [{"high": math.inf}, {"low": math.nan}, {"low": 0.0, "high": 0.0, "change": 0.0}]
)
def test_an_interval_without_a_scale_is_not_drawn(values):
    assert interval_text(an_estimate(**values), margin=0.0) == ""


@given(
    st.tuples(*[st.floats(-10, 10)] * 3).map(sorted),
    st.floats(0.001, 0.5),
    st.lists(st.floats(-10, 10), max_size=5),
)
def test_whatever_the_change_the_lines_fit_a_terminal_and_the_estimate_lies_in_its_interval(
    ends, margin, changes
):
    low, change, high = ends

    *dots, bar = interval_text(
        an_estimate(low=low, change=change, high=high), margin=margin, changes=changes
    ).split("\n")

    assert len(bar) <= WIDTH
    assert bar.count("\N{BLACK CIRCLE}") == 1
    assert len(dots) == (1 if changes else 0)
    assert all(1 <= line.count("\N{BULLET}") <= len(changes) for line in dots)


def test_a_wide_interval_with_its_pairs_is_drawn_as_agreed(matches_golden):
    text = interval_text(an_estimate(), margin=0.01, changes=(-0.02, 0.03, 0.05, 0.09))

    matches_golden("interval.txt", text)
