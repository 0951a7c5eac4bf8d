import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.process.benchmark_fixture import BenchmarkFixture
from perfledger.workload import PreparedStep


class Measured:
    """A task that runs the step as often as a process may."""

    def __init__(self, readings=2):
        self.readings = readings
        self.step = None

    def __call__(self, step):
        self.step = step
        for _ in range(self.readings):
            if isinstance(step, PreparedStep):
                step.prepare()
                for _ in range(step.steps):
                    step.run()
            else:
                step()


def test_a_call_is_measured_and_its_result_is_returned():
    calls = []

    def add(one, two):
        calls.append((one, two))
        return one + two

    assert BenchmarkFixture(Measured())(add, 1, two=2) == 3
    assert calls == [(1, 2)] * 3


def test_pedantic_calls_the_target_between_its_setup_and_its_teardown():
    notes = []

    def set_up():
        notes.append("setup")
        return (len(notes),), {"key": 1}

    def run(number, key):
        notes.append("run")
        return number, key

    result = BenchmarkFixture(Measured()).pedantic(
        run,
        setup=set_up,
        teardown=lambda number, key: notes.append(f"teardown {number} {key}"),
        rounds=100,
    )

    assert result == (7, 1)
    assert notes == [
        *("setup", "run", "teardown 1 1"),
        *("setup", "run", "teardown 4 1"),
        *("setup", "run", "teardown 7 1"),
    ]


def test_a_setup_that_returns_nothing_leaves_the_arguments():
    fixture = BenchmarkFixture(Measured())

    assert fixture.pedantic(max, args=(1, 2), setup=lambda: None) == 2


@pytest.mark.parametrize("iterations", [1, 5])
def test_pedantic_without_a_setup_reads_so_many_calls_at_once(iterations):
    calls, task = [], Measured(readings=1)

    BenchmarkFixture(task).pedantic(calls.append, args=(0,), iterations=iterations)

    assert len(calls) == iterations + 1
    assert getattr(task.step, "steps", 1) == iterations


def test_a_teardown_runs_when_the_target_fails():
    notes = []

    with pytest.raises(ZeroDivisionError):
        BenchmarkFixture(Measured()).pedantic(
            lambda: 1 / 0, setup=lambda: None, teardown=lambda: notes.append("teardown")
        )

    assert notes == ["teardown"]


def test_a_test_measures_once():
    fixture = BenchmarkFixture(Measured())
    fixture(int)

    with pytest.raises(UnmeasurableError, match="calls benchmark twice"):
        fixture(int)


@pytest.mark.parametrize("name", ["weave", "patch"])
def test_weaving_is_refused_by_name(name):
    with pytest.raises(UnmeasurableError, match="weave is not supported"):
        getattr(BenchmarkFixture(Measured()), name)("os.path")
