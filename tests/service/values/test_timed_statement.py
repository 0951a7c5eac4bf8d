from perfledger.records import Device, Machine
from perfledger_service.values.timed_statement import TimedProcess, TimedStatement


def process(readings):
    return TimedProcess(
        typical_s=1.0, p5_s=0.9, p25_s=0.95, p75_s=1.05, p95_s=1.1, readings=readings
    )


def test_the_readings_of_all_processes_count():
    timed = TimedStatement(
        statement="pass",
        set_up="",
        machine=Machine(device=Device.CPU, model="a CPU"),
        processes=(process(3), process(4)),
        typical_s=1.0,
        low_s=0.9,
        high_s=1.1,
        calls=1,
        cpu_time_s=None,
        memory_bytes=None,
        findings=(),
    )

    assert timed.readings == 7
