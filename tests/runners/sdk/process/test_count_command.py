"""What a step does is counted in this process, and answered through a real pipe."""

import pytest

from perfledger.protocol import Command

FINE = """
import perfledger
@perfledger.workload(unit="items", units_per_step=3)
def fine():
    return lambda: sum(range(10))
"""
CALLS = """
import perfledger
def changed():
    return 1
@perfledger.workload()
def calls():
    changed()  # the set-up does not count
    return changed
@perfledger.workload()
def calls_nothing():
    changed()
    return lambda: None
"""


def test_counting_answers_for_plain_python_with_the_reason_why_not(write, send_command):
    answer = send_command(write({"benchmarks/fine.py": FINE}), Command.COUNT)

    assert [each["event"] for each in answer.messages] == ["started", "counted", "done"]
    counted = answer.about("benchmarks.fine:fine")
    assert (counted["counts"], counted["program"]) == ([], "")
    assert counted["limits"] == ["the work of plain Python cannot be counted"]


@pytest.mark.parametrize(("name", "functions"), [("calls", 1), ("calls_nothing", 0)])
def test_the_functions_that_a_step_calls_are_counted(write, send_command, name, functions):
    root = write({"benchmarks/w.py": CALLS})

    answer = send_command(root, Command.CALLS, functions={"benchmarks/w.py": ((3, 4),)})

    assert answer.about(f"benchmarks.w:{name}")["event"] == "called"
    assert answer.about(f"benchmarks.w:{name}")["functions"] == functions
