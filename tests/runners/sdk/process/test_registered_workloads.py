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


def test_a_file_that_another_imports_under_a_second_name_is_listed_once(write, send_command):
    importing = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
from units import fine
"""
    answer = send_command(
        write({"benchmarks/other.py": importing, "benchmarks/units.py": UNITS}), Command.LIST
    )

    assert [each["id"] for each in answer.of("workload")] == ["benchmarks.units:fine"]
    assert {each["path"] for each in answer.of("broken")} == {"benchmarks/units.py"}


def test_a_file_that_makes_workloads_for_another_is_no_second_import(write, send_command):
    making = """
def made(module):
    def step():
        return lambda: None
    step.__module__ = module
    return step
"""
    using = """
import perfledger
from benchmarks.making import made
perfledger.workload(made(__name__))
"""
    answer = send_command(
        write({"benchmarks/making.py": making, "benchmarks/using.py": using}), Command.LIST
    )

    assert [each["id"] for each in answer.of("workload")] == ["benchmarks.using:step"]
