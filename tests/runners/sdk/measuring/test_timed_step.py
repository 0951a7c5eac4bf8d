"""Steps with a preparation are read one preparation at a time."""

from dataclasses import replace

import pytest

from perfledger.measuring import timed_step
from perfledger.measuring.core_use import PREPARED
from perfledger.measuring.step_samples import measure
from perfledger.measuring.timed_step import TimedStep, warm_up
from perfledger.meters import clock
from perfledger.meters.clock import HostClock
from perfledger.protocol import MeasuringEffort
from perfledger.workload import PreparedStep

EFFORT = MeasuringEffort(
    min_steps=3, max_steps=3, min_seconds=0.0, max_seconds=0.1, min_warmups=1, max_warmups=1
)


class Notes:
    """A prepared step that notes what is called."""

    def __init__(self, steps):
        self.text = ""
        self.step = PreparedStep(lambda: self.note("p"), lambda: self.note("s"), steps)

    def note(self, letter):
        self.text += letter


def timed(notes, reading_clock, effort=EFFORT):
    return TimedStep(lambda: notes.step, reading_clock, effort=effort, after_step=lambda: None)


def test_each_reading_has_one_preparation_and_all_of_its_steps(scripted_clock):
    notes = Notes(steps=2)
    bench = timed(notes, scripted_clock([0.5, 4.0, 6.0]))

    bench.renew()
    bench.time(2)

    assert notes.text == "ps" + "pss" + "pss"
    assert list(bench.readings_s) == [4.0, 6.0]
    assert bench.steps_per_reading == 2


def test_a_prepared_step_is_not_repeated_to_fill_a_reading():
    notes = Notes(steps=1)
    bench = timed(notes, HostClock())

    bench.renew()
    bench.calibrate()

    assert bench.steps_per_reading == 1
    assert bench.empty_step_s is not None


def test_the_cost_of_a_reading_includes_its_preparation(scripted_clock):
    bench = timed(Notes(steps=1), scripted_clock([1.0, 2.0]))

    bench.renew()
    bench.time(1)

    assert bench.costs_s[0] > bench.readings_s[0] == 2.0


def test_the_expected_cost_has_the_mean_preparation_of_the_warm_up(monkeypatch):
    now = 0.0

    def passing(seconds):
        nonlocal now
        now += seconds

    for module in (timed_step, clock):
        monkeypatch.setattr(module, "perf_counter", lambda: now)
    step = PreparedStep(lambda: passing(3.0), lambda: passing(0.25), 2)
    effort = replace(EFFORT, min_warmups=2, max_warmups=2)
    bench = TimedStep(lambda: step, HostClock(), effort=effort, after_step=lambda: None)

    bench.renew()

    assert bench.expected_costs_s() == (3.5, 3.5)


def test_no_preparation_is_less_than_nothing_where_the_device_has_a_clock_of_its_own(
    scripted_clock,
):
    bench = timed(Notes(steps=1), scripted_clock([1.0]))  # and the host's has hardly moved

    bench.renew()

    assert bench.expected_costs_s() == (1.0,)


@pytest.mark.parametrize("is_in_turns", [True, False])
def test_a_prepared_step_has_no_cpu_time_for_the_preparation_is_in_it(is_in_turns):
    samples = measure(
        lambda: Notes(steps=1).step,
        HostClock(),
        effort=EFFORT,
        turn=(lambda: None) if is_in_turns else None,
    )

    assert len(samples.steps_s) >= EFFORT.min_steps
    assert samples.cores.cpu_time_s == ()
    assert samples.cores.left_out == {PREPARED: 1}


def test_long_preparations_end_the_warm_up(scripted_clock):
    effort = replace(EFFORT, max_warmups=30, max_warmup_seconds=1e-9)

    times = warm_up(lambda: None, scripted_clock([0.0] * 30), effort=effort, prepare=lambda: None)

    assert times == (0.0,)
