"""Ranks are started by real launchers; a small one of the tests' own does what torchrun does."""

import json
import os
import selectors
import signal
import socket
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import pytest

from perfledger.protocol import AGENT_SOCKET, PROTOCOL_VERSION, RANKS_VARIABLE
from perfledger.records import FailureReason
from perfledger_runners.children.child import Child
from perfledger_runners.children.child_process import run_request
from perfledger_runners.children.harness import for_workloads
from perfledger_runners.children.launch import LaunchError
from perfledger_runners.children.process_tree import members
from perfledger_runners.children.protocol_parser import FailedMessage, RunMessage, StartedMessage
from perfledger_runners.children.rank_sockets import (
    DIED,
    MAX_CONNECTIONS_PER_RANK,
    RankSockets,
)
from perfledger_runners.measuring.discovery import discover

# Starts ranks in sessions of their own, and ends with the first that fails, as torchrun does; with
# "late", rank 1 never becomes a Python process.
LAUNCHER = """
import os, subprocess, sys, time
count, *command = sys.argv[1:]
late = command[0] == "late"
command = command[late:]
ranks = [
    subprocess.Popen(
        ["sleep", "600"] if late and rank == 1 else command,
        env=os.environ | {"RANK": str(rank), "WORLD_SIZE": count},
        start_new_session=True,
        close_fds=True,
    )
    for rank in range(int(count))
]
if late:
    while not os.path.exists(os.environ["PERFLEDGER_RANKS"] + "/rank-0"):
        time.sleep(0.01)
    with open(os.environ["HANG_NOTE"], "w") as file:
        file.write(str(os.getpid()))
sys.exit(max(rank.wait() != 0 for rank in ranks))
"""
OWN = "python launcher.py {devices}"
WORKLOADS = """
import os, signal, time
rank = lambda: int(os.environ["RANK"])
n = []
def on_third_step(what):
    def step():
        n.append(1)
        if len(n) == 3 and rank() == 1:
            what()
    return step
def wait():
    time.sleep(600)
def fail():
    raise ValueError("shard 1 is empty")
def leave():
    print("last words", flush=True)
    os._exit(3)
"""
WORKLOAD = """
@perfledger.workload(devices={devices}, launch="{launch}", set_ups={set_ups})
def {name}():
    {body}
"""
BODIES = {
    "fine": "return lambda: time.sleep(0.001 * (1 + rank()))",
    "raises": "return on_third_step(fail)",
    "dies": "return on_third_step(leave)",
    "first_dies": "return (lambda: os.kill(os.getpid(), signal.SIGKILL)) if not rank() else wait",
    "fails_to_set_up": "return 1 / rank() and (lambda: time.sleep(600))",
    "disagrees": "return lambda: time.sleep(0.001)",
    "kills_launcher": "return lambda: rank() or os.kill(os.getppid(), signal.SIGKILL) or wait()",
}
# Of workloads that are fine but for them: how they are launched, on how many devices.
LAUNCHES = {
    "alone": (OWN, 1),
    "four": (OWN, 4),
    "late": (f"{OWN} late", 2),
    "too_few": ("python launcher.py 1", 2),
    "absent": ("no-such-mpirun -n {devices}", 2),
}


@contextmanager
def connected(folder, count):
    """RankSockets with a selector, and connections of so many ranks that said who they are."""
    with closing(RankSockets(folder, count)) as sockets, selectors.DefaultSelector() as selector:
        sockets.watch(selector)
        ranks = [socket.socket(socket.AF_UNIX) for _ in range(count)]
        for number, rank in enumerate(ranks):
            rank.connect(str(folder / AGENT_SOCKET))
            send(rank, "rank", rank=number, ranks=count)
        try:
            yield sockets, ranks
        finally:
            for rank in ranks:
                rank.close()


def send(connection, event, **fields):
    line = json.dumps({"version": PROTOCOL_VERSION, "event": event, **fields})
    connection.sendall(line.encode() + b"\n")


def test_rank_0_answers_and_gets_the_turns(tmp_path):
    with connected(tmp_path / "ranks", 2) as (sockets, ranks):
        ranks[0].sendall(b"half a li")
        sockets.read()
        ranks[0].sendall(b"ne")
        sockets.start_turn()
        assert [sockets.unread() for _ in range(2)] == [b"ne"] * 2

        assert sockets.read() == b"ne"
        assert ranks[0].recv(8) == b"\n"
        assert sockets.trouble() is None
        assert sockets.missing == ()
        assert sockets.inherited == ()
        assert sockets.variables == {RANKS_VARIABLE: str(tmp_path / "ranks")}


def test_a_folder_whose_path_is_too_long_for_a_socket_says_what_to_set(tmp_path):
    folder = tmp_path / ("a" * 120)

    with pytest.raises(LaunchError, match=r"ranks cannot meet.*set TMPDIR"):
        RankSockets(folder, 2)


def test_the_first_failure_of_another_rank_is_kept(tmp_path):
    with connected(tmp_path / "ranks", 3) as (sockets, ranks):
        send(ranks[2], "failed", workload="a", reason="out of memory", detail="it is full")
        sockets.read()
        ranks[1].close()
        sockets.read()

        assert sockets.trouble() == (FailureReason.OUT_OF_MEMORY, "rank 2: it is full")


@pytest.mark.parametrize("dead", [0, 1])
def test_a_closed_connection_is_a_dead_rank(tmp_path, dead):
    with connected(tmp_path / "ranks", 2) as (sockets, ranks):
        sockets.read()
        ranks[dead].close()
        sockets.read()

        assert sockets.trouble() == (FailureReason.RAISED, f"rank {dead}: {DIED}")


def test_all_answers_of_rank_0_come_before_the_end_of_another(tmp_path):
    with connected(tmp_path / "ranks", 2) as (sockets, ranks):
        sockets.read()
        ranks[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**18)
        ranks[0].sendall(b"x" * 100_000)
        ranks[1].close()

        assert len(sockets.read()) == 100_000


@pytest.mark.parametrize(
    ("event", "fields", "words"),
    [
        ("done", {}, "rank 1 answers in place of rank 0"),
        ("nonsense", {}, "foreign output"),
    ],
)
def test_another_rank_may_only_fail(tmp_path, event, fields, words):
    with connected(tmp_path / "ranks", 2) as (sockets, ranks):
        send(ranks[1], event, **fields)
        sockets.read()

        reason, detail = sockets.trouble()

    assert reason is FailureReason.GARBAGE
    assert words in detail


def test_two_processes_of_one_rank_are_garbage(tmp_path):
    with connected(tmp_path / "ranks", 2) as (sockets, _):
        with socket.socket(socket.AF_UNIX) as third:
            third.connect(str(tmp_path / "ranks" / AGENT_SOCKET))
            send(third, "rank", rank=1, ranks=2)
            sockets.read()

        assert sockets.trouble() == (
            FailureReason.GARBAGE,
            "two processes claim to be rank 1",
        )


def test_connections_without_end_are_garbage(tmp_path):
    with connected(tmp_path / "ranks", 2) as (sockets, _), ExitStack() as others:
        for _ in range(MAX_CONNECTIONS_PER_RANK * 2):
            other = others.enter_context(socket.socket(socket.AF_UNIX))
            other.connect(str(tmp_path / "ranks" / AGENT_SOCKET))
            sockets.read()

        assert sockets.trouble() == (FailureReason.GARBAGE, "more connections than ranks")


def test_a_first_line_without_end_is_garbage(tmp_path, monkeypatch):
    monkeypatch.setattr("perfledger_runners.children.rank_sockets.MAX_LINE_BYTES", 100)
    with connected(tmp_path / "ranks", 2) as (sockets, _):
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(str(tmp_path / "ranks" / AGENT_SOCKET))
            other.send(b"x" * 101)
            sockets.read()

        assert sockets.trouble() == (
            FailureReason.GARBAGE,
            "a connection does not name its rank",
        )


@pytest.fixture(scope="module")
def discovered(make_harness, hang, write_benchmarks, request_for, tmp_path_factory):
    """A request for the workloads of one file, and what they are."""
    folder = tmp_path_factory.mktemp("ranks")
    text = hang + WORKLOADS
    for name, body in BODIES.items():
        set_ups = "1 + int(os.environ.get('RANK', 0))" if name == "disagrees" else 1
        text += WORKLOAD.format(name=name, body=body, launch=OWN, devices=2, set_ups=set_ups)
    for name, (launch, devices) in LAUNCHES.items():
        text += WORKLOAD.format(
            name=name, body=BODIES["fine"], launch=launch, devices=devices, set_ups=1
        )
    root = write_benchmarks(folder / "checkout", ranks=text)
    (root / "launcher.py").write_text(LAUNCHER)
    request = request_for(root)
    with make_harness(folder) as harness:
        return request, discover(harness, request).workloads


@pytest.fixture
def launched(harness, discovered):
    """Return a function that gives the request for one workload, and the harness that starts it."""

    def make(name):
        request, workloads = discovered
        chosen = [each for each in workloads if each.function == name]
        return for_workloads(harness, chosen), replace(request, workloads=(chosen[0].id,))

    return make


def messages_of(launched, name):
    return tuple(run_request(*launched(name)))


def failure_of(launched, name):
    (failure,) = [each for each in messages_of(launched, name) if isinstance(each, FailedMessage)]
    return failure


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "devices"),
    [("alone", 1), ("fine", 2), pytest.param("four", 4, marks=pytest.mark.slow(ci_only=True))],
)
def test_a_step_time_is_the_slowest_rank_s_and_every_rank_is_kept(launched, name, devices):
    (run,) = [each for each in messages_of(launched, name) if isinstance(each, RunMessage)]

    steps = run.samples["step_time_p50"]
    assert len(run.rank_times_s) == devices
    assert [max(times) for times in zip(*run.rank_times_s, strict=True)] == [
        round(each, 9) for each in steps
    ]
    assert min(run.rank_times_s[-1]) >= 0.001 * devices
    assert "cpu_time" not in run.samples


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("raises", FailureReason.RAISED, "rank 1: ValueError: shard 1 is empty (benchmarks/ranks"),
        ("dies", FailureReason.RAISED, f"rank 1: {DIED}; the last output: "),
        ("first_dies", FailureReason.RAISED, f"rank 0: {DIED}"),
        ("fails_to_set_up", FailureReason.RAISED, "ZeroDivisionError"),
        ("disagrees", FailureReason.RAISED, "do not run the same steps"),
        ("kills_launcher", FailureReason.KILLED, "SIGKILL"),
    ],
)
def test_a_rank_that_fails_ends_the_run_and_says_why(launched, name, reason, words):
    failure = failure_of(launched, name)

    assert (failure.reason, words in failure.detail) == (reason, True), failure.detail


@pytest.mark.slow
def test_a_rank_that_hangs_before_it_starts_is_named(launched):
    failure = failure_of(launched, "late")

    assert failure.reason is FailureReason.HUNG
    assert "these ranks did not start: " in failure.detail
    assert failure.detail.endswith("1")


@pytest.mark.slow
def test_another_number_of_ranks_than_devices_is_refused(launched):
    failure = failure_of(launched, "too_few")

    assert failure.reason is FailureReason.NO_DEVICE
    assert "`launch` started 1 ranks and the workload has devices=2" in failure.detail


@pytest.mark.slow
def test_a_launcher_that_is_not_installed_is_named(launched):
    failure = failure_of(launched, "absent")

    assert failure.reason is FailureReason.PYTHON
    assert "`launch` needs no-such-mpirun" in failure.detail


@pytest.mark.slow
def test_the_ranks_of_a_killed_launcher_are_killed(launched):
    harness, request = launched("first_dies")
    child = Child(harness, request)
    while not members(child.process_id, child.mark) or child.missing_ranks():
        child.read()
    os.kill(child.process_id, signal.SIGKILL)
    while not child.has_exited():
        child.read()

    child.close()

    assert members(child.process_id, child.mark) == ()


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_torchrun_starts_the_ranks_of_a_collective(
    harness, write_benchmarks, request_for, tmp_path
):
    text = """
import torch
import torch.distributed as dist
@perfledger.workload(devices=2, framework="torch")
def all_reduce():
    dist.init_process_group("gloo")
    numbers = torch.ones(1000)
    def step():
        dist.all_reduce(numbers)
        numbers.div_(dist.get_world_size())
    return step
"""
    root = write_benchmarks(tmp_path / "checkout", ranks=text)
    harness = for_workloads(harness, discover(harness, request_for(root)).workloads)

    messages = list(run_request(harness, request_for(root, ["benchmarks.ranks:all_reduce"])))

    (run,) = [each for each in messages if isinstance(each, RunMessage)]
    assert len(run.rank_times_s) == 2
    assert any(isinstance(each, StartedMessage) for each in messages)


JAX = """
@perfledger.workload(devices=2, framework="jax", launch="{launch}")
def sums():
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    mesh = Mesh(jax.devices(), ("shard",))
    shards = NamedSharding(mesh, PartitionSpec("shard"))
    numbers = jax.make_array_from_callback(
        (8,), shards, lambda place: np.ones(8, np.float32)[place]
    )
    total = jax.jit(jnp.sum, out_shardings=NamedSharding(mesh, PartitionSpec()))
    return lambda: total(numbers)
"""


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    "launch",
    [
        pytest.param("", id="one process"),
        pytest.param(OWN, id="two"),
    ],
)
def test_jax_drives_several_devices_from_one_process_or_joins_its_ranks(
    harness, write_benchmarks, request_for, tmp_path, launch
):
    root = write_benchmarks(tmp_path / "checkout", ranks=JAX.format(launch=launch))
    (root / "launcher.py").write_text(LAUNCHER)
    harness = for_workloads(harness, discover(harness, request_for(root)).workloads)

    messages = list(run_request(harness, request_for(root, ["benchmarks.ranks:sums"])))

    (run,) = [each for each in messages if isinstance(each, RunMessage)]
    assert (run.devices, len(run.rank_times_s)) == ((1, 2) if launch else (2, 0))
