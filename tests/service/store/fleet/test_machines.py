"""Machines as their checks tell of them: told apart, counted, with their noise and time."""

import math
import statistics
from dataclasses import replace

import pytest

from perfledger.bundle import Plan
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Revision
from perfledger_service.store.database import read_session
from perfledger_service.store.fleet.machines import project_machines
from perfledger_service.store.gate_checks import MAX_CHECKS

GPU = Machine(
    device=Device.CUDA, model="NVIDIA H100 80GB HBM3", uuid="GPU-1", driver="570.1", cores=8
)


@pytest.fixture
def check(any_engine, judged, make_bundle):
    def check(number, **values):
        usual = {
            "pull_request": None,
            "head": Revision(sha="d" * 40),
            "pairs": 4,
            "samples": 2,
            "plan": Plan(seed=1, order=("base",) * 4, looks=(4,)),
            "seed": number,
            "created_at": f"2026-11-20T10:{number:02}:00+00:00",
        }
        return judged(any_engine, make_bundle(**(usual | values)), upload_id=f"{number:032x}")

    return check


@pytest.fixture
def machines(any_engine):
    def machines():
        with read_session(any_engine) as session:
            return project_machines(session, 1)

    return machines


def test_a_project_without_checks_has_no_machines(machines):
    assert machines() == ((), 0)


def test_devices_of_one_class_are_told_apart_by_their_id(check, machines):
    check(1, machine=GPU, held_s=30.0)
    check(2, machine=replace(GPU, uuid="GPU-2"), held_s=60.0)
    check(3, machine=GPU, held_s=15.0)

    views, checks = machines()

    assert checks == 3
    assert [(one.uuid, one.checks, one.held_s) for one in views] == [
        ("GPU-1", 2, 45.0),
        ("GPU-2", 1, 60.0),
    ]
    assert {one.machine_class for one in views} == {"cuda:NVIDIA H100 80GB HBM3:1"}


def test_a_machine_has_its_newest_state_check_and_times(check, machines):
    check(1, machine=GPU)
    check(2, machine=replace(GPU, driver="580.2"))
    check(3, machine=replace(GPU, driver="580.2", python="3.12"))

    ((view,), _) = machines()

    assert view.states == 2  # another Python is no state of the machine
    assert view.newest.driver == "580.2"
    assert view.newest.python == "3.12"
    assert view.newest_check == f"{3:032x}"
    assert (view.first_at.minute, view.last_at.minute) == (1, 3)


def test_hosts_without_an_id_are_told_apart_by_their_kind_alone(check, machines):
    host = Machine(device=Device.CPU, model="Xeon", cpu_model="Xeon", cores=8)
    check(1, machine=host)
    check(2, machine=replace(host, kernel="6.12"))
    check(3, machine=replace(host, cores=16))

    views, _ = machines()

    assert [(one.newest.cores, one.checks, one.states) for one in views] == [(8, 2, 2), (16, 1, 1)]


def with_ratios(bundle, ratios):
    """Return a bundle whose head's steps take so many times as long as base's, pair by pair."""
    runs = tuple(
        replace(run, samples={STEP_TIME.name: (0.01 * ratios[run.pair] ** (run.side == "head"),)})
        for run in bundle.runs
    )
    return {"runs": runs}


def test_the_noise_is_the_median_deviation_of_pairs_over_checks(check, machines, make_bundle):
    ratios = {1: (1.0, 1.02, 0.98, 1.05), 2: (1.0, 1.0, 1.0, 1.0), 3: (1.3, 1.2, 1.3, 1.2)}
    for number, of_check in ratios.items():
        check(number, **with_ratios(make_bundle(pairs=4, samples=1), of_check))

    ((view,), _) = machines()

    deviations = [statistics.stdev(map(math.log, of_check)) for of_check in ratios.values()]
    assert view.noise == pytest.approx(statistics.median(deviations), rel=1e-5)
    assert view.noise == pytest.approx(0.0296, rel=0.01)


def test_one_pair_has_no_noise(check, machines):
    check(1, pairs=1, plan=Plan(seed=1, order=("base",), looks=(1,)))

    ((view,), _) = machines()

    assert view.noise is None
    assert view.held_s is None


def test_undecided_checks_are_counted(check, machines):
    check(1, ratio=1.0)
    check(2, pairs=2, ratio=1.04, plan=Plan(seed=1, order=("base",) * 2, looks=(2,)))

    ((view,), _) = machines()

    assert (view.checks, view.undecided) == (2, 1)


def test_only_the_newest_checks_count(check, machines, monkeypatch):
    monkeypatch.setattr("perfledger_service.store.fleet.machines.MAX_CHECKS", 2)
    check(1, machine=GPU)
    check(2)
    check(3)

    views, checks = machines()

    assert MAX_CHECKS == 100
    assert checks == 2
    assert [one.uuid for one in views] == [""]
