"""What the ranks of a real launch do at their end is known to the agent."""

from dataclasses import replace

import pytest

from perfledger_runners.children.child_process import run_request
from perfledger_runners.children.harness import for_workloads
from perfledger_runners.children.protocol_parser import EndedMessage
from perfledger_runners.measuring.discovery import discover
from tests.runners.agent.children.test_rank_sockets import LAUNCHER, OWN

WORKLOAD = f"""
import atexit, os, time
import perfledger
def use_cpu():
    ends_s = time.process_time() + 0.2
    while time.process_time() < ends_s:
        pass
def finish():
    if os.environ["RANK"] == "1":
        use_cpu()
    LEAVE
@perfledger.workload(devices=2, launch="{OWN}")
def steps():
    atexit.register(finish)
    return lambda: time.sleep(0.001)
"""


@pytest.mark.slow
@pytest.mark.parametrize("leave", ["return", "os._exit(0)"])
def test_what_any_rank_does_at_its_end_is_known(
    harness, write_benchmarks, request_for, tmp_path, leave
):
    root = write_benchmarks(tmp_path / "checkout", ranks=WORKLOAD.replace("LEAVE", leave))
    (root / "launcher.py").write_text(LAUNCHER)
    request = request_for(root)
    workloads = discover(harness, request).workloads
    request = replace(request, workloads=(workloads[0].id,))

    messages = [*run_request(for_workloads(harness, workloads), request)]

    (ended,) = [each for each in messages if isinstance(each, EndedMessage)]
    assert ended.end_cost.cpu_s >= 0.2
