"""Steps by a scripted clock, of which some compile."""

import pytest

from perfledger.compile_record import CompileRecord
from perfledger.measuring.compiling_steps import CompiledSteps, CompilingSteps


@pytest.fixture
def sums_of():
    """Return a function that returns what is sent after steps of these seconds."""

    def run(step_times, compile_times):
        now, records, sums = [0.0], iter(compile_times), []

        def compiled():
            seconds = next(records)
            return None if seconds is None else CompileRecord(phases_s={"tracing": seconds})

        listener = CompilingSteps(compiled, send=sums.append, clock=lambda: now[0])
        for seconds in step_times:
            now[0] += seconds
            listener.end_step()
        return sums

    return run


def test_each_slow_step_that_compiled_is_sent_with_the_sums_so_far(sums_of):
    assert sums_of([10.0, 12.0], [9.0, 20.0]) == [
        CompiledSteps(steps=1, compiling_steps=1, seconds=10.0, compile_s=9.0),
        CompiledSteps(steps=2, compiling_steps=2, seconds=22.0, compile_s=20.0),
    ]


def test_slow_steps_that_compiled_nothing_more_are_not_sent(sums_of):
    assert [each.steps for each in sums_of([10.0, 12.0, 11.0], [9.0, 9.0, 9.5])] == [1, 3]
    assert sums_of([10.0], [None]) == []  # nobody knows


def test_what_fast_steps_compiled_is_read_once_a_second(sums_of):
    assert [each.steps for each in sums_of([0.25] * 8, [0.5, 0.6])] == [4, 8]
