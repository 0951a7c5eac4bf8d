import json
import math
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from perfledger.process.message_channel import MessageChannel
from perfledger.protocol import MIN_DESCRIPTOR, MessageType


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)


def descriptors():
    return {fd for fd in range(MIN_DESCRIPTOR + 100) if Path(f"/proc/self/fd/{fd}").exists()}


def read_line(reader):
    return json.loads(os.read(reader, 65_536))


def test_a_message_is_one_line_with_version_and_event(pipe):
    reader, writer = pipe
    channel = MessageChannel(writer)
    channel.send(MessageType.STARTED, {"workload": "m:f"})
    channel.close()

    assert os.read(reader, 1024) == b'{"version":2,"event":"started","workload":"m:f"}\n'
    assert os.read(reader, 1) == b""


def test_the_descriptor_is_moved_high_and_is_not_inherited(pipe):
    _, writer = pipe
    before = descriptors()
    channel = MessageChannel(writer)
    (moved_descriptor,) = descriptors() - before

    assert moved_descriptor >= MIN_DESCRIPTOR
    assert not os.get_inheritable(moved_descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(writer)
    channel.close()


def test_a_number_that_json_has_not_is_refused(pipe):
    _, writer = pipe
    channel = MessageChannel(writer)

    with pytest.raises(ValueError, match="not JSON compliant"):
        channel.send(MessageType.RUN, {"samples": math.nan})
    channel.close()


def test_a_name_that_is_no_unicode_is_sent_all_the_same(pipe):
    reader, writer = pipe
    channel = MessageChannel(writer)
    channel.send(MessageType.BROKEN, {"path": os.fsdecode(b"caf\xe9.py")})
    channel.close()

    assert read_line(reader)["path"] == "caf?.py"


class LeftError(Exception):
    """What leaving is in a test: the real one would end pytest."""


def leave(status):
    raise LeftError(status)


def test_a_forked_child_that_comes_back_leaves_without_a_word(pipe):
    reader, writer = pipe
    in_child: list[Callable[[], None]] = []
    channel = MessageChannel(writer, at_fork=in_child.append, leave=leave)
    channel.send(MessageType.STARTED)
    channel.leave_if_forked()
    in_child[0]()

    with pytest.raises(LeftError, match="0"):
        channel.send(MessageType.DONE)
    with pytest.raises(LeftError, match="0"):
        channel.leave_if_forked()
    channel.close()
    assert read_line(reader)["event"] == "started"


def test_a_long_message_arrives_whole(pipe):
    reader, writer = pipe
    os.set_blocking(reader, False)
    channel = MessageChannel(writer)
    text = "x" * 40_000
    channel.send(MessageType.FAILED, {"detail": text})
    channel.close()

    assert read_line(reader)["detail"] == text


@pytest.mark.parametrize(("line", "core"), [(b"3\n", 3), (b"\n", None), (b"x\n", None)])
def test_the_line_that_starts_a_turn_may_have_the_number_of_a_core(line, core):
    ours, theirs = socket.socketpair()
    channel = MessageChannel(theirs.detach())
    ours.sendall(line)

    assert channel.wait() == core
    ours.close()
    assert channel.wait() is None
    channel.close()


def test_a_follower_waits_for_no_core(pipe):
    channel = MessageChannel(pipe[1], is_follower=True)

    assert channel.wait() is None
    channel.close()
