import os
import subprocess
import sys

import pytest

from perfledger_runners.children.process_tree import (
    available_bytes,
    kill,
    members,
    proportional_bytes,
    resident_bytes,
)

# Starts two that outlive it, one of which leaves the session; says when both are there.
FAMILY = """
import os, sys, time
def start(leaves):
    if os.fork() == 0:
        if leaves:
            os.setsid()
        os.write(1, b"x")
        time.sleep(600)
start(False)
start(True)
"""
ADOPTS = "from perfledger.meters.child_processes import adopt_orphans\nadopt_orphans()\n"
# Starts a daemon with its own session and without an environment, which says when it ends itself.
NAMELESS_DAEMON = """
import os, subprocess, sys, time
if os.fork() == 0:
    os.setsid()
    command = "import time; print('started', flush=True); time.sleep(60); print('ended')"
    subprocess.Popen([sys.executable, "-c", command], env={})
    os._exit(0)
os.wait()
time.sleep(600)
"""


@pytest.fixture
def family():
    """A session that has lost its leader, and a daemon that it started."""
    process = subprocess.Popen(
        [sys.executable, "-c", FAMILY],
        stdout=subprocess.PIPE,
        env=os.environ | {"MARK": "of this test"},
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.read(2) == b"xx"
        process.wait()
        yield process.pid
        kill(process.pid, "MARK=of this test")


def test_a_session_and_its_daemons_are_found_without_their_leader(family):
    assert len(members(family)) == 1
    assert len(members(family, "MARK=of this test")) == 2


def test_all_of_them_are_ended(family):
    kill(family, "MARK=of this test")

    assert members(family, "MARK=of this test") == ()


def test_ending_what_is_gone_is_no_error(family):
    kill(family, "MARK=of this test")

    kill(family, "MARK=of this test")


def test_an_adopted_daemon_without_the_mark_ends_too():
    with subprocess.Popen(
        [sys.executable, "-c", f"{ADOPTS}{NAMELESS_DAEMON}"],
        stdout=subprocess.PIPE,
        env=os.environ | {"MARK": "of this test"},
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"

        kill(process.pid, "MARK=of this test")

        assert process.stdout.read() == b""  # the daemon, which holds the other end, is gone


def test_the_memory_of_a_process_is_its_resident_pages():
    own = [os.getpid()]

    assert 0 < proportional_bytes(own) <= 2 * resident_bytes(own)


def test_processes_that_share_pages_are_charged_for_them_once():
    me = os.getpid()

    assert resident_bytes([me, me]) == pytest.approx(2 * resident_bytes([me]), rel=0.1)
    assert resident_bytes([2**22 + 1]) == proportional_bytes([2**22 + 1]) == 0


def test_without_proc_there_are_no_processes_and_no_amounts(tmp_path):
    assert members(1, proc=tmp_path) == ()
    assert available_bytes(proc=tmp_path, cgroup=tmp_path) is None


@pytest.mark.parametrize(
    ("limit", "used", "expected"),
    [("4096000", "1024000", 3072000), ("max", "1024000", 8192000), ("1000", "2000", 0)],
)
def test_a_container_has_what_its_limit_leaves(tmp_path, limit, used, expected):
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")
    (tmp_path / "memory.max").write_text(limit + "\n")
    (tmp_path / "memory.current").write_text(used + "\n")

    assert available_bytes(proc=tmp_path, cgroup=tmp_path) == expected
