from perfledger.meters.clock import HostClock
from perfledger.meters.device_meter import HostMeter


def test_the_hosts_meter_knows_time_and_memory_and_no_more(tmp_path):
    meter = HostMeter()
    meter.reset_peak()
    peak = meter.peak_bytes()

    assert isinstance(meter.clock, HostClock)
    assert peak is not None
    assert peak > 1_000_000
    assert meter.trace(lambda: list, tmp_path, "0") is None
    with meter.device_context() as nothing:
        assert nothing is None
