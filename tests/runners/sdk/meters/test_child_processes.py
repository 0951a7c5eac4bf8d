import os
import signal
import subprocess
import sys
import threading

import pytest

from perfledger.meters import child_processes, process_memory

HOLD = """
block = bytearray(60_000_000)
block[::4096] = b"x" * len(block[::4096])
print("held", flush=True)
input()
"""
# Prints the memory of processes that share all of this one's, and then of one that wrote to it.
FORKS = """
import os
from perfledger.meters import child_processes

block = bytearray(b"x") * 60_000_000
release, wait = os.pipe()[::-1]

def fork(write):
    ready, tell = os.pipe()
    if os.fork() == 0:
        if write:
            block[::4096] = b"y" * len(block[::4096])
        os.write(tell, b"1")
        os.close(release)
        os.read(wait, 1)
        os._exit(0)
    os.read(ready, 1)

for _ in range(3):
    fork(write=False)
print(child_processes.memory_bytes())
fork(write=True)
print(child_processes.memory_bytes())
"""
# Starts a process that ends with this one, and waits.
PARENT = """
import os, signal
from perfledger.meters import child_processes

ready, tell = os.pipe()
if os.fork() == 0:
    child_processes.end_with_parent()
    os.write(tell, b"1")
    signal.pause()
os.read(ready, 1)
print("ready", flush=True)
signal.pause()
"""
# Prints whether a daemon that left its session and its parent is a descendant, and what ended it.
DAEMON = """
import os, sys
from perfledger.meters import child_processes

if sys.argv[1:] == ["adopting"]:
    child_processes.adopt_orphans()
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent:
            pass
        os.write(writer, str(os.getpid()).encode())
        sys.stdin.read()
    os._exit(0)
os.wait()
daemon = int(os.read(reader, 20))
print(daemon in child_processes.descendants())
if sys.argv[1:]:
    child_processes.kill_all()
    print(os.waitpid(daemon, 0)[1])
"""


@pytest.fixture
def child(request):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, getattr(request, "param", "")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.stdout.readline()
    yield process.pid
    process.communicate()


def test_the_memory_of_a_child_process_counts(child):
    own = process_memory.peak_bytes() - child_processes.memory_bytes()

    assert child in child_processes.descendants()
    assert child_processes.memory_bytes() > 60_000_000
    assert process_memory.peak_bytes() > own + 50_000_000


@pytest.mark.parametrize(
    "child", ["/torch/_inductor/compile_worker/__main__.py"], indirect=True, ids=["compiler"]
)
def test_the_memory_of_a_process_that_compiles_for_torch_does_not_count(child):
    assert child in child_processes.descendants()
    assert child_processes.memory_bytes() < 60_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels list no memory")
def test_memory_that_a_forked_process_shares_is_counted_once():
    ended = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, check=True
    )
    sharing, writing = map(int, ended.stdout.split())

    assert sharing < 20_000_000
    assert 55_000_000 < writing - sharing < 80_000_000


def test_a_process_that_is_gone_uses_nothing():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    assert child_processes.cpu_seconds(gone.pid) == 0.0
    assert list(child_processes.descendants(str(gone.pid))) == []


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels have no subreaper")
@pytest.mark.parametrize(
    ("arguments", "words"), [(["adopting"], ["True", str(int(signal.SIGKILL))]), ([], ["False"])]
)
def test_a_process_that_adopts_orphans_counts_and_ends_daemons(arguments, words):
    daemon = subprocess.Popen(
        [sys.executable, "-c", DAEMON, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    output = [daemon.stdout.readline().strip() for _ in words]
    daemon.communicate()

    assert output == words


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_process_ends_with_its_parent_however_that_ends():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        parent.kill()

        rest = parent.stdout.read()  # its end comes when no process has the pipe

    assert rest == b""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel lists threads")
def test_the_times_of_threads_are_those_of_this_process_and_its_descendants():
    is_over = threading.Event()
    thread = threading.Thread(target=is_over.wait)
    thread.start()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        times = child_processes.thread_times(without=threading.get_native_id())
    finally:
        is_over.set()
        thread.join()
        child.communicate(b"\n")

    assert {thread.native_id, child.pid} <= times.keys()
    assert threading.get_native_id() not in times
    assert all(each.ran_s >= 0 and each.waited_s >= 0 for each in times.values())


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel lists threads")
def test_the_state_of_another_processs_thread_is_known():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        child.send_signal(signal.SIGSTOP)
        os.waitpid(child.pid, os.WUNTRACED)
        times = child_processes.thread_times(str(child.pid))
    finally:
        child.send_signal(signal.SIGCONT)
        child.communicate(b"\n")

    assert {thread: each.state for thread, each in times.items()} == {child.pid: "T"}
    assert not times[child.pid].is_ready
