import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom

from perfledger_baselines.judging.false_alarms import false_alarm_rate


def test_a_gate_without_a_false_alarm_is_not_proven_perfect():
    rate = false_alarm_rate(false=0, checks=100)

    assert rate.low == 0.0
    assert rate.high == pytest.approx(3.7 / 100, rel=0.03)


def test_a_gate_that_is_always_red_may_be_just_that():
    assert false_alarm_rate(false=7, checks=7).high == 1.0


@given(st.integers(1, 200), st.data())
def test_the_ends_are_where_what_was_seen_is_just_possible(checks, data):
    false = data.draw(st.integers(0, checks))
    rate = false_alarm_rate(false=false, checks=checks)

    assert rate.low <= false / checks <= rate.high
    if false > 0:
        assert binom.sf(false - 1, checks, rate.low) == pytest.approx(0.025, rel=1e-6)
    if false < checks:
        assert binom.cdf(false, checks, rate.high) == pytest.approx(0.025, rel=1e-6)


@pytest.mark.parametrize(("false", "checks"), [(0, 0), (-1, 5), (6, 5)])
def test_what_cannot_have_been_is_an_error(false, checks):
    with pytest.raises(ValueError, match="use 0 <= false <= checks"):
        false_alarm_rate(false=false, checks=checks)
