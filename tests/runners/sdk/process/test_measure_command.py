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


NAN_LATER = """
import itertools, perfledger
count = itertools.count()
@perfledger.workload(check=lambda loss: next(count))
def work():
    return lambda: 0.5 if next(count) < 3 else float("nan")
"""


def test_a_result_that_is_nan_at_the_end_is_not_finite_and_the_check_is_of_the_first(
    write, send_command
):
    run = send_command(write({"benchmarks/w.py": NAN_LATER}), Command.MEASURE).about(
        "benchmarks.w:work"
    )

    assert run["evidence"]["result"] == "not finite"
    assert run["evidence"]["answer"] == {"": 1}
