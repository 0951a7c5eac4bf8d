"""The health of a project's gates, as its page and its reports use it."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest

from perfledger.bundle import Plan
from perfledger.records import Device, Machine
from perfledger_service.store import gate_checks
from perfledger_service.store.database import read_session
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.history.gate_health import (
    ProjectGates,
    gate_notes,
    priced_gates,
)
from perfledger_service.usecases.uploads.reports import UploadReports
from tests.cases import case

TOO_FINE = Plan(seed=1, order=("base",) * 4, looks=(4,), margin=0.0001, floor=0.0001)
SETTINGS = {"margin": 0.0001, "budget": 300.0, "max_pairs": 20}


@pytest.fixture
def check(engine, judged, make_bundle, now):
    def check(number, **values):
        usual = {"pairs": 4, "ratio": 1.0, "plan": TOO_FINE, "seed": number, "settings": SETTINGS}
        moment = now + timedelta(minutes=number)
        bundle = make_bundle(**(usual | values))
        return judged(engine, bundle, upload_id=f"{number:032x}", now=moment)

    return check


@pytest.mark.slow(ci_only=True)
def test_the_settings_of_the_newest_check_give_what_would_do(check, engine):
    for number in range(10):
        check(number)

    with read_session(engine) as session:
        (gate,) = ProjectGates().of_project(session, 1)

    assert gate.health.is_too_noisy
    assert gate.health.undecided == gate.health.checks == 10
    assert gate.health.shadows is not None
    assert gate.health.margin is not None
    assert gate.health.margin > SETTINGS["margin"]
    assert gate.health.undecided_metrics


def test_gates_are_computed_again_after_another_check(check, engine):
    gates = ProjectGates()
    check(0)

    with read_session(engine) as session:
        first = gates.of_project(session, 1)
        again = gates.of_project(session, 1)
    check(1)
    with read_session(engine) as session:
        (later,) = gates.of_project(session, 1)

    assert again is first
    assert [gate.health.checks for gate in first] == [1]
    assert later.health.checks == 2


@pytest.mark.slow(ci_only=True)
def test_settings_that_no_check_has_give_no_advice(check, engine):
    """Those of the newest check count: before each of these are others that give advice."""
    for number in range(9):
        check(number)

    for settings in (
        {},
        {"margin": 0.02, "budget": 300.0},
        SETTINGS | {"margin": "0.02"},
        SETTINGS | {"margin": 1e300},
        SETTINGS | {"budget": -1.0},
        SETTINGS | {"margin": True},
        SETTINGS | {"max_pairs": 0},
    ):
        number += 1
        check(number, settings=settings)
        with case(settings=settings), read_session(engine) as session:
            (gate,) = ProjectGates().of_project(session, 1)

            assert gate.health.is_too_noisy
            assert (gate.health.settings, gate.health.margin, gate.health.longer) == (None,) * 3


@pytest.mark.slow(ci_only=True)
def test_a_report_says_that_its_gate_was_too_noisy_before_it(check, engine):
    """The eleventh check is the first that has ten before it."""
    uploads = [check(number) for number in range(11)]

    with read_session(engine) as session:
        notes = [gate_notes(session, each) for each in uploads]
        report, _ = UploadReports(build_report).report(session, uploads[-1])

    assert notes[:10] == [()] * 10
    (note,) = notes[10]
    assert note.startswith("this gate is too noisy to be required: 10 of its last 10 checks")
    assert note in report.notes


def test_a_gate_that_is_used_seldom_is_not_crowded_out(check, engine, monkeypatch):
    monkeypatch.setattr(gate_checks, "MAX_CHECKS", 2)
    check(0, machine=Machine(device=Device.CPU, model="Rare CPU"))
    for number in range(1, 5):
        check(number)

    with read_session(engine) as session:
        gates = ProjectGates().of_project(session, 1)

    assert {gate.machine_class: gate.health.checks for gate in gates} == {
        "cpu:Rare CPU:1": 1,
        "cpu:Test CPU:1": 2,
    }


def test_a_gate_knows_its_last_conclusions_and_how_long_it_held_its_machine(check, engine):
    check(0, held_s=1800.0)
    check(1, ratio=1.2, held_s=None)

    with read_session(engine) as session:
        (gate,) = ProjectGates().of_project(session, 1)

    assert [upload_id[-1] for upload_id, _ in gate.conclusions] == ["1", "0"]
    assert gate.conclusions[0][1] == "failure"
    assert (gate.held_s, gate.timed) == (1800.0, 1)


@pytest.mark.parametrize(
    ("device_price", "machine_class", "usd"),
    [
        ("2.50", "cpu:Test CPU:1", "1.25"),
        ("2.50", "cuda:H100:8", "10.00"),
        ("p5.48xlarge/on_demand", "cuda:NVIDIA H100 80GB HBM3:1", None),
        ("p4d.24xlarge/on_demand", "cuda:NVIDIA H100 80GB HBM3:1", None),
        ("p5.48xlarge/on_demand", "cpu:Test CPU:1", None),
        ("", "cpu:Test CPU:1", None),
        ("free", "cpu:Test CPU:1", None),
        ("0", "cpu:Test CPU:1", None),
        ("NaN", "cpu:Test CPU:1", None),
        ("1e9", "cpu:Test CPU:1", None),
        ("9" * 300, "cpu:Test CPU:1", None),
        ("2.50", "cpu:Test CPU:*", None),
    ],
)
def test_checking_costs_what_the_setting_says_and_else_is_unknown(
    check, engine, device_price, machine_class, usd
):
    check(0, held_s=1800.0, settings=SETTINGS | {"device_price": device_price})
    with read_session(engine) as session:
        (gate,) = ProjectGates().of_project(session, 1)

    (priced,) = priced_gates([replace(gate, machine_class=machine_class)], today=date(2026, 11, 20))

    if device_price.startswith("p5") and "H100" in machine_class:
        assert priced.usd is not None
        assert 0 < priced.usd < 100  # half an hour of one device of the price sheet
    else:
        assert priced.usd == (None if usd is None else Decimal(usd))
