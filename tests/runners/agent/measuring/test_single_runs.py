"""One workload alone, in real children one after another."""

from dataclasses import replace

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.protocol import BenchmarkSuite
from perfledger.records import Failure, FailureReason, Run
from perfledger.registration.statement import Statement
from perfledger_runners.machine.telemetry import NoTelemetry
from perfledger_runners.measuring.single_runs import measure_processes

pytestmark = pytest.mark.slow

ID = "statement:statement"


@pytest.fixture
def measured(harness, request_for, tmp_path):
    def measure(text, set_up="", *, processes=2):
        request = replace(
            request_for(tmp_path),
            suite=BenchmarkSuite.STATEMENT,
            statement=Statement(text=text, set_up=set_up),
        )
        return list(
            measure_processes(harness, request, ID, processes=processes, telemetry=NoTelemetry())
        )

    return measure


@pytest.mark.slow(ci_only=True)
def test_each_process_is_a_run(measured):
    runs = measured("sum(numbers)", "numbers = list(range(100))")

    assert [type(run) for run in runs] == [Run, Run]
    assert [run.process for run in runs] == [0, 1]
    assert all(min(run.samples[STEP_TIME.name]) > 0 for run in runs)


@pytest.mark.slow(ci_only=True)
def test_the_first_failure_ends_it_with_the_frames_of_the_statement(measured):
    (failure,) = measured("halve(0)", "def halve(x):\n    return 1 / x")

    assert isinstance(failure, Failure)
    assert failure.why is FailureReason.RAISED
    assert failure.detail == "ZeroDivisionError: division by zero (<statement>:2)"
    lines = [line.strip() for line in failure.log_tail.splitlines()]
    assert lines.index("halve(0)") < lines.index("return 1 / x")
    assert "measure_workload" not in failure.log_tail


@pytest.mark.slow(ci_only=True)
def test_a_process_that_dies_is_a_failure(measured):
    (failure,) = measured("os.kill(os.getpid(), 9)", "import os")

    assert failure.why is FailureReason.KILLED
