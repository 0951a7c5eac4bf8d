from dataclasses import replace

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.protocol import MeasuringEffort
from perfledger.records import Failure, FailureReason, Run, Side
from perfledger_runners.children.answer_socket import PairedSocket
from perfledger_runners.children.protocol_parser import TurnMessage
from perfledger_runners.machine.telemetry import NoTelemetry
from perfledger_runners.measuring import measured_pair
from perfledger_runners.measuring.interleaving import stop_point
from perfledger_runners.measuring.measured_pair import MeasuredPair, PairMeasurement
from perfledger_runners.measuring.rounds.progress import NoProgress

FINE = """
@perfledger.workload()
def a():
    return lambda: sum(range(100))

@perfledger.workload()
def b():
    return lambda: sum(range(100))
"""
A, B = "benchmarks.w:a", "benchmarks.w:b"


def run(workload, side):
    return Run(
        workload=workload,
        side=side,
        pair=0,
        position=0,
        process=0,
        started_at="2026-11-20T00:00:00Z",
        samples={STEP_TIME.name: (1.0,)},
    )


def test_a_workload_is_complete_with_a_run_of_each_side_and_no_failure():
    failure = Failure(workload="b", side=Side.HEAD, why=FailureReason.THROTTLED, detail="hot")
    runs = [run(name, side) for name in "ab" for side in Side]

    pair = MeasuredPair(
        pair=0,
        workloads=("a", "b", "c"),
        runs=(*runs, run("c", Side.BASE)),
        failures=(failure,),
    )

    assert pair.complete() == ((runs[0], runs[1]),)


@pytest.mark.parametrize("first", Side)
def test_the_first_side_begins_and_processes_are_numbered_on(answering, sides, first):
    measurement = PairMeasurement(
        harness=answering,
        requests=sides(FINE),
        telemetry=NoTelemetry(),
        progress=NoProgress(),
        check_run=lambda _: None,
    )

    pair = measurement.measure([A, B], pair=3, first=first, process=7)

    assert [(run.side, run.process, run.position) for run in pair.runs][::2] == [
        (first, 7, 0),
        (next(side for side in Side if side is not first), 8, 1),
    ]
    assert {run.pair for run in pair.runs} == {3}
    assert pair.processes == 2
    assert pair.seconds.keys() == {A, B}
    assert [base.workload for base, _ in pair.complete()] == [A, B]


class TurnCores:
    """Records on which core a turn begins, after the one that either child reported last."""

    def __init__(self, monkeypatch):
        self.last_core, self.turns = None, []
        start_turn = PairedSocket.start_turn

        def start_and_record(answers, core=None):
            self.turns.append((self.last_core, core))
            start_turn(answers, core)

        def stop_and_record(message):
            if isinstance(message, TurnMessage):
                self.last_core = message.core
            return stop_point(message)

        monkeypatch.setattr(PairedSocket, "start_turn", start_and_record)
        monkeypatch.setattr(measured_pair, "stop_point", stop_and_record)


def test_both_sides_take_their_turns_on_one_core(harness, sides, monkeypatch):
    cores = TurnCores(monkeypatch)
    requests = {side: replace(each, is_interleaved=True) for side, each in sides(FINE).items()}
    measurement = PairMeasurement(
        harness=harness,
        requests=requests,
        telemetry=NoTelemetry(),
        progress=NoProgress(),
        check_run=lambda _: None,
    )

    pair = measurement.measure([A], pair=0, first=Side.BASE, process=0)

    assert len(pair.complete()) == 1
    assert len([core for _, core in cores.turns if core is not None]) > 4
    # Each turn begins where the last one, of either side, ended.
    assert [core for _, core in cores.turns] == [last for last, _ in cores.turns]


def test_a_workload_takes_no_more_turns_than_its_pair_is_planned_to_have(harness, sides):
    effort = MeasuringEffort(min_steps=1, max_seconds=0.3)
    measurement = PairMeasurement(
        harness=harness,
        requests={
            side: replace(each, is_interleaved=True, effort=effort)
            for side, each in sides(FINE).items()
        },
        telemetry=NoTelemetry(),
        progress=NoProgress(),
        check_run=lambda _: None,
    )

    pair = measurement.measure([A, B], pair=1, first=Side.BASE, process=2, turns={B: 3})

    turns = {name: {len(run.turns) for run in pair.runs if run.workload == name} for name in (A, B)}
    assert max(turns[B]) <= 3 < min(turns[A])


@pytest.mark.slow(ci_only=True)
def test_a_workload_that_fails_on_both_sides_at_once_says_so_of_both(harness, sides):
    requests = sides(
        *(f"@perfledger.workload()\ndef a():\n    raise ValueError('of {side}')\n" for side in Side)
    )
    measurement = PairMeasurement(
        harness=harness,
        requests={
            side: replace(request, is_interleaved=True) for side, request in requests.items()
        },
        telemetry=NoTelemetry(),
        progress=NoProgress(),
        check_run=lambda _: None,
    )

    pair = measurement.measure([A], pair=0, first=Side.HEAD, process=0)

    details = {each.side: each.detail.partition(" (")[0] for each in pair.failures}
    assert details == {Side.BASE: "ValueError: of base", Side.HEAD: "ValueError: of head"}
