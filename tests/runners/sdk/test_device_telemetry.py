import pytest

from perfledger.device_telemetry import DeviceTelemetry


@pytest.mark.parametrize(("readings", "throttled", "share"), [(0, 0, 0.0), (4, 1, 0.25)])
def test_a_device_without_readings_was_not_seen_throttled(readings, throttled, share):
    assert DeviceTelemetry(place=0, readings=readings, throttled=throttled).throttled_share == share
