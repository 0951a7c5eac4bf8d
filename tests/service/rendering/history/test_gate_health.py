from dataclasses import replace
from decimal import Decimal

import pytest

from perfledger_baselines.judging.false_alarms import false_alarm_rate
from perfledger_baselines.planning.detectability_trend import DetectabilityTrend
from perfledger_baselines.planning.gate_health import (
    DetectableChange,
    GateHealth,
    GateSettings,
    LongerCheck,
)
from perfledger_service.rendering.history.gate_health import gate_advice, gate_rows
from perfledger_service.values.branch_views import GateView

UNKNOWN = GateHealth(
    checks=1,
    judged=1,
    undecided=0,
    undecided_metrics=(),
    false_alarms=None,
    shadows=None,
    minutes=None,
    detectable=None,
    trend=None,
    hardest=None,
    reached=None,
    settings=None,
    margin=None,
    own_margins=(),
    longer=None,
)
NOISY = GateHealth(
    checks=40,
    judged=20,
    undecided=6,
    undecided_metrics=(("step_time_p50", 5), ("kernels", 2)),
    false_alarms=false_alarm_rate(false=0, checks=60),
    shadows=false_alarm_rate(false=1, checks=38),
    minutes=2.5,
    detectable=0.012,
    trend=DetectabilityTrend(change=-0.12, low=-0.2, high=-0.03, checks=24),
    hardest=DetectableChange(workload="gpt:step", change=0.05, pairs=20),
    reached=0.0432,
    settings=GateSettings(margin=0.02, budget_s=600.0, max_pairs=20),
    margin=0.044,
    own_margins=(),
    longer=LongerCheck(pairs=97, budget_s=1210.0),
)


def sentences(health):
    (row,) = gate_rows([GateView(machine_class="cuda:NVIDIA H100 80GB HBM3:1", health=health)])
    return row, [each.replace("\N{NO-BREAK SPACE}", " ") for each in row.sentences]


def test_what_is_not_known_says_so_and_how_to_learn_it():
    row, sentence = sentences(UNKNOWN)

    assert not row.is_too_noisy
    assert row.advice == ""
    assert sentence[0] == "0 of the last 1 check was undecided (0 %)"
    assert sentence[1].startswith("the false-alarm rate is unknown: no check has compared a commit")
    assert "perfledger check --base HEAD --head HEAD" in sentence[1]
    assert sentence[2:] == ["the smallest detectable change is unknown: no check had enough pairs"]


def test_a_noisy_gate_has_its_figures_with_their_bounds():
    row, sentence = sentences(NOISY)

    assert row.is_too_noisy
    assert sentence == [
        "6 of the last 20 checks were undecided (30 %): step time in 5, kernels in 2",
        (
            "0 of 60 checks of unchanged code failed: the false-alarm rate is at most 6.0 % with "
            "95 % confidence"
        ),
        (
            "with the sides of 38 checks exchanged at random, 1 failed: noise alone fails 0.07 to "
            "13.8 % of checks, with 95 % confidence"
        ),
        (
            "its recent checks typically detect a change of 1.2 % in step time (smaller: -12.0 % "
            "(-20.0 to -3.0) per 10 checks, from the last 24); "
            "the hardest workload is gpt:step, with 5.0 % from 20 pairs"
        ),
        "a typical check holds its machine for 2.5 min",
    ]


def test_advice_is_settings_that_can_be_copied():
    own = replace(NOISY, own_margins=(("gpt:step", 0.09), ("gpt:load", 0.3)))

    assert gate_advice(NOISY) == (
        "set margin = 0.044, which most workloads can detect now; or keep margin = 0.02 and "
        'measure longer: max_pairs = 97 and budget = "21m"'
    )
    assert "of its own for each of these workloads: gpt:step 0.09, gpt:load 0.3;" in gate_advice(
        own
    )
    many = replace(NOISY, own_margins=tuple((f"m:{n}", 0.5) for n in range(7)))
    assert "m:4 0.5 and 2 more; or keep" in gate_advice(many)
    assert gate_advice(replace(NOISY, longer=None)).endswith(
        "1,000 pairs are not enough for margin = 0.02"
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"undecided": 5}, ""),
        ({"settings": None, "margin": None}, "does not say which settings"),
        ({"margin": None, "reached": 0.02}, "most workloads can detect margin = 0.02"),
        ({"margin": None, "reached": 0.996}, "many workloads detect no change below 99 %"),
        ({"margin": None, "reached": None}, "no check had enough pairs"),
        ({"detectable": None, "hardest": None}, "set margin = 0.044"),
    ],
)
def test_a_gate_that_is_too_noisy_always_has_advice(values, words):
    advice = gate_advice(replace(NOISY, **values))

    assert words in advice
    assert bool(advice) is bool(words)


@pytest.mark.parametrize("machine_class", ["cpu::1", "<script>", ""])
def test_any_machine_class_has_a_row(machine_class):
    (row,) = gate_rows([GateView(machine_class=machine_class, health=UNKNOWN)])

    assert row.sentences


def test_a_gate_shows_its_last_verdicts_what_is_open_and_what_it_cost():
    gate = GateView(
        machine_class="cuda:H100:2",
        health=NOISY,
        conclusions=(("1" * 32, "success"), ("2" * 32, "failure"), ("3" * 32, "action_required")),
        held_s=5400.0,
        timed=30,
        usd=Decimal("7.5"),
    )

    (row,) = gate_rows([gate])

    assert [(one.sign, one.word) for one in row.conclusions] == [
        ("\N{CHECK MARK}", "passed"),
        ("\N{MULTIPLICATION SIGN}", "failed"),
        ("?", "undecided"),
    ]
    assert row.to_decide == 0
    assert row.noise_floor.replace("\u00a0", " ") == "1.2 %"
    assert row.false_alarms.replace("\u00a0", " ") == "at most 6.0 %"
    assert row.spent.replace("\u00a0", " ") == "1.5 h, 30 checks"
    assert row.usd.replace("\u00a0", " ") == "7.50 USD"


def test_what_a_gate_does_not_know_is_unknown_and_never_zero():
    (row,) = gate_rows([GateView(machine_class="cpu:A:1", health=UNKNOWN)])
    (exchanged,) = gate_rows(
        [GateView(machine_class="cpu:A:1", health=replace(NOISY, false_alarms=None))]
    )

    assert (row.noise_floor, row.false_alarms, row.spent, row.usd) == ("unknown",) * 4
    assert exchanged.false_alarms.endswith("*")


@pytest.mark.parametrize(
    ("change", "low", "high", "text"),
    [(0.1, 0.02, 0.2, "(larger: +10"), (0.1, -0.02, 0.2, "(no clear trend: +10")],
)
def test_a_trend_says_its_direction_only_where_its_interval_does(change, low, high, text):
    trend = DetectabilityTrend(change=change, low=low, high=high, checks=24)

    _, sentence = sentences(replace(NOISY, trend=trend))

    assert any(text in each for each in sentence)
