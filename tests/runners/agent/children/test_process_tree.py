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


def test_without_proc_there_are_no_processes_and_no_amounts(kernel, tmp_path):
    assert members(1, proc=tmp_path) == ()
    assert available_bytes(kernel({})) is None


HOST = {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n"}
# A batch job of systemd or Slurm on a host with version 2: a limit on the job and on its user.
JOB = HOST | {
    "proc/self/cgroup": "0::/user.slice/job_7/step_0\n",
    "proc/self/mountinfo": "31 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 8192000),
        ({"step_0/memory.max": "4096000", "step_0/memory.current": "1024000"}, 3072000),
        ({"step_0/memory.max": "max", "step_0/memory.current": "1024000"}, 8192000),
        ({"memory.max": "4096000", "memory.current": "4000000"}, 96000),
        (
            {
                "step_0/memory.max": "4096000",
                "step_0/memory.current": "96000",
                "memory.max": "5000000",
                "memory.current": "4000000",
                "memory.stat": "anon 1\nactive_file 100000\ninactive_file 500000\n",
            },
            1600000,
        ),
        ({"memory.max": "1000", "memory.current": "2000"}, 0),
        ({"../memory.max": "2048", "../memory.current": "48"}, 2000),
        ({"../other/memory.max": "1", "../other/memory.current": "0"}, 8192000),
    ],
)
def test_a_child_has_what_its_own_group_those_above_and_the_host_leave(kernel, files, expected):
    tree = {f"sys/fs/cgroup/user.slice/job_7/{name}": text for name, text in files.items()}

    assert available_bytes(kernel(JOB | tree)) == expected
