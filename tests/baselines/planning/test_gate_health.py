import pytest

from perfledger.metrics import STEP_TIME
from perfledger_baselines.planning.gate_health import (
    DetectableChange,
    GateCheck,
    GateSettings,
    gate_health,
)

SETTINGS = GateSettings(margin=0.02, budget_s=300.0, max_pairs=20)


def a_check(*, is_undecided, **values):
    return GateCheck(undecided_metrics=(STEP_TIME.name,) if is_undecided else (), **values)


def check_that_finds(
    change, *, pairs=8, is_undecided=False, workload="m:f", metric=STEP_TIME.name, **values
):
    detectable = (DetectableChange(workload=workload, metric=metric, change=change, pairs=pairs),)
    return a_check(is_undecided=is_undecided, detectable=detectable, **values)


def test_a_quiet_gate_needs_no_advice():
    health = gate_health([check_that_finds(0.01, held_s=120.0)] * 12, SETTINGS)

    assert (health.checks, health.undecided, health.minutes) == (12, 0, 2.0)
    assert (health.detectable, health.trend.change, health.trend.is_shown) == (0.01, 0.0, False)
    assert (health.margin, health.longer) == (None, None)
    assert not health.is_too_noisy


def test_a_gate_that_is_often_undecided_has_a_margin_or_pairs_that_would_do():
    """Half the change takes four times the pairs, and so four times as long."""
    checks = [check_that_finds(0.04, is_undecided=True, held_s=200.0)] * 10
    health = gate_health(checks, SETTINGS)

    assert health.is_too_noisy
    assert health.undecided_metrics == ((STEP_TIME.name, 10),)
    assert health.margin == 0.04
    assert health.longer is not None
    assert health.longer.pairs == 32
    assert health.longer.budget_s == pytest.approx(4 * 200)


def test_workloads_that_find_the_margin_take_no_longer():
    quiet = [check_that_finds(0.01, workload=f"m:{n}").detectable[0] for n in range(3)]
    noisy = check_that_finds(0.04, pairs=20).detectable
    checks = [a_check(is_undecided=True, detectable=(*quiet, *noisy), held_s=44.0)] * 10

    health = gate_health(checks, SETTINGS)

    assert health.longer.pairs == 80
    assert health.longer.budget_s == 300.0  # 104 s would do, but the gate has more already
    assert (health.margin, health.own_margins) == (0.04, ())


def test_one_of_many_workloads_has_a_margin_of_its_own():
    workloads = [check_that_finds(0.03, workload=f"m:{n}").detectable[0] for n in range(19)]
    noisy = check_that_finds(0.456, workload="m:noisy").detectable
    checks = [a_check(is_undecided=True, detectable=(*workloads, *noisy))] * 10

    health = gate_health(checks, SETTINGS)

    assert (health.margin, health.own_margins) == (0.03, (("m:noisy", 0.46),))


def test_more_pairs_than_anybody_measures_are_not_suggested():
    health = gate_health([check_that_finds(0.3, is_undecided=True)] * 10, SETTINGS)

    assert (health.margin, health.longer) == (0.3, None)


@pytest.mark.parametrize(("change", "margin"), [(0.98, 0.98), (0.995, None), (3.0, None)])
def test_a_margin_is_below_one(change, margin):
    health = gate_health([check_that_finds(change, is_undecided=True)] * 10, SETTINGS)

    assert (health.margin, health.reached) == (margin, change)


def test_every_metric_counts_for_the_margin_and_the_step_time_for_what_is_shown():
    energy = check_that_finds(0.06, metric="energy_per_step").detectable
    checks = [
        a_check(is_undecided=True, detectable=(*check_that_finds(0.01).detectable, *energy))
    ] * 10

    health = gate_health(checks, SETTINGS)

    assert (health.margin, health.reached) == (0.06, 0.06)
    assert (health.detectable, health.hardest.change) == (0.01, 0.01)


def test_a_gate_that_improved_is_not_too_noisy_for_its_past():
    checks = [check_that_finds(0.01)] * 16 + [check_that_finds(0.09, is_undecided=True)] * 80

    health = gate_health(checks, SETTINGS)

    assert (health.checks, health.judged, health.undecided) == (96, 20, 4)
    assert not health.is_too_noisy


def test_a_gate_that_finds_its_margin_has_no_better_one():
    health = gate_health([check_that_finds(0.02, is_undecided=True)] * 10, SETTINGS)

    assert health.is_too_noisy
    assert (health.margin, health.longer) == (None, None)


def test_a_margin_is_rounded_up_to_two_digits():
    health = gate_health([check_that_finds(0.04321, is_undecided=True)] * 10, SETTINGS)

    assert health.margin == 0.044


@pytest.mark.parametrize(
    ("undecided", "decided", "is_too_noisy"),
    [(9, 0, False), (10, 0, True), (5, 15, False), (6, 14, True)],
)
def test_a_quarter_of_ten_checks_and_more_is_too_much(undecided, decided, is_too_noisy):
    checks = [a_check(is_undecided=True)] * undecided + [a_check(is_undecided=False)] * decided

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
        a_check(is_undecided=False, is_false_alarm=True, is_shadow_false_alarm=False),
        a_check(is_undecided=False, is_false_alarm=False),
        a_check(is_undecided=False, is_shadow_false_alarm=False),
    ]

    health = gate_health(checks, None)

    assert health.false_alarms is not None
    assert (health.false_alarms.false, health.false_alarms.checks) == (1, 2)
    assert health.shadows is not None
    assert (health.shadows.false, health.shadows.checks) == (0, 2)


def test_what_no_check_tells_is_unknown():
    health = gate_health([a_check(is_undecided=True)], None)

    assert (health.false_alarms, health.shadows, health.minutes) == (None, None, None)
    assert (health.detectable, health.trend, health.hardest) == (None, None, None)


def test_a_gate_without_checks_is_refused():
    with pytest.raises(ValueError, match="give its checks"):
        gate_health([], SETTINGS)
