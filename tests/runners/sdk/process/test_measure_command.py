"""One workload measured in this process."""

from perfledger.protocol import Command

SET_UPS = """
import perfledger
KEPT = []

@perfledger.workload(set_ups=3, check=len)
def work():
    KEPT.append(bytearray(1))
    return lambda: [0.5] * len(KEPT)
"""


def test_a_workload_is_set_up_as_often_as_it_says_and_its_first_result_is_examined(
    write, send_command
):
    run = send_command(write({"benchmarks/w.py": SET_UPS}), Command.MEASURE).about(
        "benchmarks.w:work"
    )

    assert run["event"] == "run"
    assert run["evidence"]["answer"] == {"": 1}
    assert run["evidence"]["result"] == "finite"
