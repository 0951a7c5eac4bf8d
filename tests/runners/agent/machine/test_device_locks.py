"""Locks of real files, held by real processes."""

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace

import pytest

from perfledger.records import Device, FindingLevel, Machine
from perfledger_runners.machine.device_locks import HOST, MAX_WAIT_S, DeviceLocks, lock_file

CORES = Machine(device=Device.CPU, model="x")
NAMELESS = Machine(device=Device.CUDA, model="x")
# Holds a place in the line until its input ends.
HOLDER = """
import json, sys
from perfledger.records import Device, Machine
from perfledger_runners.machine.device_locks import DeviceLocks
with DeviceLocks(folder=sys.argv[1], waiting=print) as locks:
    facts = json.loads(sys.argv[2])
    if facts:
        locks.measure_on(Machine(**facts | {"device": Device(facts["device"])}))
    print("holds", flush=True)
    sys.stdin.read()
"""
# Takes devices again and again, and marks each one that it has: two at a time are an error.
RIVAL = """
import sys, time
from pathlib import Path
from perfledger.records import Device, Machine
from perfledger_runners.machine.device_locks import DeviceLocks
folder, *uuids = sys.argv[1:]
machine = Machine(
    device=Device.CUDA, model="x", count=len(uuids), uuid=uuids[0], more_uuids=tuple(uuids[1:])
)
pause = lambda _: time.sleep(0.005)
locks = DeviceLocks(folder=folder, waiting=print, sleep=pause, clock=lambda: 0.0)
for _ in range(50):
    with locks:
        locks.measure_on(machine)
        marks = [Path(folder, uuid) for uuid in uuids]
        for mark in marks:
            mark.touch(exist_ok=False)
        for mark in marks:
            mark.unlink()
"""


def gpus(*uuids, slice_of=""):
    return Machine(
        device=Device.CUDA,
        model="x",
        count=len(uuids),
        uuid=uuids[0],
        more_uuids=uuids[1:],
        parent_uuid=slice_of,
    )


class Line:
    """Locks whose sleep is what happens meanwhile."""

    def __init__(self, folder, meanwhile=lambda: None):
        self.messages = []
        self.now = 0.0
        self.meanwhile = meanwhile
        self.locks = DeviceLocks(
            folder=str(folder),
            waiting=self.messages.append,
            clock=lambda: self.now,
            sleep=self.sleep,
        )

    def sleep(self, seconds):
        self.now += seconds
        self.meanwhile()


@pytest.fixture
def hold(tmp_path):
    """Return a context in which another process measures on a machine, or prepares if None."""

    @contextmanager
    def holding(machine):
        facts = {} if machine is None else asdict(machine)
        child = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(tmp_path), json.dumps(facts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout.readline() == "holds\n"
        try:
            yield child
        finally:
            child.stdin.close()
            child.wait()
            child.stdout.close()

    return holding


def finding_of(line, machine=CORES):
    with line.locks as locks:
        locks.measure_on(machine)
    return locks.finding


def test_a_machine_without_another_check_does_not_wait(tmp_path):
    line = Line(tmp_path)

    assert finding_of(line).level is FindingLevel.FINE
    assert (line.messages, line.now) == ([], 0.0)


@pytest.mark.slow
def test_a_second_check_waits_until_the_first_one_has_ended(tmp_path, hold):
    with hold(CORES) as first:
        line = Line(tmp_path, meanwhile=lambda: (first.stdin.close(), first.wait()))

        assert finding_of(line).level is FindingLevel.FINE

    since = json.loads(lock_file(tmp_path, HOST).read_bytes())["since"]
    assert since.endswith("+00:00")
    assert len(line.messages) == 1
    assert line.messages[0].startswith(
        f"waiting for another perfledger check (process {first.pid}, since "
    )
    assert line.messages[0].endswith(" UTC) on the cores of this machine, for at most 60 minutes")


@pytest.mark.slow
def test_a_check_that_is_killed_frees_its_place(tmp_path, hold):
    with hold(CORES) as first:

        def kill():
            first.send_signal(signal.SIGKILL)
            first.wait()

        line = Line(tmp_path, meanwhile=kill)

        assert finding_of(line).level is FindingLevel.FINE
        assert line.messages


@pytest.mark.slow
@pytest.mark.parametrize(
    ("holders_machine", "machine", "place"),
    [
        (None, CORES, "the cores of this machine"),  # building would disturb it
        (None, gpus("GPU-1"), ""),
        (gpus("GPU-1"), gpus("GPU-1"), "GPU-1"),
        (gpus("GPU-1"), gpus("GPU-2"), ""),
        (gpus("GPU-1"), CORES, "the cores of this machine"),
        (CORES, gpus("GPU-1"), "the cores of this machine"),
        (gpus("GPU-1", "GPU-2"), gpus("GPU-2"), "GPU-2"),
        (gpus("GPU-2", "GPU-1"), gpus("GPU-3", "GPU-2"), "GPU-2"),
        (gpus("GPU-1", "GPU-2"), gpus("GPU-3", "GPU-4"), ""),
        (gpus("MIG-1", slice_of="GPU-1"), gpus("GPU-1"), "GPU-1"),
        (gpus("GPU-1"), gpus("MIG-1", slice_of="GPU-1"), "GPU-1"),
        (gpus("MIG-1", slice_of="GPU-1"), gpus("MIG-1", slice_of="GPU-1"), "MIG-1"),
        (gpus("MIG-1", slice_of="GPU-1"), gpus("MIG-2", slice_of="GPU-1"), ""),
        (NAMELESS, gpus("GPU-1"), "the cuda devices of this machine"),
        (gpus("GPU-1"), NAMELESS, "the cuda devices of this machine"),
        (replace(gpus("GPU-1"), count=2), gpus("GPU-2"), "the cuda devices of this machine"),
    ],
)
def test_who_disturbs_whom_decides_who_waits(tmp_path, hold, holders_machine, machine, place):
    with hold(holders_machine) as first:
        line = Line(tmp_path, meanwhile=lambda: (first.stdin.close(), first.wait()))

        assert finding_of(line, machine).level is FindingLevel.FINE
        waits = [message for message in line.messages if f"(process {first.pid}" in message]
        assert waits == line.messages
        places = [message.partition(" on ")[2].partition(",")[0] for message in waits]
        assert places == [place] * bool(place)


@pytest.mark.slow
def test_checks_on_overlapping_devices_neither_meet_nor_wait_for_each_other_for_ever(tmp_path):
    sets = (["GPU-1", "GPU-2"], ["GPU-2", "GPU-1"], ["GPU-3", "GPU-2"], ["GPU-1", "GPU-3"])
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", RIVAL, str(tmp_path), *uuids], stdout=subprocess.DEVNULL
        )
        for uuids in sets
    ]

    assert [rival.wait() for rival in rivals] == [0, 0, 0, 0]


@pytest.mark.slow
def test_all_that_share_a_lock_are_named_but_not_the_check_itself(tmp_path, hold):
    whole_gpu = gpus("GPU-1")
    with (
        hold(gpus("MIG-1", slice_of="GPU-1")) as first,
        hold(gpus("MIG-2", slice_of="GPU-1")) as second,
    ):
        both = [first, second]
        line = Line(tmp_path, meanwhile=lambda: [(one.stdin.close(), one.wait()) for one in both])
        finding_of(line, whole_gpu)

    named = ", ".join(str(pid) for pid in sorted((first.pid, second.pid)))
    rivals = f"waiting for another perfledger check (processes {named}) on GPU-1"
    assert line.messages == [f"{rivals}, for at most 60 minutes"]


@pytest.mark.slow(ci_only=True)
def test_nobody_waits_for_ever(tmp_path, hold):
    with hold(gpus("GPU-1", "GPU-2")):
        line = Line(tmp_path)
        finding = finding_of(line, gpus("GPU-2", "GPU-1"))

    assert finding.level is FindingLevel.BUSY
    assert "still ran after 60 minutes" in finding.detail
    assert line.now == pytest.approx(MAX_WAIT_S)  # for both devices in all
    assert [message.rpartition(" on ")[2] for message in line.messages] == [
        "GPU-1, for at most 60 minutes"  # the second wait would have no time
    ]


@pytest.mark.slow
def test_all_waits_of_a_check_together_have_one_limit(tmp_path, hold):
    line = Line(tmp_path)
    with hold(CORES), line.locks:
        shared_s = line.now
        line.locks.measure_on(CORES)

    assert line.locks.finding.level is FindingLevel.BUSY
    assert (shared_s, line.now) == (MAX_WAIT_S, MAX_WAIT_S)


def test_no_folder_is_no_queue_and_not_a_quiet_machine():
    line = Line("")

    assert finding_of(line).level is FindingLevel.UNKNOWN


def test_a_device_may_have_any_name(tmp_path):
    assert lock_file(tmp_path, "../../etc/passwd\0").parent == tmp_path
    assert finding_of(Line(tmp_path), gpus("../x")).level is FindingLevel.FINE
    assert len(list(tmp_path.iterdir())) == 3


def test_a_device_without_a_name_is_one_of_its_kind(tmp_path):
    machine = Machine(device=Device.TPU, model="x")

    assert finding_of(Line(tmp_path), machine).level is FindingLevel.FINE
    assert lock_file(tmp_path, "tpu").exists()


def a_link(path, tmp_path):
    (tmp_path / "theirs").write_text("keep")
    path.symlink_to(tmp_path / "theirs")


def a_dangling_link(path, tmp_path):
    path.symlink_to(tmp_path / "none")


def a_second_name(path, tmp_path):
    (tmp_path / "theirs").write_text("keep")
    path.hardlink_to(tmp_path / "theirs")


def a_pipe(path, _):
    os.mkfifo(path)


def a_folder(path, _):
    path.mkdir()


@pytest.mark.parametrize("trap", [a_link, a_dangling_link, a_second_name, a_pipe, a_folder])
def test_a_trap_in_the_shared_folder_is_neither_followed_nor_written(tmp_path, trap):
    trap(lock_file(tmp_path, HOST), tmp_path)

    finding = finding_of(Line(tmp_path))

    assert finding.level is FindingLevel.UNKNOWN
    assert "cannot be used" in finding.detail
    assert not (tmp_path / "none").exists()
    if (tmp_path / "theirs").exists():
        assert (tmp_path / "theirs").read_text() == "keep"


def test_a_folder_that_is_not_there_is_made_for_everyone(tmp_path):
    folder = tmp_path / "run" / "locks"
    with ExitStack() as first:
        first.enter_context(Line(folder).locks).measure_on(CORES)
        line = Line(folder, meanwhile=first.close)

        assert finding_of(line).level is FindingLevel.FINE

    assert len(line.messages) == 1
    assert folder.stat().st_mode & 0o7777 == 0o1777


@pytest.mark.parametrize("name", ["file/locks", "relative"])
def test_a_folder_that_cannot_be_made_is_unknown_with_advice(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()

    finding = finding_of(Line(tmp_path / name if "/" in name else name))

    assert finding.level is FindingLevel.UNKNOWN
    assert "lock_folder" in finding.advice
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_everyone_may_lock_the_file_whatever_the_mask(tmp_path):
    before = os.umask(0o077)
    try:
        finding_of(Line(tmp_path))
    finally:
        os.umask(before)

    assert lock_file(tmp_path, HOST).stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff",
        b"[" * 5000,
        b"[]",
        b'{"process": -1, "since": "2026-01-01"}',
        b'{"process": 1e999, "since": "2026-01-01"}',
        b'{"process": 1, "since": "\x1b[31m"}',
        b'{"process": 4194999, "since": "2026-01-01"}',
    ],
)
def test_what_a_foreign_file_says_is_shown_only_if_it_is_a_process(tmp_path, text):
    with ExitStack() as first:
        first.enter_context(Line(tmp_path).locks).measure_on(CORES)
        lock_file(tmp_path, HOST).write_bytes(text)
        line = Line(tmp_path, meanwhile=first.close)
        finding_of(line)

    assert line.messages == [
        "waiting for another perfledger check on the cores of this machine, for at most 60 minutes"
    ]


@pytest.mark.slow(ci_only=True)
def test_a_file_that_was_tidied_away_is_not_a_lock(tmp_path, hold):
    with hold(CORES) as first:
        lock_file(tmp_path, HOST).unlink()
        with hold(CORES):
            assert lock_file(tmp_path, HOST).exists()
        first.stdin.close()
