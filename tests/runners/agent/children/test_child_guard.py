"""Real agents that are killed: nothing that they started outlives them."""

import os
import secrets
import signal
import subprocess
import sys

import pytest

from perfledger_runners.children.child_guard import NO_GUARD, child_guard, watch
from perfledger_runners.children.harness import MARK_VARIABLE
from perfledger_runners.children.process_tree import kill, members

# Starts a process in its own session, and a daemon and a program without the mark; all of them
# hang, as a step does that waits for a device.
CHILD = """
import os, subprocess, sys, time

HANG = [sys.executable, "-c", "import signal; print('x', end='', flush=True); signal.pause()"]
subprocess.Popen(HANG, start_new_session=True)
subprocess.Popen(HANG, env={})
subprocess.run(HANG)
"""
AGENT = """
import os, signal, subprocess, sys
from perfledger_runners.children.child_guard import child_guard

name, mark, child, knows_session = sys.argv[1:]
with child_guard(os.environ) as guard:
    guard.begin(f"{name}={mark}")
    process = subprocess.Popen(
        [sys.executable, "-c", child], env={**os.environ, name: mark}, start_new_session=True
    )
    if knows_session == "True":
        guard.add_session(f"{name}={mark}", process.pid)
    signal.pause()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the processes of a mark")
@pytest.mark.parametrize("knows_session", [True, False])
def test_nothing_that_a_killed_agent_started_stays(knows_session):
    words = [MARK_VARIABLE, secrets.token_hex(), CHILD, str(knows_session)]
    with subprocess.Popen(
        [sys.executable, "-c", AGENT, *words], stdout=subprocess.PIPE, start_new_session=True
    ) as agent:
        assert agent.stdout is not None
        assert agent.stdout.read(3) == b"xxx"
        os.killpg(agent.pid, signal.SIGKILL)

        rest = agent.stdout.read()  # its end comes when no process has the pipe

    assert rest == b""


@pytest.fixture
def running():
    """The mark of a process that waits."""
    token = secrets.token_hex()
    process = subprocess.Popen(
        [sys.executable, "-c", "import signal; print(1, flush=True); signal.pause()"],
        env={MARK_VARIABLE: token},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        mark = f"{MARK_VARIABLE}={token}"
        yield mark
        kill(process.pid, mark)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the processes of a mark")
def test_children_that_have_ended_are_left_alone(running):
    watch([f"begin {running}\n", f"session {running} 1\n", f"end {running}\n", "damaged\n"])
    assert len(members(None, running)) == 1

    watch([f"begin {running}\n"])
    assert members(None, running) == ()


def test_a_guard_ends_with_its_context_and_its_own_end_is_no_error():
    with child_guard(os.environ) as guard:
        assert guard.process is not None
        guard.process.kill()
        guard.process.wait()
        guard.begin("MARK=1")
        guard.end("MARK=1")

    with child_guard({}) as guard:
        assert guard.process is not None
        guard.begin("MARK=1")
        guard.end("MARK=1")
    assert guard.process.returncode == 0
    NO_GUARD.begin("MARK=1")
    assert NO_GUARD.process is None
