from perfledger.meters import clock
from perfledger.meters.clock import HostClock


def test_a_step_runs_once_between_the_two_readings_of_the_clock(monkeypatch):
    events = []
    readings = iter([10.0, 12.5])

    def read_clock():
        events.append("clock")
        return next(readings)

    monkeypatch.setattr(clock, "perf_counter", read_clock)

    assert HostClock().time(lambda: events.append("step")) == 2.5
    assert events == ["clock", "step", "clock"]
