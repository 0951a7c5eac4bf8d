import pytest

from perfledger_baselines.planning.gate_health import (
    DetectableChange,
    GateCheck,
    GateSettings,
    gate_health,
)

SETTINGS = GateSettings(margin=0.02, budget_s=300.0)


def check_that_finds(change, *, pairs=8, is_undecided=False, workload="m:f", **values):
    detectable = (DetectableChange(workload=workload, change=change, pairs=pairs),)
    return GateCheck(is_undecided=is_undecided, detectable=detectable, **values)


def test_a_quiet_gate_needs_no_advice():
    health = gate_health([check_that_finds(0.01, held_s=120.0)] * 12, SETTINGS)

    assert (health.checks, health.undecided, health.minutes) == (12, 0, 2.0)
    assert (health.detectable, health.trend.change, health.trend.is_shown) == (0.01, 0.0, False)
    assert (health.margin, health.budget_s) == (None, None)
    assert not health.is_too_noisy


def test_a_gate_that_is_often_undecided_has_a_margin_and_a_budget_that_would_do():
    """Twice the margin takes four times the pairs, and so four times as long."""
    health = gate_health([check_that_finds(0.04, is_undecided=True)] * 10, SETTINGS)

    assert health.is_too_noisy
    assert health.margin == 0.04
    assert health.budget_s == pytest.approx(4 * 300)


def test_a_gate_that_finds_its_margin_has_no_better_one():
    health = gate_health([check_that_finds(0.02, is_undecided=True)] * 10, SETTINGS)

    assert health.is_too_noisy
    assert (health.margin, health.budget_s) == (None, None)


def test_a_margin_is_rounded_up_to_two_digits():
    health = gate_health([check_that_finds(0.04321, is_undecided=True)] * 10, SETTINGS)

    assert health.margin == 0.044


@pytest.mark.parametrize(
    ("undecided", "decided", "is_too_noisy"),
    [(9, 0, False), (10, 0, True), (5, 15, False), (6, 14, True)],
)
def test_a_quarter_of_ten_checks_and_more_is_too_much(undecided, decided, is_too_noisy):
    checks = [GateCheck(is_undecided=True)] * undecided + [GateCheck(is_undecided=False)] * decided

    assert gate_health(checks, SETTINGS).is_too_noisy is is_too_noisy


def test_the_newest_ten_checks_tell_what_is_found_now_and_all_of_them_the_trend():
    checks = [
        *[check_that_finds(0.01)] * 10,
        *[check_that_finds(0.03)] * 10,
        *[check_that_finds(0.9)] * 5,
    ]

    health = gate_health(checks, SETTINGS)

    assert health.detectable == 0.01
    assert health.trend.is_shown
    assert health.trend.high < 0
    assert health.trend.checks == 25


def test_the_hardest_workload_is_named():
    checks = [check_that_finds(0.01), check_that_finds(0.05, workload="m:g", pairs=20)] * 3

    health = gate_health(checks, SETTINGS)

    assert health.hardest == DetectableChange(workload="m:g", change=0.05, pairs=20)
    assert health.detectable == pytest.approx(0.03)


def test_false_alarms_are_counted_among_the_checks_that_could_show_one():
    checks = [
        GateCheck(is_undecided=False, is_false_alarm=True, is_shadow_false_alarm=False),
        GateCheck(is_undecided=False, is_false_alarm=False),
        GateCheck(is_undecided=False, is_shadow_false_alarm=False),
    ]

    health = gate_health(checks, None)

    assert health.false_alarms is not None
    assert (health.false_alarms.false, health.false_alarms.checks) == (1, 2)
    assert health.shadows is not None
    assert (health.shadows.false, health.shadows.checks) == (0, 2)


def test_what_no_check_tells_is_unknown():
    health = gate_health([GateCheck(is_undecided=True)], None)

    assert (health.false_alarms, health.shadows, health.minutes) == (None, None, None)
    assert (health.detectable, health.trend, health.hardest) == (None, None, None)


def test_a_gate_without_checks_is_refused():
    with pytest.raises(ValueError, match="give its checks"):
        gate_health([], SETTINGS)
