"""What the decorator registers is collected with the framework of its code."""

from perfledger.protocol import Command

UNITS = """
import perfledger

@perfledger.workload(units_per_step=lambda: 1 / 0)
def broken():
    return lambda: None

@perfledger.workload
def fine():
    return lambda: None
"""


def test_units_that_cannot_be_computed_break_their_workload_alone(write, send_command):
    answer = send_command(write({"benchmarks/units.py": UNITS}), Command.LIST)

    (broken,) = answer.of("broken")
    assert broken["path"] == "benchmarks/units.py"
    assert broken["detail"].startswith("ZeroDivisionError")
    assert [each["id"] for each in answer.of("workload")] == ["benchmarks.units:fine"]
